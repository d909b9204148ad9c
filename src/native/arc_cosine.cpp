// Layers of the arc-cosine kernel, applied in place to a tile of inner products; called by
// kernels/arc_cosine.py. A strip of a row stays in cache while all layers pass over it.
#include <math.h>

#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 256;

inline float root(float x) { return sqrtf(x); }
inline double root(double x) { return sqrt(x); }

// (asin(t) - t) / (t z) for z = t^2 <= 1/4. In float64 the interpolation in Chebyshev's points of
// degree 12, with an error of 4e-18 of the sine: a quotient of two shorter polynomials would be
// slower. In float32 that of Cephes' asinf (Moshier 1989).
inline double arcsine_tail(double z) {
    double p = 0.028878362746452394;
    p = p * z - 0.015032162599250314;
    p = p * z + 0.01751883397953867;
    p = p * z + 0.005413184483715509;
    p = p * z + 0.01033337215296726;
    p = p * z + 0.011477517005507167;
    p = p * z + 0.01397138708310213;
    p = p * z + 0.017352380709839098;
    p = p * z + 0.022372173467043486;
    p = p * z + 0.03038194412500875;
    p = p * z + 0.04464285714653523;
    p = p * z + 0.0749999999999834;
    return p * z + 0.16666666666666669;
}
inline float arcsine_tail(float z) {
    float p = 4.2163199048e-2f;
    p = p * z + 2.4181311049e-2f;
    p = p * z + 4.5470025998e-2f;
    p = p * z + 7.4953002686e-2f;
    return p * z + 1.6666752422e-1f;
}

// J_n(t) / J_n(0) for c = cos t. Near 0 and pi the sine is the square root of (1 - c)(1 + c), which
// loses no digits of c, and the angle is asin of a small number. An angle whose squared sine is
// below 32 units in the last place is one that rounding of the inner product made: it is taken as
// 0 or pi, or the kernel of degree 0, steep at 0, would set equal rows apart layer by layer.
template <class T, int degree>
inline T next_cosine(T c) {
    const T half_pi = T(1.57079632679489661923), per_pi = T(0.31830988618379067154);
    const T third = T(1) / 3;
    const T close = T(32) * (sizeof(T) == 4 ? T(1.1920928955078125e-7) : T(2.220446049250313e-16));
    T a = c < 0 ? -c : c;
    T square = (1 - a) * (1 + a);
    const bool near = square <= close;  // false for NaN, which stays
    a = near ? T(1) : a;
    square = near ? T(0) : square;
    const bool large = a > T(0.5);
    const T half = (1 - a) * T(0.5);
    const T z = large ? half : a * a;
    const T t = large ? root(half) : a;
    const T asine = t + t * z * arcsine_tail(z);
    const T angle = (large ? 2 * asine : half_pi - asine) * per_pi;  // acos(abs(c)) / pi
    const T rest = c < 0 ? angle : 1 - angle;                       // 1 - t / pi
    c = c < 0 ? -a : a;
    if (degree == 0) return rest;
    if (degree == 1) return root(square) * per_pi + rest * c;
    return root(square) * c * per_pi + rest * (1 + 2 * c * c) * third;
}

template <class T, int degree>
void layers_of_degree(T* G, const T* x, const T* z, const T* out_x, const T* out_z, size_t n,
                      size_t m, size_t layers) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t s = 0; s < m; s += strip) {
            const size_t width = m - s < strip ? m - s : strip;
            T* row = G + i * m + s;
            // products of the two factors first: they commute, so that a symmetric G stays so
            const T left = x[i], out_left = out_x[i];
            for (size_t j = 0; j < width; ++j) row[j] = row[j] * (left * z[s + j]);
            for (size_t layer = 0; layer < layers; ++layer)
                for (size_t j = 0; j < width; ++j) row[j] = next_cosine<T, degree>(row[j]);
            for (size_t j = 0; j < width; ++j) row[j] = row[j] * (out_left * out_z[s + j]);
        }
    }
}

template <class T>
void arc_cosine(T* G, const T* x, const T* z, const T* out_x, const T* out_z, size_t n, size_t m,
                int degree, size_t layers) {
    const auto apply = degree == 0   ? layers_of_degree<T, 0>
                       : degree == 1 ? layers_of_degree<T, 1>
                                     : layers_of_degree<T, 2>;
    apply(G, x, z, out_x, out_z, n, m, layers);
}

}  // namespace

extern const ArcCosineLoops<float> arc_cosine32;
extern const ArcCosineLoops<double> arc_cosine64;
constinit const ArcCosineLoops<float> arc_cosine32 = {arc_cosine<float>};
constinit const ArcCosineLoops<double> arc_cosine64 = {arc_cosine<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
