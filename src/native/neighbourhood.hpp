// One training step of a learnt neighbourhood, for neighbourhood.cpp and its bindings.
//
// Rows come in tiles of 64, and the 64 rows of a tile are neighbouring numbers: an array [c][64] of
// a tile has the values of channel c. So every loop over rows is a loop over lanes, and softmax and
// batch norm need no sums across lanes but a few. Zrow, Xrow are the same by rows, [64][width].
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

constexpr size_t kTile = 64;         // rows of a tile
constexpr size_t kFrequencies = 16;  // periodic features of a number
constexpr size_t kPeriodic = 2 * kFrequencies + 1;  // cosines, sines, and the number itself
constexpr size_t kValues = 8;        // values that a number becomes
constexpr size_t kGroups = 8;        // of tiles, each with its own sums, at most

// The network f, and where its parameters stand in one array of `size` numbers.
struct NeighbourhoodNet {
    size_t columns;  // numbers, of which each has periodic features
    size_t extra;    // further columns, a multiple of 8
    size_t width;    // of z, a multiple of 16
    size_t hidden;   // a multiple of 8, or 0: f is linear then
    size_t encoded;  // kValues * columns + extra
    size_t frequencies, periodic, periodic_bias, linear, linear_bias;
    size_t gain1, shift1, into, into_bias, out, out_bias, gain2, shift2, size;
};

// All that a step reads and writes. `live` candidates fill `tiles` tiles; the first `queries` of
// them are the queries, in `query_tiles` tiles.
struct NeighbourhoodStep {
    NeighbourhoodNet net;
    size_t outputs, live, tiles, queries, query_tiles, groups;
    bool classes;
    const float* numbers;  // (n, columns)
    const float* extra;    // (n, extra)
    const float* targets;  // (n, outputs); not for classes
    const int32_t* labels; // (n,); for classes
    const float* weights;  // (n,)
    const int64_t* rows;   // (live,)
    float* parameters;
    float* first;   // Adam's means of gradients
    float* second;  // and of their squares
    float* running; // means and variances of both batch norms, (4, width)
    float rate, correction1, correction2, dropout;
    uint64_t seed;
    double loss, total;  // of the queries, and the sum of their weights

    // for each tile
    float *F, *E, *U, *H, *V;        // features, encoded, before and after the hidden layer
    float *Z;                        // [width][64]
    float *dV;                       // of V, and of U when f is linear
    float *dX;                       // of the input of the hidden layer
    float *means1, *spreads1, *means2, *spreads2;  // sums for batch norm, [tile][width]
    float *Zrow, *norms, *votes, *Y; // of all candidates: by rows, |z|^2, weights, targets
    int32_t* codes;
    float* pulls;                    // [query tile][candidate][width]: gradients of candidates
    float* own;                      // [query tile][width][64]: gradients of queries
    double* losses;                  // [query tile]
    float *norm1, *norm2;            // (4, width): mean, 1 / spread, and two means of gradients
    float* gradients;                // [group][size]
    // for each worker
    float *scratch;
    size_t scratch_size;
};

struct NeighbourhoodLoops {
    // The parts of a step, each for one item; `worker` has its own scratch.
    void (*encode)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*hide)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*place)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*compare)(NeighbourhoodStep& s, size_t query_tile, size_t worker);
    void (*gather)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*unhide)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*decode)(NeighbourhoodStep& s, size_t group, size_t worker);
    void (*update)(NeighbourhoodStep& s, size_t part, size_t worker);
    // Alone between them: batch norms' means and spreads, and the means of their gradients.
    void (*norms1)(NeighbourhoodStep& s);
    void (*norms2)(NeighbourhoodStep& s);
    void (*slopes1)(NeighbourhoodStep& s);
    void (*slopes2)(NeighbourhoodStep& s);
    // Z (n, width) of rows with the running means; the step has buffers for one tile.
    void (*embed)(NeighbourhoodStep& s, size_t n, float* Z);
    // values[t, i] <- sum_j P_ij Y_j / sum_j P_ij with P_ij = w_j exp(-taus[t] |z_i - z_j|), for
    // n queries and m candidates of `width` numbers; values (taus, n, outputs).
    void (*smooth)(const float* Zq, size_t n, const float* Zc, size_t m, size_t width,
                   const float* Y, size_t outputs, const float* w, const float* taus, size_t count,
                   float* values, float* scratch);
};

constexpr size_t kBlock = 256;  // candidates of a block of `smooth`
static constexpr size_t smooth_scratch(size_t width, size_t outputs, size_t count) {
    return kTile * (2 * kBlock + width + 8 + count * (outputs + 1));
}

}  // namespace mercer
