// Loops over the cells (i, j) of pairs of strings, for kernels on subsequences; called by
// kernels/subsequences.py through bind_subsequences.cpp.
//
// A pair is computed in strips of up to `rows` rows. In a strip, step c computes column c - r of
// row r, so that the rows are in the lanes of vectors. Between strips the last row is kept, one
// number for each column. There are more columns at both ends of the string, whose codes match
// nothing (see column_pad and row_pad), so that no step needs a mask.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

constexpr size_t string_margin = 64;  // columns before and after those of the string, in all arrays
constexpr size_t most_strip_rows = 32;

// Codes that no symbol may have: for columns after the end of t, and for rows after the end of s.
template <class Code>
constexpr Code column_pad = static_cast<Code>(-1);
template <class Code>
constexpr Code row_pad = static_cast<Code>(-2);

// Terms of a kernel on subsequences of 1 .. p symbols: those of q + 1 symbols have the weight
// weights[q], and each skipped symbol in their span is a factor `gap`.
struct GapTerms {
    size_t p;
    double gap;
    const double* weights;
};

// s: the codes of `count` <= rows rows. t, K, E and each row of K: pointers to column 0 (t: to the
// code of column 1) of arrays with string_margin additional columns on both sides.
template <class Code>
struct SubsequenceLoops {
    size_t rows;
    // K[j], the value of the row above for the first j symbols of t, becomes the last row's value.
    void (*strip)(const Code* s, size_t count, const Code* t, size_t m, double weight, double* K);
    // The same for K[j] 2^E[j].
    void (*scaled_strip)(const Code* s, size_t count, const Code* t, size_t m, double weight,
                         double* K, int32_t* E);
    // Row q of K has the sums over subsequences of q + 1 < p symbols; rows are `stride` numbers
    // apart. `state` has 3 (p - 1) rows numbers. Returns the terms that end in this strip.
    double (*gap_strip)(const Code* s, size_t count, const Code* t, size_t m, const GapTerms& terms,
                        double* K, size_t stride, double* state);
};

}  // namespace mercer
