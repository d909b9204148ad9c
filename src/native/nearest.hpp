// The nearest columns of every row, updated with one tile of distances at a time; called by
// search/brute.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// best (n, k) has the k smallest distances of each row so far in ascending order, and `nearest`
// their indices; at first infinity and the largest index. D (n, m) are the distances to the objects
// columns (m,); object own[i] is not a neighbour of row i. NaN counts as infinity.
template <class T>
struct NearestLoops {
    void (*keep_nearest)(const T* D, const int64_t* columns, const int64_t* own, T* best,
                         int64_t* nearest, size_t n, size_t m, size_t k);
};

}  // namespace mercer
