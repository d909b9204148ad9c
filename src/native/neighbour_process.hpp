// Gaussian processes on the nearest rows of each query; called by
// learners/neighbours/local_process.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

struct NeighbourProcessLoops {
    // For each of q queries Z (q, d) a process on its k neighbours: rows near[i, :] of X (., d) with
    // targets y; a negative number is no row. Covariances of rows at distance r are exp(-t) for kind
    // 0, (1 + t) exp(-t) for 1 and exp(-t^2) for 2, with t = scale r, and 1 + noise of a row with
    // itself. mean[i] is that of the target, variance[i] that of a new observation. work holds k + d
    // columns of k + 2 numbers, each rounded up to a multiple of 16.
    void (*predict)(const float* X, size_t d, const float* y, const float* Z, const int64_t* near,
                    size_t q, size_t k, int kind, float scale, float noise, float* mean,
                    float* variance, float* work);
};

}  // namespace mercer
