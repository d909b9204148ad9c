// Tiles of distances of listed rows (see descent.hpp). The sums of two rows with four others stay in
// registers, so that each number that is read serves several pairs.
#include "loops.hpp"
#include "pack.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using P = Pack<float>;

template <bool squared>
inline P plus(P sum, P x, P z) {
    const P t = P::minus(x, z);
    return squared ? P::times_plus(t, t, sum) : P::plus(sum, P::absolute(t));
}

inline float total(P sum) {
    float parts[P::width];
    sum.store(parts);
    for (size_t half = P::width / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l) parts[l] += parts[l + half];
    return parts[0];
}

template <bool squared, size_t many, size_t others>
inline void some(const float* const* x, const float* const* z, size_t d, float* out, size_t stride) {
    P sums[many][others];
#pragma GCC unroll 2
    for (size_t g = 0; g < many; ++g)
#pragma GCC unroll 4
        for (size_t h = 0; h < others; ++h) sums[g][h] = P::all(0);
    for (size_t j = 0; j < d; j += P::width) {
        P q[many];
#pragma GCC unroll 2
        for (size_t g = 0; g < many; ++g) q[g] = P::load(x[g] + j);
#pragma GCC unroll 4
        for (size_t h = 0; h < others; ++h) {
            const P r = P::load(z[h] + j);
#pragma GCC unroll 2
            for (size_t g = 0; g < many; ++g) sums[g][h] = plus<squared>(sums[g][h], q[g], r);
        }
    }
#pragma GCC unroll 2
    for (size_t g = 0; g < many; ++g)
#pragma GCC unroll 4
        for (size_t h = 0; h < others; ++h) out[g * stride + h] = total(sums[g][h]);
}

template <bool squared, size_t many>
inline void strip(const float* const* x, const float* B, const int32_t* b, size_t n, size_t d,
                  float* out) {
    const float* z[4];
    size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        for (size_t h = 0; h < 4; ++h) z[h] = B + static_cast<size_t>(b[j + h]) * d;
        some<squared, many, 4>(x, z, d, out + j, n);
    }
    for (; j < n; ++j) {
        z[0] = B + static_cast<size_t>(b[j]) * d;
        some<squared, many, 1>(x, z, d, out + j, n);
    }
}

template <bool squared>
void tile(const float* A, const int32_t* a, size_t n_a, const float* B, const int32_t* b, size_t n_b,
          size_t d, float* out) {
    const float* x[2];
    size_t i = 0;
    for (; i + 2 <= n_a; i += 2) {
        for (size_t g = 0; g < 2; ++g) x[g] = A + static_cast<size_t>(a[i + g]) * d;
        strip<squared, 2>(x, B, b, n_b, d, out + i * n_b);
    }
    if (i < n_a) {
        x[0] = A + static_cast<size_t>(a[i]) * d;
        strip<squared, 1>(x, B, b, n_b, d, out + i * n_b);
    }
}

}  // namespace

extern const DescentLoops descents;
constinit const DescentLoops descents = {tile<true>, tile<false>};

}  // namespace MERCER_ISA
}  // namespace mercer
