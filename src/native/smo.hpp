// Sequential minimal optimisation on a working set, and operations on the rows of K for it; called
// by solvers/smo_state.py and gram/row_sources.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// K between n variables. As one matrix: ``first`` is (n, n), all others are null. Or as blocks
// [[first, across], [across', second]] of two classes, where the first class has ``size`` rows.
// Then row i is put together when it is read for the first time, as row slots[i] of ``room`` (n,
// n); before that slots[i] < 0. The first ``used`` rows of room are in use.
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
    // Solves the subproblem of n variables, with the other variables fixed: min over alpha of the
    // dual with 0 <= alpha <= C. The sum y alpha does not change in each of two groups, the
    // variables before ``split`` and the others (split = n: one group). f is the gradient times y.
    // alpha and f are updated in place; returns the number of steps.
    size_t (*solve)(KernelRows<T>* K, const double* y, const double* C, double* alpha, double* f,
                    size_t split, double tol, double relative_tol, size_t max_steps);
    // Puts rows of K together from blocks.
    void (*join)(KernelRows<T>* K, const int64_t* rows, size_t count);
    // How far n variables are from their optimum. out[0] is the violation. out[1] and out[2] are
    // the levels rho, the values of f at free variables: if ``groups``, for y > 0 and for y < 0,
    // else the first is for all variables. If none is free, a level is the middle of the interval
    // that optimality allows; for an empty group it is NaN. out[3] is the duality gap by
    // complementarity, out[4] is sum y alpha (f - offset), and out[5] is sum y alpha offset. All
    // are NaN if f is not finite.
    void (*optimum)(const double* f, const double* offset, const double* y, const double* C,
                    const double* alpha, size_t n, bool groups, double* out);
    // out[a * count + b] = K[rows[a] * stride + columns[b]] for a in [begin, end): the block of a
    // working set. Negative rows are skipped.
    void (*block)(const T* K, size_t stride, const int64_t* rows, const int64_t* columns,
                  size_t count, size_t begin, size_t end, T* out);
    // g[j] += sum_k delta[k] * K[rows[k] * stride + j] for j in [begin, end).
    void (*add_rows)(const T* K, size_t stride, const int64_t* rows, const double* delta,
                     size_t count, double* g, size_t begin, size_t end);
    // Keeps only the ascending columns ``kept`` of the first ``rows`` rows of ``width`` numbers,
    // and moves them together in place: row r then starts at r * count.
    void (*narrow)(T* K, size_t rows, size_t width, const int64_t* kept, size_t count);
};

}  // namespace mercer
