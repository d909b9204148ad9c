// Gaussian processes on the nearest rows of each query (see neighbour_process.hpp).
//
// One factorisation serves mean and variance: below the lower triangle of K stand two more rows, k(z)
// and y, which the elimination turns into L^-1 k(z) and L^-1 y. Columns are stored one after the
// other, so that all loops run along them, in vectors of 16.
#include "neighbour_process.hpp"

#include <math.h>
#include <string.h>

#include "exp.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t LANES = 16;

// Numbers of a column: k neighbours, the query and the targets, in whole vectors.
size_t lead(size_t k) { return (k + 2 + LANES - 1) / LANES * LANES; }

// out[i] <- the squared distance of the i-th of 16 points from another one; column c of both is at
// c m. Compilers unroll a loop over the lanes of an array here, and leave it in single numbers.
#if defined(__GNUC__)
void squares(const float* points, const float* point, size_t d, size_t m, float* out) {
    typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
    Vector sum = {};
    for (size_t c = 0; c < d; ++c) {
        Vector gap;
        memcpy(&gap, points + c * m, sizeof gap);
        gap -= point[c * m];
        sum += gap * gap;
    }
    memcpy(out, &sum, sizeof sum);
}
#else
void squares(const float* points, const float* point, size_t d, size_t m, float* out) {
    for (size_t i = 0; i < LANES; ++i) out[i] = 0;
    for (size_t c = 0; c < d; ++c)
        for (size_t i = 0; i < LANES; ++i) {
            const float gap = points[c * m + i] - point[c * m];
            out[i] += gap * gap;
        }
}
#endif

// a[i] <- the covariance at squared distance a[i].
void covariances(float* a, int kind, float scale) {
    float t[LANES];
    if (kind == 2) {
        for (size_t i = 0; i < LANES; ++i) a[i] = exp_one(-scale * scale * a[i]);
        return;
    }
    for (size_t i = 0; i < LANES; ++i) {
        const float r = scale * sqrtf(a[i]);
        t[i] = r < 1000.0f ? r : 1000.0f;  // then exp gives 0 and the polynomial is finite
    }
    const float linear = kind == 1 ? 1.0f : 0.0f;
    for (size_t i = 0; i < LANES; ++i) a[i] = (1.0f + linear * t[i]) * exp_one(-t[i]);
}

void predict(const float* X, size_t d, const float* y, const float* Z, const int64_t* near,
             size_t q, size_t k, int kind, float scale, float noise, float* mean, float* variance,
             float* work) {
    const size_t m = lead(k);
    float* A = work;          // (k columns, m rows)
    float* P = work + k * m;  // (d columns, m points): the neighbours, then the query
    const float least = 1e-6f;
    for (size_t s = 0; s < q; ++s) {
        const int64_t* rows = near + s * k;
        const float* z = Z + s * d;
        size_t h = 0;  // neighbours that there are
        for (size_t i = 0; i < d * m; ++i) P[i] = 0;
        for (size_t j = 0; j < k; ++j) {
            if (rows[j] < 0) continue;
            const float* x = X + static_cast<size_t>(rows[j]) * d;
            for (size_t c = 0; c < d; ++c) P[c * m + h] = x[c];
            ++h;
        }
        for (size_t c = 0; c < d; ++c) P[c * m + h] = z[c];
        size_t at = 0;
        for (size_t j = 0; j < h; ++j) {
            float* a = A + j * m;
            for (size_t b = j / LANES * LANES; b < h + 2; b += LANES) {
                squares(P + b, P + j, d, m, a + b);
                covariances(a + b, kind, scale);
            }
            while (rows[at] < 0) ++at;
            a[j] = 1.0f + noise;
            a[h + 1] = y[rows[at++]];
        }
        float f = 0, explained = 0;
        for (size_t l = 0; l < h; ++l) {
            float* a = A + l * m;
            const float pivot = a[l] > least ? a[l] : least;
            const float inverse = 1.0f / sqrtf(pivot);
            for (size_t b = l / LANES * LANES; b < h + 2; b += LANES)
                for (size_t i = 0; i < LANES; ++i) a[b + i] *= inverse;
            f += a[h] * a[h + 1];
            explained += a[h] * a[h];
            for (size_t j = l + 1; j < h; ++j) {
                float* __restrict to = A + j * m;
                const float* __restrict from = a;
                const float factor = a[j];
                for (size_t b = j / LANES * LANES; b < h + 2; b += LANES)
                    for (size_t i = 0; i < LANES; ++i) to[b + i] -= factor * from[b + i];
            }
        }
        mean[s] = f;
        const float left = 1.0f - explained;
        variance[s] = noise + (left > 0 ? left : 0.0f);
    }
}

}  // namespace

extern const NeighbourProcessLoops neighbour_processes;
constinit const NeighbourProcessLoops neighbour_processes = {predict};

}  // namespace MERCER_ISA
}  // namespace mercer
