// Loops over tiles of pairs whose value is a polynomial of the products x_j z_j; called by
// kernels/dot.py.
#pragma once
#include <cstddef>

namespace mercer {

// out (n, m) from rows X (n, d) and TRANSPOSED rows Zt (d, m).
template <class T>
struct SubsetLoops {
    // prod (1 + x z); may overflow.
    void (*all_subsets)(const T* X, const T* Zt, T* out, size_t n, size_t m, size_t d);
    // Elementary symmetric polynomial of degree p; `work` holds p * anova_lanes values.
    void (*anova)(const T* X, const T* Zt, T* out, size_t n, size_t m, size_t d, size_t p, T* work);
};

constexpr size_t anova_lanes = 64;

}  // namespace mercer
