// Signature kernels of pairs of time series, one pair in each lane (series.hpp); called by
// kernels/signatures.py through bind_series.cpp.
#pragma once
#include "series.hpp"

namespace mercer {

// D(i, j) of two steps is <x_{i+1} - x_i, z_{j+1} - z_j>, or, for gamma >= 0, the same in the space of
// exp(-gamma |x - z|^2). Sums are over `levels` levels; 0: of all levels, by the differential equation
// on a grid in which each step is halved `halvings` times.
struct SignatureTerms {
    double gamma;
    size_t levels, halvings;
};

struct SignatureLoops {
    // out (lanes,): the kernels. `work` holds signature_work numbers.
    void (*sums)(const SeriesGroup& group, const SignatureTerms& terms, double* work, double* out);
};

constexpr size_t signature_work(size_t columns, const SignatureTerms& t) {
    return series_lanes * (5 * columns + (t.levels ? t.levels * (columns + 2)
                                                   : (columns << t.halvings) + 1));
}

}  // namespace mercer
