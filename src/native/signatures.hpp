// Signature kernels of pairs of time series, one pair in each lane (series.hpp); called by
// kernels/signatures.py through bind_series.cpp.
#pragma once
#include "series.hpp"

namespace mercer {

// D(i, j) of two steps is <x_{i+1} - x_i, z_{j+1} - z_j>, or, for gamma >= 0, the same in the space of
// exp(-gamma |x - z|^2). Sums are over `levels` levels; 0: of all levels, by the differential equation
// on a grid in which each step of x is halved `halvings_x` times, and each of z `halvings_z` times.
struct SignatureTerms {
    double gamma;
    size_t levels, halvings_x, halvings_z;
};

struct SignatureLoops {
    // out (lanes,): the kernels. `work` holds signature_work numbers.
    void (*sums)(const SeriesGroup& group, const SignatureTerms& terms, double* work, double* out);
};

constexpr size_t signature_degree = 5;  // of polynomials along the edges of the grid

// Numbers for the steps of a row of columns, and for those of the recursion.
constexpr size_t steps_work(size_t columns, size_t d) {
    return series_lanes * ((2 + d) * columns + d);
}
constexpr size_t signature_work(size_t columns, size_t d, const SignatureTerms& t) {
    return steps_work(columns, d) +
           series_lanes * (t.levels ? t.levels * (columns + 2)
                                    : signature_degree * (columns << t.halvings_z));
}

}  // namespace mercer
