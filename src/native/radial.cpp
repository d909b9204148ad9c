// Radial profiles applied in place to a tile of distances, the exponential of the distances of
// single numbers, and the product of a tile with another one; called by kernels/ and gram/.
#include "exp.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

template <class T>
void exp_scaled(T* d, size_t n, T scale) {
    for (size_t i = 0; i < n; ++i) d[i] = exp_one(-scale * d[i]);
}

template <class T>
void matern(T* d, size_t n, T scale, int order) {
    const T limit = 1000;
    const T quadratic = order == 5 ? T(1) / 3 : T(0);
    for (size_t i = 0; i < n; ++i) {
        T t = scale * d[i];
        t = t > limit ? limit : t;  // then exp gives 0 and the polynomial is finite
        d[i] = (1 + t * (1 + quadratic * t)) * exp_one(-t);
    }
}

template <class T>
void ratios(const T* u_x, const T* v_x, const T* u_z, const T* v_z, T* out, size_t n, size_t m) {
    for (size_t i = 0; i < n; ++i) {
        const T u = u_x[i], v = v_x[i];
        T* row = out + i * m;
        for (size_t j = 0; j < m; ++j) {
            const T a = u * v_z[j], b = v * u_z[j];
            const T least = a < b ? a : b;
            row[j] = least < 1 ? least : T(1);
        }
    }
}

template <class T>
void interact(T* K, const T* k, size_t n, T share) {
    const T rest = 1 - share;
    for (size_t i = 0; i < n; ++i) K[i] *= rest + share * k[i];
}

}  // namespace

extern const RadialLoops<float> radial32;
extern const RadialLoops<double> radial64;
constinit const RadialLoops<float> radial32 = {exp_scaled<float>, matern<float>,
                                                ratios<float>, interact<float>};
constinit const RadialLoops<double> radial64 = {exp_scaled<double>, matern<double>,
                                                 ratios<double>, interact<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
