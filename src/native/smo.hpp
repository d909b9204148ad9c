// Sequential minimal optimisation on a working set, and what happens to the rows of K around it;
// called by solvers/smo.py and its neighbours.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// K between n variables, whole: ``first`` is (n, n), all others are null. Or, of two classes, in
// blocks [[first, across], [across', second]], the first with ``size`` rows: a row is put together
// when it is first read, as row slots[i] of ``room`` (n, n), whose first ``used`` are taken;
// slots[i] < 0 before.
template <class T>
struct KernelRows {
    size_t n;
    const T *first, *across, *second;
    size_t size;
    T* room;
    int64_t* slots;
    size_t used;
};

template <class T>
struct SmoLoops {
    // The subproblem of n variables: min over alpha of the dual, the others fixed, with
    // 0 <= alpha <= C and sum y alpha unchanged within the variables before and from ``split``
    // (split = n: one group). f is the gradient times y. alpha and f are updated in place; returns
    // the number of steps.
    size_t (*solve)(KernelRows<T>* K, const double* y, const double* C, double* alpha, double* f,
                    size_t split, double tol, double relative_tol, size_t max_steps);
    // Rows of K in blocks are put together.
    void (*join)(KernelRows<T>* K, const int64_t* rows, size_t count);
    // How far n variables are from their optimum: out is the violation, the level rho that f has at
    // free variables (of y > 0 and of y < 0 where these are groups, else the first for all; the
    // middle of what optimality allows where none is free), what complementarity leaves of the gap,
    // sum y alpha (f - offset), and sum y alpha offset. Not a number where f is not finite
    // everywhere, and for the level of a group that is empty.
    void (*optimum)(const double* f, const double* offset, const double* y, const double* C,
                    const double* alpha, size_t n, bool groups, double* out);
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
