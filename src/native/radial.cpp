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

}  // namespace

extern const RadialLoops<float> radial32;
extern const RadialLoops<double> radial64;
const RadialLoops<float> radial32 = {exp_scaled<float>};
const RadialLoops<double> radial64 = {exp_scaled<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
