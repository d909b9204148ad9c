// Sums of products over subsets of the coordinates for every pair of a tile (see subsets.hpp).
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 512;

template <class T>
void all_subsets(const T* X, const T* Zt, T* out, size_t n, size_t m, size_t d) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t s = 0; s < m; s += strip) {
            const size_t width = m - s < strip ? m - s : strip;
            T* row = out + i * m + s;
            for (size_t j = 0; j < width; ++j) row[j] = 1;
            for (size_t k = 0; k < d; ++k) {
                const T x = X[i * d + k];
                const T* z = Zt + k * m + s;
                for (size_t j = 0; j < width; ++j) row[j] *= 1 + x * z[j];
            }
        }
    }
}

// e_q(1..k) = e_q(1..k-1) + x_k z_k e_{q-1}(1..k-1), Shawe-Taylor & Cristianini 2004, section 9.2;
// q descends, so that e_{q-1} is still the value for k-1. work[q - 1] has e_q for the lanes.
template <class T>
void anova(const T* X, const T* Zt, T* out, size_t n, size_t m, size_t d, size_t p, T* work) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t s = 0; s < m; s += anova_lanes) {
            const size_t width = m - s < anova_lanes ? m - s : anova_lanes;
            for (size_t j = 0; j < p * anova_lanes; ++j) work[j] = 0;
            for (size_t k = 0; k < d; ++k) {
                const T x = X[i * d + k];
                const T* z = Zt + k * m + s;
                for (size_t q = (k + 1 < p ? k + 1 : p); q > 1; --q) {
                    T* e = work + (q - 1) * anova_lanes;
                    const T* below = e - anova_lanes;
                    for (size_t j = 0; j < width; ++j) e[j] += x * z[j] * below[j];
                }
                for (size_t j = 0; j < width; ++j) work[j] += x * z[j];
            }
            const T* last = work + (p - 1) * anova_lanes;
            for (size_t j = 0; j < width; ++j) out[i * m + s + j] = last[j];
        }
    }
}

}  // namespace

extern const SubsetLoops<float> subsets32;
extern const SubsetLoops<double> subsets64;
constinit const SubsetLoops<float> subsets32 = {all_subsets<float>, anova<float>};
constinit const SubsetLoops<double> subsets64 = {all_subsets<double>, anova<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
