// Sequential minimal optimisation on a working set, and the gradient update after it; called by
// solvers/smo.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// The subproblem of n variables: min over alpha of the dual, the others fixed, with
// sum y alpha unchanged and 0 <= alpha <= C. K (n, n) is the kernel between the variables' rows,
// f the gradient times y. alpha and f are updated in place; returns the number of steps.
template <class T>
struct SmoLoops {
    size_t (*solve)(const T* K, const double* y, const double* C, double* alpha, double* f,
                    size_t n, double tol, double relative_tol, size_t max_steps);
    // out[a * count + b] = K[rows[a] * stride + columns[b]]: the block of a working set. Negative
    // rows are passed over.
    void (*block)(const T* K, size_t stride, const int64_t* rows, const int64_t* columns,
                  size_t count, T* out);
    // g[j] += sum_k delta[k] * K[rows[k] * stride + j] for j in [begin, end).
    void (*add_rows)(const T* K, size_t stride, const int64_t* rows, const double* delta,
                     size_t count, double* g, size_t begin, size_t end);
};

}  // namespace mercer
