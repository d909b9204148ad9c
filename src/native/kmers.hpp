// Loops over the k-mers of strings: codes of windows, counts of equal codes, sums over the codes
// that two samples share (called by kernels/kmer_counts.py), and runs of matches at equal positions
// (called by kernels/weighted_degree.py).
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
    // out[i, j] += weight * sum over positions p < length of r (2 degree + 1 - r), where r, at most
    // `degree`, is the number of positions up to p in which X[i] and Z[j] agree without a break.
    // Rows begin at X[i * stride], Z[j * stride]; out is (n, m); `work` and `runs` have
    // run_strip * run_lanes and n * run_lanes numbers. With `upper`, j < i may be left out.
    void (*runs)(const S* X, const S* Z, size_t n, size_t m, size_t stride, size_t length,
                 size_t degree, double weight, bool upper, double* out, int32_t* work, int32_t* runs);
};

constexpr size_t run_lanes = 64;
constexpr size_t run_strip = 128;  // positions at a time, so that long strings need no more memory

struct KmerCountLoops {
    // Sorts pairs (key, row) by key and then row; in the input, rows must ascend. Keeps each pair
    // once, with the number of times that it occurs. Returns the number of different pairs; the
    // spare arrays have n numbers too. With spare_counts, `counts` holds the weights of the pairs
    // before and their sums after.
    size_t (*count)(uint64_t* keys, int32_t* rows, double* counts, size_t n, uint64_t* spare_keys,
                    int32_t* spare_rows, double* spare_counts);
    // out[i, j] += weight * sum of count_x count_z over the keys of row i of X and row j of Z, both
    // sorted as by `count`; out has m columns. With `upper`, only j >= i.
    void (*join)(const uint64_t* keys_x, const int32_t* rows_x, const double* counts_x, size_t n_x,
                 const uint64_t* keys_z, const int32_t* rows_z, const double* counts_z, size_t n_z,
                 double weight, bool upper, double* out, size_t m);
};

}  // namespace mercer
