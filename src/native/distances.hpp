// Loops over tiles of pairs (x, z) whose value is a sum over features; called by
// distances/vectors.py, distances/categories.py and kernels/histograms.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// out (n, m) from rows X (n, d) and TRANSPOSED rows Zt (d, m), so that lanes run over the columns
// of the tile; w (d) weighs the features.
template <class T>
struct PairLoops {
    using Loop = void (*)(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d);
    Loop manhattan;    // sum w |x - z|
    Loop chi_squared;  // sum w (x - z)^2 / (x + z), 0 / 0 = 0
    Loop intersection; // sum w min(x, z)
    // sum w [x == z] on integer codes.
    void (*matches)(const int32_t* X, const int32_t* Zt, const T* w, T* out, size_t n, size_t m,
                    size_t d);
};

}  // namespace mercer
