// Squared distances of points of series side by side (series.hpp), for distances and for kernels of
// series. Everything is static: see the rule in loops.hpp.
#pragma once
#include <cstddef>

namespace mercer {
namespace {

// out[j, l] <- |x - z_j|^2 for `count` points z_j of d channels in so many lanes.
template <size_t lanes>
inline void squares(const double* __restrict x, const double* __restrict z, size_t d, size_t count,
                    double* __restrict out) {
    for (size_t j = 0; j < count; ++j) {
        const double* p = z + j * d * lanes;
        double* o = out + j * lanes;
        for (size_t l = 0; l < lanes; ++l) {
            const double t = x[l] - p[l];
            o[l] = t * t;
        }
        for (size_t c = 1; c < d; ++c)
            for (size_t l = 0; l < lanes; ++l) {
                const double t = x[c * lanes + l] - p[c * lanes + l];
                o[l] += t * t;
            }
    }
}

}  // namespace
}  // namespace mercer
