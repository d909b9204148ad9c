// Distances of listed rows in tiles; called by search/descent.py through bind_descent.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

struct DescentLoops {
    // out[i * n_b + j] <- the sum of the squares of A[a[i]] - B[b[j]], or of their absolute values,
    // for rows of d numbers, d a multiple of 16. The sum of a pair is the same in every tile, and
    // the other way round.
    void (*squares)(const float* A, const int32_t* a, size_t n_a, const float* B, const int32_t* b,
                    size_t n_b, size_t d, float* out);
    void (*manhattan)(const float* A, const int32_t* a, size_t n_a, const float* B,
                      const int32_t* b, size_t n_b, size_t d, float* out);
};

}  // namespace mercer
