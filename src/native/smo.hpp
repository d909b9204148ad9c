// Sequential minimal optimisation on a working set, and what happens to the rows of K around it;
// called by solvers/smo.py and its neighbours.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

template <class T>
struct SmoLoops {
    // The subproblem of n variables: min over alpha of the dual, the others fixed, with
    // 0 <= alpha <= C and sum y alpha unchanged within the variables before and from ``split``
    // (split = n: one group). K (n, n) is the kernel between the variables' rows, f the gradient
    // times y. alpha and f are updated in place; returns the number of steps.
    size_t (*solve)(const T* K, const double* y, const double* C, double* alpha, double* f,
                    size_t n, size_t split, double tol, double relative_tol, size_t max_steps);
    // out[a * count + b] = K[rows[a] * stride + columns[b]] for a in [begin, end): the block of a
    // working set. Negative rows are passed over.
    void (*block)(const T* K, size_t stride, const int64_t* rows, const int64_t* columns,
                  size_t count, size_t begin, size_t end, T* out);
    // g[j] += sum_k delta[k] * K[rows[k] * stride + j] for j in [begin, end).
    void (*add_rows)(const T* K, size_t stride, const int64_t* rows, const double* delta,
                     size_t count, double* g, size_t begin, size_t end);
    // The first ``rows`` rows of ``width`` numbers keep the ascending columns ``kept`` alone, and
    // move together in place: row r starts at r * count then.
    void (*narrow)(T* K, size_t rows, size_t width, const int64_t* kept, size_t count);
};

}  // namespace mercer
