// A tree of boxes for exact neighbours among rows of numbers; called by search/kd_tree.py.
#pragma once
#include "row_search.hpp"

namespace mercer {

constexpr size_t kd_leaf_rows = 16;

// Leaf l has the training rows order[16 l] ... in its part of `rows` (leaves, d, 16), feature by
// feature; the last one may have fewer. The inner node over the leaves a <= l < b comes first, then
// those of its left half (a to (a + b) / 2), then those of the right. Along its feature `features`
// (leaves - 1) the rows on the left reach up to bounds[.][0] and those on the right begin at
// bounds[.][1]. All rows are in box (2, d). A row whose number is negative is no neighbour of any.
template <class T>
struct KdTree {
    const T* rows;
    const int64_t* order;
    const int32_t* features;
    const T* bounds;
    const T* box;
    size_t n, leaves;
};

template <class T>
struct KdTreeLoops {
    // Fills order (n), features and bounds for rows X (n, d), of which the feature with the largest
    // spread times its scale (d) is divided; keys (n) is work space.
    void (*build)(const T* X, const double* scale, size_t n, size_t d, int64_t* order,
                  int32_t* features, T* bounds, T* keys);
    // The leaf of each query's side of all divisions, (n).
    void (*leaves)(const KdTree<T>& tree, const T* Q, size_t n, size_t d, int64_t* leaf);
    // As those of RowSearchLoops; work (d) are double numbers. Returns the leaves that were read.
    size_t (*nearest)(const KdTree<T>& tree, const RowQueries<T>& queries, T* distances,
                      int64_t* ids, size_t k, double* work);
    size_t (*within)(const KdTree<T>& tree, const RowQueries<T>& queries, double radius,
                     int64_t* queries_found, int64_t* ids, T* distances, size_t capacity,
                     double* work);
    void (*reach)(const KdTree<T>& tree, const RowQueries<T>& queries, const Reach<T>& edges,
                  double* work);
};

}  // namespace mercer
