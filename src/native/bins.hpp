// Columns as bins: which bin a number is in, sums and reads by bin, tables of two columns, and the
// exact product with a Laplacian kernel of sorted numbers; called by solvers/additive.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

template <class T>
struct BinSearchLoops {
    // codes[j * total + i] <- the number of edges of column j below X[i, j], or gaps[j] if that is
    // NaN. X is (n, d); a column has 255 edges in ascending order, the last ones infinite.
    void (*search)(const T* X, size_t n, size_t d, const T* edges, const uint8_t* gaps,
                   uint8_t* codes, size_t total);
};

template <class Code>
struct BinLoops {
    // out[codes[i]] += v[i] in the order of the rows.
    void (*add_sums)(const Code* codes, const double* v, size_t n, double* out);
    // out[i] += table[codes[i]].
    void (*add_reads)(const Code* codes, const double* table, size_t n, double* out);
};

struct ColumnPairLoops {
    // out[a[i] * width + b[i]] += w[i], or 1 if w is null, in the order of the rows.
    void (*add_pairs)(const uint8_t* a, const uint8_t* b, const double* w, size_t n, double* out,
                      size_t width);
    // cells[i] <- a[i] * width + b[i].
    void (*cells)(const uint8_t* a, const uint8_t* b, size_t n, uint16_t width, uint16_t* cells);
    // out[i] <- sum over j of v[j] exp(-|t[i] - t[j]|), where decay[i] = exp(t[i] - t[i + 1]).
    void (*laplacian)(const double* decay, const double* v, size_t n, double* out);
};

}  // namespace mercer
