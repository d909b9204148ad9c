// Alignments of pairs of time series, one pair in each lane; called by distances/series.py and
// kernels/alignment.py through bind_series.cpp.
//
// The cells (i, j) of a pair are computed row by row. Distances are least sums of costs along a way
// through the cells, the kernels are sums over all ways of the products of local similarities.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

constexpr size_t series_lanes = 16;

// Pairs side by side: x[((i + 1) d + c) lanes + l] is channel c of point i of the first series of
// pair l. Point -1 is 0, and after the end of a shorter series its last point is repeated.
struct SeriesGroup {
    const double *x, *z;
    const int64_t *n, *m;       // lengths of each pair, at least 1
    size_t rows, columns, d;    // the largest lengths; channels
    const int64_t* window;      // of each pair, at least |n - m|; negative: none
};

enum class Warp : int { dtw, erp, msm, twed };

// What the measures need: the gap value of erp, the cost of msm, stiffness and penalty of twed.
struct WarpTerms {
    Warp kind;
    double first, second;
};

// Local similarities of points at the squared distance s, whose places are less than `reach` apart
// (0: any): k = exp(-s scale) if plain; k / 3 if third; and if halved w k / (2 - w k), where
// w = 1 - |i - j| / reach, or 1 if reach is 0.
enum class Local : int { plain, halved, third };

struct PathTerms {
    double scale;
    Local local;
    int64_t reach;
};

struct SeriesLoops {
    // out (lanes,): the least sums. Where all pairs exceed their `limits`, it stops early, and gives
    // infinity. `work` holds work_size(columns, d) numbers.
    void (*warp)(const SeriesGroup& group, const WarpTerms& terms, const double* limits,
                 double* work, double* out);
    // out (lanes,): logarithms of the sums over all ways, -infinity for 0. If third, pairs of one
    // length also have half the product of 2 k / (3 - k) over their places.
    void (*paths)(const SeriesGroup& group, const PathTerms& terms, double* work, double* out);
    // The least and the largest value of each channel within the window about each point of a
    // series (n, d).
    void (*envelope)(const double* x, size_t n, size_t d, int64_t window, double* low,
                     double* high);
    // The squared distance of a series, `size` numbers, from an envelope.
    double (*outside)(const double* x, const double* low, const double* high, size_t size);
};

constexpr size_t series_work(size_t columns) { return series_lanes * (8 * columns + 256); }

}  // namespace mercer
