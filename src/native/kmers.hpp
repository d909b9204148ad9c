// Loops over the k-mers of strings: codes of windows, counts of equal codes, sums over the codes
// that two samples share, and runs of matches; called by kernels/kmer_counts.py and
// kernels/weighted_degree.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// Strings end to end: string i is values[starts[i] .. starts[i + 1]); S is a byte or an int32.
template <class S>
struct KmerLoops {
    // keys <- one number for each window of `window` symbols, string after string: its symbols at
    // the q positions (< window), in base `base`, modulo 2^64. A shorter string has no window.
    void (*keys)(const S* values, const int64_t* starts, size_t n, size_t window,
                 const int64_t* positions, size_t q, uint64_t base, uint64_t* keys);
};

struct KmerCountLoops {
    // Sort (key, row), which comes with rows ascending, by key and then row; give each pair once,
    // with the number of times that it came. Returns the number of different pairs; the spare
    // arrays have n numbers as well.
    size_t (*count)(uint64_t* keys, int32_t* rows, double* counts, size_t n, uint64_t* spare_keys,
                    int32_t* spare_rows);
    // out[i, j] += weight * sum of count_x count_z over the keys of row i of X and row j of Z, both
    // sorted as by `count`; out has m columns. With `upper`, j >= i alone.
    void (*join)(const uint64_t* keys_x, const int32_t* rows_x, const double* counts_x, size_t n_x,
                 const uint64_t* keys_z, const int32_t* rows_z, const double* counts_z, size_t n_z,
                 double weight, bool upper, double* out, size_t m);
};

}  // namespace mercer
