// Sums of powers |x - z|^p over features for every pair of a tile; called by distances/vectors.py.
// Separate from distances.cpp, because exp and log depend on the order of their operations.
#include "log.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 512;

template <class T>
void minkowski(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d, T p) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t s = 0; s < m; s += strip) {
            const size_t width = m - s < strip ? m - s : strip;
            T* row = out + i * m + s;
            for (size_t j = 0; j < width; ++j) row[j] = 0;
            for (size_t k = 0; k < d; ++k) {
                const T x = X[i * d + k];
                const T weight = w[k];
                const T* z = Zt + k * m + s;
                for (size_t j = 0; j < width; ++j) {
                    const T difference = x < z[j] ? z[j] - x : x - z[j];
                    const bool regular = (difference > 0) & (difference - difference == 0);
                    const T power = exp_one(p * log_one(difference));
                    // 0, infinity and NaN do not change
                    row[j] += weight * (regular ? power : difference);
                }
            }
        }
    }
}

}  // namespace

extern const PowerLoops<float> powers32;
extern const PowerLoops<double> powers64;
constinit const PowerLoops<float> powers32 = {minkowski<float>};
constinit const PowerLoops<double> powers64 = {minkowski<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
