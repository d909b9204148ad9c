// Radial profiles applied in place to a tile of distances; called by kernels/radial.py and gram/.
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

}  // namespace

extern const RadialLoops<float> radial32;
extern const RadialLoops<double> radial64;
constinit const RadialLoops<float> radial32 = {exp_scaled<float>, matern<float>};
constinit const RadialLoops<double> radial64 = {exp_scaled<double>, matern<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
