// Walks that two graphs have in common, pair by pair; called by kernels/walks.py through
// bind_walks.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// The neighbours of node v are to[rows[v]] .. to[rows[v + 1] - 1], below n; `marks` are the labels
// of these edges, or null.
struct WalkGraph {
    const int64_t* rows;
    const int32_t* to;
    size_t n;
    const uint64_t* marks;
};

// Of the product graph, whose nodes are the pairs of nodes with mask 1, and whose edges are pairs of
// edges with one mark: 1^T (I - decay W)^-1 1, or
// with `steps` > 0 the sum of decay^k 1^T W^k 1 for k = 0 .. steps - 1.
struct WalkTerms {
    double decay;
    size_t steps;
    bool symmetric;  // of both graphs, so that W is
};

struct WalkLoops {
    // sum_i p[i] sum_j q[j] / (1 - decay a[i] b[j]).
    double (*spectral)(const double* a, const double* p, size_t n, const double* b, const double* q,
                       size_t m, double decay);
    // mask (n, m) of 0 and 1; `work` holds 5 n m numbers.
    double (*labelled)(const WalkGraph& x, const WalkGraph& z, const double* mask,
                       const WalkTerms& terms, double* work);
};

}  // namespace mercer
