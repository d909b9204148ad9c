// The nearest columns of every row, kept while tiles of distances stream by; called by
// search/brute.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// best (n, k) holds the k least pairs (distance, index) of each row so far in ascending order, with
// their indices in `nearest`; at first infinity and the largest index. Distances D (n, m) are those of
// the objects columns (m,); object own[i] is no neighbour of row i. What is no number is infinite.
template <class T>
struct NearestLoops {
    void (*keep_nearest)(const T* D, const int64_t* columns, const int64_t* own, T* best,
                         int64_t* nearest, size_t n, size_t m, size_t k);
};

}  // namespace mercer
