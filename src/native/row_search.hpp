// Exact neighbours among dense rows of numbers under a norm, by comparing every pair; called by
// search/vectors.py. The same questions to a tree are in kd_tree.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

namespace row_norm {
enum Kind : int { squares, absolute, largest, different, half, three_halves, cubes, fourths, power };
}

// Sum over features of w f(|x - z|), or the largest w |x - z|: distance to the power `exponent`.
struct RowNorm {
    int kind;
    double p;         // of kind power
    double exponent;  // p, and 1 for the kinds absolute, largest and different
};

// n queries Q (n, d), with the weights w (d) of the features; row own[i] is no neighbour of query i.
// If not `safe` the numbers are so large or small that estimates would not do.
template <class T>
struct RowQueries {
    const T* Q;
    const T* w;
    const int64_t* own;
    size_t n, d;
    RowNorm norm;
    bool safe;
};

// m training rows X (m, d), which are numbered from `first` on. Estimates measure them from an
// origin (d), which makes them small, and read the features in an order (d), the most telling first.
template <class T>
struct SearchedRows {
    const T* X;
    const T* origin;
    const int32_t* features;
    size_t m;
    int64_t first;
};

// What the search for the shortest edges between parts of the rows reads of all rows, and fills: the
// length of an edge is the distance, or the core of one of its ends if that is larger. `whole` and
// `least` are of the nodes of a tree, the inner ones first: the part that all rows of the node are in,
// or -1, and their least core.
template <class T>
struct Reach {
    const T* core;
    const int64_t* part;
    const int64_t* whole;
    const T* least;
    T* lengths;    // of the best edge of each row
    int64_t* ids;  // its other end
    T* limits;     // of each part: longer edges are of no use to it
};

template <class T>
struct RowSearchLoops {
    // Numbers of the work space that the searches need for n queries, beside the norms (n).
    size_t (*work_size)(size_t n, size_t d);
    // The k nearest rows, (n, k), in ascending order; the farthest are infinite and the largest
    // index if there are fewer than k.
    void (*nearest)(const RowQueries<T>& queries, const SearchedRows<T>& rows, T* distances,
                    int64_t* ids, size_t k, T* work, double* norms);
    // All pairs within a radius, in any order; returns their number, of which `capacity` at most
    // are written.
    size_t (*within)(const RowQueries<T>& queries, const SearchedRows<T>& rows, double radius,
                     int64_t* queries_found, int64_t* ids, T* distances, size_t capacity, T* work,
                     double* norms);
    // out (count,): the distances of listed pairs of queries and rows, exact like all others.
    void (*of_pairs)(const RowQueries<T>& queries, const T* X, const int64_t* pairs, size_t count,
                     T* out);
    // Edges of the queries, which are training rows, that are shorter than the limit of their part.
    void (*reach)(const RowQueries<T>& queries, const SearchedRows<T>& rows, const Reach<T>& edges,
                  T* work, double* norms);
};

}  // namespace mercer
