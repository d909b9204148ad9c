// Loops over tiles of pairs (x, z) whose value is a sum over features; called by
// distances/vectors.py, distances/amounts.py, distances/sphere.py, distances/categories.py and
// kernels/sets.py. PairLoops are defined in distances.cpp, PowerLoops in powers.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// out (n, m) from rows X (n, d) and TRANSPOSED rows Zt (d, m), so that lanes run over the columns
// of the tile; w (d) are weights of the features. X and Zt must have no NaN (samples raise an error
// for it): chebyshev and intersection may ignore it, because a test would take 10 to 50% more time.
template <class T>
struct PairLoops {
    using Loop = void (*)(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d);
    Loop manhattan;     // sum w |x - z|
    Loop squared_gaps;  // sum w (x - z)^2
    Loop chi_squared;   // sum w (x - z)^2 / (x + z), 0 / 0 = 0
    Loop relative;      // sum w |x - z| / (|x| + |z|), 0 / 0 = 0
    Loop intersection;  // sum w min(x, z)
    Loop chebyshev;     // max w |x - z|
    Loop differences;   // sum w [x != z]
    // Inner products <x, z> become squared distances: G <- max(|x|^2 + |z|^2 - 2 G, 0), NaN stays.
    void (*squares)(T* G, const T* xx, const T* zz, size_t n, size_t m);
    // sum w [x == z] on integer codes.
    void (*matches)(const int32_t* X, const int32_t* Zt, const T* w, T* out, size_t n, size_t m,
                    size_t d);
};

template <class T>
struct PowerLoops {
    // sum w |x - z|^p, p > 0, with 0^p = 0. A subnormal difference counts as the smallest normal
    // one.
    void (*minkowski)(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d,
                      T p);
};

}  // namespace mercer
