// Steps of perceptrons; called by solvers/perceptron.py and solvers/linear_perceptron.py.
#pragma once
#include <cstddef>
#include <cstdint>

#include "linear_svm.hpp"

namespace mercer {

// What is written about each mistake: the row of its sample, y f(x) <= 0 at that time, and how many
// samples were visited before it.
struct PerceptronMistakes {
    int64_t* rows;
    double *values, *times;
};

// A machine f(x) = sum_i alpha_i k(x_i, x) + bias. `lag` and `bias_lag` add up each change times the
// number of samples visited before it, so that the average of the machines after each of `time`
// samples is alpha - lag / time.
struct PerceptronDual {
    double *alpha, *lag;
    double *bias, *bias_lag, *time, *loss;
    bool learns_bias;
};

// The samples of a visit: column j of K (r, c) has label y[j] = +-1, the size step[j] of its change,
// f[j] without the bias, and is row offset + j of K.
struct PerceptronColumns {
    size_t r, c, offset;
    const double *y, *step;
    double* f;
};

// The samples of a visit by rows, in the order of the visit: sample s is column column[s] of `values`
// (each row has `width` numbers), and its own row is slot[s] there, or is not there if that is
// negative. alpha and lag of the machine have an entry for each sample, too.
struct PerceptronRows {
    size_t count, width;
    const int64_t *slot, *column;
    const double *y, *step;
    double* f;
};

// Support vectors that a machine may have (0: any number), and k(x, x) of each row.
struct PerceptronBudget {
    size_t most;
    const double* squares;
};

// A machine f(x) = <w, x> + w_d with w = scale v, as v has d + 1 entries: the last one is the
// intercept, which is not scaled. Each sample multiplies the scale by `decay`, and moves the weights
// of its columns by `shrink` towards 0 (Tsuruoka, Tsujii & Ananiadou 2009): `shrunk` is how far a
// weight may have been moved, q how far it was. The sum of all machines is scales v - lag.
struct PerceptronPrimal {
    double *v, *lag, *q;
    double *scale, *scales, *time, *loss, *shrunk;
    double decay, shrink;
    bool learns_bias;
};

struct PerceptronVoteLoops {
    // out[i] += sum over k of counts[k] sign(f_k), where f_0 = start[i] and f_{k+1} = f_k +
    // change[k] (G[i, place[k]] + bias); G is (n, m), counts has one more entry than change.
    void (*votes)(const double* G, size_t n, size_t m, const int64_t* place, const double* change,
                  const double* counts, size_t mistakes, double bias, const double* start,
                  double* out);
};

template <class T>
struct PerceptronLoops {
    // Visits the columns of K in the given order; returns the number of mistakes.
    size_t (*visit)(const T* K, const PerceptronColumns& columns, const int64_t* order,
                    size_t count, const PerceptronDual& machine, const PerceptronBudget& budget,
                    const PerceptronMistakes& mistakes);
    // Visits samples from `begin` on, up to a mistake whose row is not there: it sets `reached` to
    // this sample, or to the end. f is right for the samples that are still to come, and only there.
    size_t (*visit_rows)(const T* values, const PerceptronRows& samples, size_t begin,
                         const PerceptronDual& machine, const PerceptronMistakes& mistakes,
                         size_t* reached);
    // Visits rows of X.
    size_t (*epoch)(const LinearRows<T>& X, const int64_t* order, size_t count, const double* y,
                    const double* step, const PerceptronPrimal& machine,
                    const PerceptronMistakes& mistakes);
};

}  // namespace mercer
