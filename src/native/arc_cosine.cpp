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

// (asin(t) - t) / (t z) for z = t^2 <= 1/4: the rational function of fdlibm's asin (Sun
// Microsystems 1993), and the polynomial of Cephes' asinf (Moshier 1989).
inline double arcsine_tail(double z) {
    double p = 3.47933107596021167570e-05;
    p = p * z + 7.91534994289814532176e-04;
    p = p * z - 4.00555345006794114027e-02;
    p = p * z + 2.01212532134862925881e-01;
    p = p * z - 3.25565818622400915405e-01;
    p = p * z + 1.66666666666666657415e-01;
    double q = 7.70381505559019352791e-02;
    q = q * z - 6.88283971605453293030e-01;
    q = q * z + 2.02094576023350569471e+00;
    q = q * z - 2.40339491173441421878e+00;
    q = q * z + 1;
    return p / q;
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
    const T pi = T(3.14159265358979323846);
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
    const T angle = large ? 2 * asine : pi / 2 - asine;  // acos(abs(c))
    const T rest = c < 0 ? angle : pi - angle;           // pi - t
    c = c < 0 ? -a : a;
    if (degree == 0) return rest / pi;
    if (degree == 1) return (root(square) + rest * c) / pi;
    return (3 * root(square) * c + rest * (1 + 2 * c * c)) / (3 * pi);
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
