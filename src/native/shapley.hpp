// Shapley values of sums of products of kernels; called by explain/. A stored row and a background row
// make a game of d players in which a coalition S has the value of the product of p over S times the
// product of q over the others: p and q are what the kernels of the players say of the stored row and
// the new row, and of the stored row and the background row.
#pragma once
#include <cstddef>

namespace mercer {

template <class T>
struct ShapleyLoops {
    // out (n, d, k) += the values of n new rows, summed over B background rows with their weights and
    // over m stored rows with the coefficients alpha (m, k). P is (n, d, m), Q is (B, d, m). For more
    // than 24 players `nodes` has (count, 2) places in [0, 1] and weights of Gauss' rule, exact for
    // degree d - 1. work holds work_size(d, B) numbers and is aligned to 64 bytes.
    void (*values)(const T* P, const T* Q, const double* weights, const double* alpha, size_t n,
                   size_t B, size_t d, size_t m, size_t k, const double* nodes, size_t count, T* work,
                   double* out);
    // out (n, d, d, k) += the interaction indices of pairs of players, above the diagonal; d >= 2, and
    // the rule is exact for degree d - 2.
    void (*pairs)(const T* P, const T* Q, const double* weights, const double* alpha, size_t n,
                  size_t B, size_t d, size_t m, size_t k, const double* nodes, size_t count, T* work,
                  double* out);
    size_t (*work_size)(size_t d, size_t B);
};

}  // namespace mercer
