// Forces between the points of a map; called by solvers/embedding.py. In the plane a potential lies
// on the nodes of a grid, from which cubic B-splines read it. Points beyond the grid count as those
// at its edge, so that no value is read or written outside. In three dimensions, or along a line,
// it is summed over all points.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// A square grid: its corner, the distance of its nodes, and how many there are on a side (8 at least).
struct SquareGrid {
    double x, y, spacing;
    size_t side;
};

struct EmbeddingLoops {
    // Adds the charges of the points Y (n, 2) to charges (side, side), in parts of 2^-32: sums of
    // whole numbers do not depend on their order.
    void (*spread)(const double* Y, size_t n, SquareGrid grid, int64_t* charges);
    // out (n, 3) <- the potential (side, side) at the points, and its two derivatives.
    void (*gather)(const double* Y, size_t n, SquareGrid grid, const double* potential, double* out);
    // out (q, 4) <- the potential of the points Y at others, Z, and its three derivatives. Both are
    // (3, n) and (3, q): all first coordinates, then all second ones.
    void (*sum)(const float* Y, size_t n, const float* Z, size_t q, double* out);
    // One step of gradient descent with momentum and gains for the points from `begin` to `end`. The
    // rows of a sparse matrix pull, row i from starts[i] to starts[i + 1]; push (end - begin, axes + 1)
    // is what `gather` or `sum` returns for these points, and `share` what it is divided by. All
    // other arrays are (n, axes), axes 1 to 3; no step is longer than `longest`.
    void (*descend)(size_t axes, size_t begin, size_t end, const int64_t* starts, const int32_t* columns,
                    const float* pull, double exaggeration, const double* push, double share,
                    double rate, double momentum, double longest, const double* Y, double* moved,
                    double* gains, double* out);
    // out (q, 2) <- places of new points in the potential of a map Y, each by itself; near (q, k) are
    // their neighbours, of which k >= 1 and one at least is not -1. `share` is as above, of one point.
    void (*place)(const int64_t* near, size_t q, size_t k, const double* Y, SquareGrid grid,
                  const double* potential, double share, double exaggeration, size_t steps,
                  double rate, double* out);
    // The same in three dimensions, (q, 3), where the potential is summed over the n points of Y.
    void (*place_among)(const int64_t* near, size_t q, size_t k, const double* Y, size_t n,
                        double share, double exaggeration, size_t steps, double rate, double* out);
};

}  // namespace mercer
