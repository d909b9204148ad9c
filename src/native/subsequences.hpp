// Loops over the cells (i, j) of pairs of strings, for kernels on subsequences; called by
// kernels/subsequences.py through bind_subsequences.cpp.
//
// A pair is computed by strips of up to `rows` rows. Within a strip, step c treats column c - r of
// row r, so that the rows stand in the lanes of vectors; between strips the last row is kept, one
// number for each column. Columns reach beyond both ends of the string: the codes there match
// nothing (see column_pad and row_pad), so that no step needs a mask.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

constexpr size_t string_margin = 64;  // columns before and after those of the string, in all arrays
constexpr size_t most_strip_rows = 32;

// Codes that no symbol may have: of the columns beyond t, and of the rows beyond s.
template <class Code>
constexpr Code column_pad = static_cast<Code>(-1);
template <class Code>
constexpr Code row_pad = static_cast<Code>(-2);

// Terms of a kernel on subsequences of 1 .. p symbols: those of q + 1 symbols weigh weights[q], and
// each symbol that their span passes over multiplies by `gap`.
struct GapTerms {
    size_t p;
    double gap;
    const double* weights;
};

// s: the codes of `count` <= rows rows. t, K, E and each row of K: pointers to column 0 (t: to the
// code of column 1) of arrays with string_margin columns more on both sides.
template <class Code>
struct SubsequenceLoops {
    size_t rows;
    // K[j], the value of the row above for the first j symbols of t, becomes that of the last row.
    void (*strip)(const Code* s, size_t count, const Code* t, size_t m, double weight, double* K);
    // Likewise for K[j] 2^E[j].
    void (*scaled_strip)(const Code* s, size_t count, const Code* t, size_t m, double weight,
                         double* K, int32_t* E);
    // Row q of K holds the sums over subsequences of q + 1 < p symbols, `stride` numbers apart;
    // state: 3 (p - 1) rows numbers. Returns the terms that end in this strip.
    double (*gap_strip)(const Code* s, size_t count, const Code* t, size_t m, const GapTerms& terms,
                        double* K, size_t stride, double* state);
};

}  // namespace mercer
