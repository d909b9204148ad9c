// Alignments of pairs of time series, one pair in each lane (see series.hpp).
//
// Sakoe & Chiba, "Dynamic programming algorithm optimization for spoken word recognition", 1978
// (dtw); Chen & Ng, "On the marriage of Lp-norms and edit distance", 2004 (erp); Stefan, Athitsos &
// Das, "The move-split-merge metric for time series", 2013 (msm); Marteau, "Time warp edit distance
// with stiffness adjustment for time series matching", 2009 (twed); Cuturi, "Fast global alignment
// kernels", 2011, Cuturi & Blondel, "Soft-DTW", 2017, and Marteau & Gibet, "On recursive edit distance
// kernels with application to time series classification", 2015 (paths); Keogh & Ratanamahatana, "Exact
// indexing of dynamic time warping", 2005 (envelope).
#include <math.h>

#include "exp.hpp"
#include "lanes.hpp"
#include "log.hpp"
#include "loops.hpp"
#include "squares.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Vector = Lanes::Vector;

constexpr size_t lanes = series_lanes;
constexpr size_t vectors = lanes / Lanes::width;
constexpr size_t block = 32;  // columns of a block: its costs stay in the nearest cache
constexpr double endless = HUGE_VAL;

inline double smaller(double a, double b) { return a < b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }

// out[j, l] <- |x - z_j| for `count` points z_j.
void gaps(const double* x, const double* z, size_t d, size_t count, double* __restrict out) {
    squares<lanes>(x, z, d, count, out);
    for (size_t k = 0; k < count * lanes; ++k) out[k] = sqrt(out[k]);
}

// out[l] <- the distance of a point from the one whose channels all are `gap`.
void from_gap(const double* x, size_t d, double gap, double* out) {
    for (size_t l = 0; l < lanes; ++l) out[l] = 0;
    for (size_t c = 0; c < d; ++c)
        for (size_t l = 0; l < lanes; ++l) {
            const double t = x[c * lanes + l] - gap;
            out[l] += t * t;
        }
    for (size_t l = 0; l < lanes; ++l) out[l] = sqrt(out[l]);
}

// How far y is outside of the interval between a and b.
inline double outside_of(double y, double a, double b) {
    const double low = smaller(a, b), high = larger(a, b);
    return larger(larger(low - y, y - high), 0.0);
}

// The columns [low, high] of a row of one pair that are in its window.
struct Range {
    int64_t low, high;
};

// Cells with |i (m - 1) - j (n - 1)| <= window * (max(n, m) - 1): the diagonal of a rectangle, and
// `window` points of the shorter series on both sides.
inline Range in_window(int64_t i, int64_t n, int64_t m, int64_t window) {
    if (window < 0 || n == 1) return {0, m - 1};
    const int64_t most = (n > m ? n : m) - 1;
    if (window >= most) return {0, m - 1};
    const int64_t middle = i * (m - 1), reach = window * most, step = n - 1;
    const int64_t low = middle > reach ? (middle - reach + step - 1) / step : 0;
    const int64_t high = (middle + reach) / step;
    return {low, high < m - 1 ? high : m - 1};
}

// What goes from block to block along a row.
struct Edge {
    double diagonal[lanes], left[lanes], least[lanes];
};

// Costs of the steps into the cells of a block: diagonal, down from the row above, and right; the
// second one has a stride of 0 if it is the same in all columns.
struct Steps {
    const double *diagonal, *down, *right;
    size_t stride;
};

// One row of some columns: cell <- min(diagonal + a, above + b, left + c).
template <bool Equal, bool Bounded>
void least_cells(const Steps& s, size_t count, double* cells, Edge& edge) {
    Vector diagonal[vectors], left[vectors], least[vectors];
    for (size_t v = 0; v < vectors; ++v) {
        diagonal[v] = Lanes::load(edge.diagonal + v * Lanes::width);
        left[v] = Lanes::load(edge.left + v * Lanes::width);
        least[v] = Lanes::load(edge.least + v * Lanes::width);
    }
    for (size_t j = 0; j < count; ++j)
        for (size_t v = 0; v < vectors; ++v) {
            const size_t k = j * lanes + v * Lanes::width;
            const Vector above = Lanes::load(cells + k), a = Lanes::load(s.diagonal + k);
            if constexpr (Equal) {
                left[v] = Lanes::plus(
                    a, Lanes::least(left[v], Lanes::least(diagonal[v], above)));
            } else {
                const Vector b = Lanes::load(s.down + j * s.stride + v * Lanes::width);
                const Vector c = Lanes::load(s.right + k);
                left[v] = Lanes::least(
                    Lanes::plus(left[v], c),
                    Lanes::least(Lanes::plus(diagonal[v], a), Lanes::plus(above, b)));
            }
            diagonal[v] = above;
            Lanes::store(cells + k, left[v]);
            if constexpr (Bounded) least[v] = Lanes::least(least[v], left[v]);
        }
    for (size_t v = 0; v < vectors; ++v) {
        Lanes::store(edge.diagonal + v * Lanes::width, diagonal[v]);
        Lanes::store(edge.left + v * Lanes::width, left[v]);
        Lanes::store(edge.least + v * Lanes::width, least[v]);
    }
}

inline bool all_alike(const SeriesGroup& g) {
    for (size_t l = 1; l < lanes; ++l)
        if (g.n[l] != g.n[0] || g.m[l] != g.m[0] || g.window[l] != g.window[0]) return false;
    return true;
}

template <Warp kind, bool Bounded>
void warped(const SeriesGroup& g, const WarpTerms& terms, const double* limits, double* work,
            double* out) {
    const size_t size = g.d * lanes, columns = g.columns;
    double *row = work, *right = row + (columns + 1) * lanes, *a = right + columns * lanes,
           *b = a + block * lanes, *c = b + block * lanes;
    const bool alike = all_alike(g);
    for (size_t k = 0; k < (columns + 1) * lanes; ++k) row[k] = endless;
    double border[lanes], down[lanes];
    for (size_t l = 0; l < lanes; ++l) {
        border[l] = row[l] = 0;
        out[l] = endless;
    }
    // steps that depend on the column alone
    if constexpr (kind == Warp::erp)
        for (size_t k = 0; k < columns; ++k) {
            from_gap(g.z + (k + 1) * size, g.d, terms.first, right + k * lanes);
            for (size_t l = 0; l < lanes; ++l)
                row[(k + 1) * lanes + l] = row[k * lanes + l] + right[k * lanes + l];
        }
    if constexpr (kind == Warp::twed)
        for (size_t k = 0; k < columns; ++k) {
            gaps(g.z + k * size, g.z + (k + 1) * size, g.d, 1, right + k * lanes);
            for (size_t l = 0; l < lanes; ++l) right[k * lanes + l] += terms.first + terms.second;
        }
    size_t last_low = 0, last_high = columns - 1;
    for (size_t i = 0; i < g.rows; ++i) {
        const double *x = g.x + (i + 1) * size, *earlier = x - size;
        // the columns of this row, in each pair and in all of them
        double low[lanes], high[lanes];
        int64_t from = static_cast<int64_t>(columns), to = -1;
        for (size_t l = 0; l < (alike ? 1 : lanes); ++l) {
            Range r = {0, g.m[l] - 1};
            if (static_cast<int64_t>(i) < g.n[l]) {
                r = in_window(static_cast<int64_t>(i), g.n[l], g.m[l], g.window[l]);
                from = r.low < from ? r.low : from;
                to = r.high > to ? r.high : to;
            }
            low[l] = static_cast<double>(r.low);
            high[l] = static_cast<double>(r.high);
        }
        if (from > to) continue;
        const size_t first = static_cast<size_t>(from), end = static_cast<size_t>(to) + 1;
        for (size_t j = end; j <= last_high; ++j)  // they belong to no row from here on
            for (size_t l = 0; l < lanes; ++l) row[(j + 1) * lanes + l] = endless;
        last_high = end - 1;
        Edge edge;
        double* border_cell = row + first * lanes;
        const bool moved = i > 0 && first > last_low;
        for (size_t l = 0; l < lanes; ++l) {
            edge.diagonal[l] = first == 0 || moved || i == 0 ? border_cell[l] : endless;
            edge.left[l] = edge.least[l] = endless;
        }
        last_low = first;
        if constexpr (kind == Warp::erp) {
            from_gap(x, g.d, terms.first, down);
            for (size_t l = 0; l < lanes; ++l) border[l] += down[l];
        }
        if constexpr (kind == Warp::twed) {
            gaps(x, earlier, g.d, 1, down);
            for (size_t l = 0; l < lanes; ++l) down[l] += terms.first + terms.second;
        }
        for (size_t l = 0; l < lanes; ++l) {
            // the border left of the cells: only erp has a way along it
            const double cell = kind == Warp::erp && first == 0 ? border[l] : endless;
            border_cell[l] = edge.left[l] = cell;
        }
        for (size_t j = first; j < end; j += block) {
            const size_t count = end - j < block ? end - j : block;
            const double* z = g.z + (j + 1) * size;
            if constexpr (kind == Warp::dtw) {
                squares<lanes>(x, z, g.d, count, a);
                if (!alike)  // cells outside the window of their pair
                    for (size_t k = 0; k < count; ++k) {
                        const double column = static_cast<double>(j + k);
                        for (size_t l = 0; l < lanes; ++l) {
                            const double cost = a[k * lanes + l];
                            const double there = column <= high[l] ? cost : endless;
                            a[k * lanes + l] = column >= low[l] ? there : endless;
                        }
                    }
                least_cells<true, Bounded>({a, a, a, lanes}, count, row + (j + 1) * lanes, edge);
            } else if constexpr (kind == Warp::erp) {
                gaps(x, z, g.d, count, a);
                least_cells<false, Bounded>({a, down, right + j * lanes, 0}, count,
                                            row + (j + 1) * lanes, edge);
            } else if constexpr (kind == Warp::msm) {
                for (size_t k = 0; k < count; ++k)
                    for (size_t l = 0; l < lanes; ++l) {
                        const double here = z[k * lanes + l], past = (z - lanes)[k * lanes + l];
                        a[k * lanes + l] = larger(x[l] - here, here - x[l]);
                        b[k * lanes + l] = terms.first + outside_of(x[l], earlier[l], here);
                        c[k * lanes + l] = terms.first + outside_of(here, x[l], past);
                    }
                least_cells<false, Bounded>({a, b, c, lanes}, count, row + (j + 1) * lanes, edge);
            } else {
                gaps(x, z, g.d, count, a);
                gaps(earlier, z - size, g.d, count, b);
                for (size_t k = 0; k < count; ++k) {
                    const double apart = static_cast<double>(i) - static_cast<double>(j + k);
                    const double stiff = 2 * terms.first * larger(apart, -apart);
                    for (size_t l = 0; l < lanes; ++l) a[k * lanes + l] += b[k * lanes + l] + stiff;
                }
                least_cells<false, Bounded>({a, down, right + j * lanes, 0}, count,
                                            row + (j + 1) * lanes, edge);
            }
        }
        bool near = !Bounded;
        for (size_t l = 0; l < lanes; ++l) {
            const int64_t rows = g.n[l] - static_cast<int64_t>(i) - 1;
            if (rows == 0) out[l] = row[static_cast<size_t>(g.m[l]) * lanes + l];
            if constexpr (Bounded) near = near || (rows > 0 && edge.least[l] <= limits[l]);
        }
        if (!near) return;
    }
}

void warp(const SeriesGroup& g, const WarpTerms& terms, const double* limits, double* work,
          double* out) {
    bool bounded = false;
    for (size_t l = 0; l < lanes; ++l) bounded = bounded || limits[l] < endless;
    const auto run = [&](auto free, auto stopped) {
        (bounded ? stopped : free)(g, terms, limits, work, out);
    };
    switch (terms.kind) {
        case Warp::dtw: return run(warped<Warp::dtw, false>, warped<Warp::dtw, true>);
        case Warp::erp: return run(warped<Warp::erp, false>, warped<Warp::erp, true>);
        case Warp::msm: return run(warped<Warp::msm, false>, warped<Warp::msm, true>);
        case Warp::twed: return run(warped<Warp::twed, false>, warped<Warp::twed, true>);
    }
}

// --- sums over all ways --------------------------------------------------------------------------

constexpr double ln2 = 0.693147180559945309417;
constexpr double ln3 = 1.098612288668109691395;
constexpr double nothing = -1e300;  // the exponent and the logarithm of 0
constexpr double most_gap = 20;     // exp(-20) for each of the columns of a block is a float

constexpr double least_power = -600;  // of 2: products of smaller numbers could be subnormal, and slow
constexpr double least_log = -700;    // the same of e

// 2^e for e <= 1023, 0 where it is far below 1.
inline double power_of_two(double e) {
    const double bounded = larger(e, least_power);
    const double magic = 6755399441055744.0;
    const int64_t k = bits_as<int64_t>(bounded + magic) - bits_as<int64_t>(magic);
    return e < least_power ? 0 : bits_as<double>((k + 1023) << 52);
}

// exp(x) for x <= 0, no smaller than the smallest usual number: one scaling is enough.
inline double exp_normal(double x) {
    const ExpParts e = exp_parts(larger(x, least_log));
    return e.p * bits_as<double>((e.k + 1023) << 52);
}

// w exp(-s) / (2 - w exp(-s)) = w / (2 exp(s) - w) for s >= 0 and 0 <= w <= 1: exp(r) is a fraction
// p / q of polynomials (Cephes) where |r| <= ln(2) / 2, so that one division serves both. Of s beyond
// `most_gap` it is some number that nobody reads.
inline double halved(double s, double w) {
    const double magic = 6755399441055744.0;
    const double shifted = s * 1.4426950408889634074 + magic;
    const double n = shifted - magic;
    const double r = (s - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double square = r * r;
    const double odd = r * ((1.26177193074810590878e-4 * square + 3.02994407707441961300e-2) * square +
                            9.99999999999999999910e-1);
    const double even = ((3.00198505138664455042e-6 * square + 2.52448340349684104192e-3) * square +
                         2.27265548208155028766e-1) * square + 2.0;
    const double p = even + odd, q = w * (even - odd);
    const int64_t k = bits_as<int64_t>(shifted) - bits_as<int64_t>(magic);
    return q / (p * bits_as<double>((k + 1024) << 52) - q);
}

// The exponent of a number >= 0; `nothing` for 0.
inline double exponent_of(double x) {
    const int64_t k = (bits_as<int64_t>(x) >> 52) - 1023;
    const double e = bits_as<double>(k + bits_as<int64_t>(6755399441055744.0)) - 6755399441055744.0;
    return x > 0 ? e : nothing;
}

// The weight of cells whose places are so far apart.
inline double weight(const PathTerms& terms, size_t i, size_t j) {
    if (terms.reach == 0) return 1;
    const double apart = static_cast<double>(i) - static_cast<double>(j);
    return larger(0, 1 - larger(apart, -apart) / static_cast<double>(terms.reach));
}

// The columns [first, end) of a row that are in reach.
inline void reached_columns(const PathTerms& terms, size_t i, size_t columns, size_t& first,
                             size_t& end) {
    first = 0;
    end = columns;
    if (terms.reach == 0) return;
    const size_t reach = static_cast<size_t>(terms.reach) - 1;
    if (reach < columns && i > reach) first = i - reach;
    if (reach < columns && i + reach + 1 < columns) end = i + reach + 1;
}

// S <- the squared distances of a point from those of a block.
void square_gaps(const SeriesGroup& g, size_t i, size_t j, size_t count, double* S) {
    squares<lanes>(g.x + (i + 1) * g.d * lanes, g.z + (j + 1) * g.d * lanes, g.d, count, S);
}

// worst <- the largest number of each pair.
void raise(const double* S, size_t count, double* worst) {
    Vector most[vectors];
    for (size_t v = 0; v < vectors; ++v) most[v] = Lanes::load(worst + v * Lanes::width);
    for (size_t k = 0; k < count; ++k)
        for (size_t v = 0; v < vectors; ++v)
            most[v] = Lanes::most(most[v], Lanes::load(S + k * lanes + v * Lanes::width));
    for (size_t v = 0; v < vectors; ++v) Lanes::store(worst + v * Lanes::width, most[v]);
}

// cell <- k (diagonal + above f + left), for the factor f that brings the row above to this row's
// exponent; the diagonal has it already.
void sum_cells(const double* K, size_t count, const double* factor, double* cells, Edge& edge) {
    Vector diagonal[vectors], left[vectors], most[vectors], f[vectors];
    for (size_t v = 0; v < vectors; ++v) {
        diagonal[v] = Lanes::load(edge.diagonal + v * Lanes::width);
        left[v] = Lanes::load(edge.left + v * Lanes::width);
        f[v] = Lanes::load(factor + v * Lanes::width);
        most[v] = Lanes::all(0);
    }
    for (size_t j = 0; j < count; ++j)
        for (size_t v = 0; v < vectors; ++v) {
            const size_t k = j * lanes + v * Lanes::width;
            const Vector above = Lanes::times(Lanes::load(cells + k), f[v]);
            const Vector sum = Lanes::plus(diagonal[v], above);
            const Vector similarity = Lanes::load(K + k);
            left[v] = Lanes::times_plus(similarity, left[v], Lanes::times(similarity, sum));
            diagonal[v] = above;
            Lanes::store(cells + k, left[v]);
            most[v] = Lanes::most(most[v], left[v]);
        }
    for (size_t v = 0; v < vectors; ++v) {
        Lanes::store(edge.diagonal + v * Lanes::width, diagonal[v]);
        Lanes::store(edge.left + v * Lanes::width, left[v]);
        Lanes::store(edge.least + v * Lanes::width, most[v]);
    }
}

// S <- the local similarities of a block; see `raise` for the worst of squared distances.
void similarities(const SeriesGroup& g, const PathTerms& terms, size_t i, size_t j, size_t count,
                  double* S, double* worst) {
    square_gaps(g, i, j, count, S);
    raise(S, count, worst);
    // loops over all places: compilers unroll one over the lanes, and then do not vectorise it
    if (terms.local != Local::halved) {
        const double share = terms.local == Local::third ? 1.0 / 3 : 1;
        for (size_t k = 0; k < count * lanes; ++k) S[k] = share * exp_normal(-terms.scale * S[k]);
    } else if (terms.reach == 0) {
        for (size_t k = 0; k < count * lanes; ++k) S[k] = halved(terms.scale * S[k], 1);
    } else {
        double weights[block * lanes];
        for (size_t k = 0; k < count; ++k) {
            const double w = weight(terms, i, j + k);
            for (size_t l = 0; l < lanes; ++l) weights[k * lanes + l] = w;
        }
        for (size_t k = 0; k < count * lanes; ++k) S[k] = halved(terms.scale * S[k], weights[k]);
    }
}

// The sums as numbers m 2^e, with an exponent for each block of columns. False if some k is so small
// that numbers within a block may differ too much.
bool summed(const SeriesGroup& g, const PathTerms& terms, double* work, double* out) {
    const size_t columns = g.columns, blocks = (columns + block - 1) / block;
    double *row = work, *held = row + columns * lanes, *size = held + blocks * lanes,
           *S = size + blocks * lanes;
    double worst[lanes];
    for (size_t l = 0; l < lanes; ++l) {
        worst[l] = 0;
        out[l] = -endless;
    }
    for (size_t k = 0; k < columns * lanes; ++k) row[k] = 0;
    for (size_t k = 0; k < blocks * lanes; ++k) held[k] = size[k] = nothing;
    for (size_t i = 0; i < g.rows; ++i) {
        size_t first, end;
        reached_columns(terms, i, columns, first, end);
        if (first >= end) break;
        Edge edge;
        double now[lanes];  // the exponent of the edge
        for (size_t l = 0; l < lanes; ++l) {
            edge.left[l] = 0;
            edge.diagonal[l] = first ? row[(first - 1) * lanes + l] : i == 0;
            now[l] = first ? held[(first - 1) / block * lanes + l] : 0;
        }
        for (size_t j = first; j < end;) {
            const size_t q = j / block, next = (q + 1) * block;
            const size_t count = (next < end ? next : end) - j;
            double *exponents = held + q * lanes, *sizes = size + q * lanes, factor[lanes];
            similarities(g, terms, i, j, count, S, worst);
            for (size_t l = 0; l < lanes; ++l) {
                const double before = now[l] + exponent_of(larger(edge.left[l], edge.diagonal[l]));
                const double e = larger(before, exponents[l] + sizes[l]);
                const double shift = power_of_two(now[l] - e);
                factor[l] = power_of_two(exponents[l] - e);
                edge.left[l] *= shift;
                edge.diagonal[l] *= shift;
                now[l] = exponents[l] = e;
            }
            sum_cells(S, count, factor, row + j * lanes, edge);
            for (size_t l = 0; l < lanes; ++l) sizes[l] = exponent_of(edge.least[l]);
            j += count;
        }
        for (size_t l = 0; l < lanes; ++l) {
            const size_t last = static_cast<size_t>(g.m[l]) - 1;
            if (g.n[l] != static_cast<int64_t>(i) + 1 || last < first || last >= end) continue;
            const double cell = row[last * lanes + l];
            if (cell > 0) out[l] = log_one(cell) + held[last / block * lanes + l] * ln2;
        }
    }
    for (size_t l = 0; l < lanes; ++l)
        if (!(worst[l] * terms.scale <= most_gap)) return false;
    return true;
}

// The same with the logarithm of each cell, for similarities of any size.
void summed_logs(const SeriesGroup& g, const PathTerms& terms, double* work, double* out) {
    const size_t columns = g.columns;
    double *row = work, *S = row + columns * lanes;
    for (size_t l = 0; l < lanes; ++l) out[l] = -endless;
    for (size_t k = 0; k < columns * lanes; ++k) row[k] = nothing;
    for (size_t i = 0; i < g.rows; ++i) {
        size_t first, end;
        reached_columns(terms, i, columns, first, end);
        if (first >= end) break;
        double diagonal[lanes], left[lanes];
        for (size_t l = 0; l < lanes; ++l) {
            left[l] = nothing;
            diagonal[l] = first ? row[(first - 1) * lanes + l] : i == 0 ? 0 : nothing;
        }
        for (size_t j = first; j < end; j += block) {
            const size_t count = end - j < block ? end - j : block;
            square_gaps(g, i, j, count, S);
            const double more = terms.local == Local::third ? ln3 : 0;
            for (size_t k = 0; k < count * lanes; ++k) S[k] = terms.scale * S[k] + more;
            if (terms.local == Local::halved)
                for (size_t k = 0; k < count; ++k) {
                    const double w = weight(terms, i, j + k), log_w = log_one(w);
                    double* s = S + k * lanes;
                    for (size_t l = 0; l < lanes; ++l)
                        s[l] += log_one(2 - w * exp_normal(-s[l])) - log_w;
                }
            for (size_t k = 0; k < count; ++k) {
                const double* __restrict s = S + k * lanes;
                double* __restrict cells = row + (j + k) * lanes;
                for (size_t l = 0; l < lanes; ++l) {
                    const double above = cells[l];
                    const double most = larger(larger(left[l], diagonal[l]), above);
                    const double sum = exp_normal(left[l] - most) + exp_normal(diagonal[l] - most) +
                                       exp_normal(above - most);
                    diagonal[l] = above;
                    cells[l] = left[l] = larger(most + log_one(sum) - s[l], nothing);
                }
            }
        }
        for (size_t l = 0; l < lanes; ++l) {
            const size_t last = static_cast<size_t>(g.m[l]) - 1;
            if (g.n[l] != static_cast<int64_t>(i) + 1 || last < first || last >= end) continue;
            const double cell = row[last * lanes + l];
            if (cell > nothing / 2) out[l] = cell;
        }
    }
}

// out <- log(exp(out) + the half of the product of 2 k / (3 - k) over the places) of pairs of one
// length. A factor is 2 exp(-s) / (3 - exp(-s)) at the scaled gap s.
void add_places(const SeriesGroup& g, double scale, double* out) {
    const size_t places = g.rows < g.columns ? g.rows : g.columns;
    double s[lanes], sum[lanes];
    for (size_t l = 0; l < lanes; ++l) sum[l] = -ln2;
    for (size_t i = 0; i < places; ++i) {
        square_gaps(g, i, i, 1, s);
        for (size_t l = 0; l < lanes; ++l) {
            const double gap = scale * s[l];
            const double factor = ln2 - gap - log_one(3 - exp_normal(-gap));
            sum[l] += static_cast<int64_t>(i) < g.n[l] ? factor : 0;
        }
    }
    for (size_t l = 0; l < lanes; ++l) {
        if (g.n[l] != g.m[l]) continue;
        const double most = larger(out[l], sum[l]), least = smaller(out[l], sum[l]);
        out[l] = most + log_one(1 + exp_normal(least - most));
    }
}

void paths(const SeriesGroup& g, const PathTerms& terms, double* work, double* out) {
    if (!summed(g, terms, work, out)) summed_logs(g, terms, work, out);
    if (terms.local == Local::third) add_places(g, terms.scale, out);
}

// --- bounds --------------------------------------------------------------------------------------

// Least values of runs of 1, 2, 4 ... points from each point on, then of the two runs that make up
// a window: as many steps as the window has binary digits, each of which runs along the series.
template <bool Least>
void extremes(const double* x, size_t n, size_t d, size_t reach, double* out) {
    const auto pick = [](double a, double b) { return Least ? smaller(a, b) : larger(a, b); };
    for (size_t k = 0; k < n * d; ++k) out[k] = x[k];
    size_t run = 1;
    for (; 2 * run <= 2 * reach + 1; run *= 2)
        for (size_t k = 0; k + run * d < n * d; ++k) out[k] = pick(out[k], out[k + run * d]);
    // backwards, as both runs of a window begin at its middle or before
    for (size_t k = n * d; k-- > reach * d;) {
        const size_t first = k - reach * d;
        out[k] = pick(out[first], out[first + (2 * reach + 1 - run) * d]);
    }
    for (size_t c = 0; c < d; ++c) {  // windows that the start cuts
        double most = x[c];
        for (size_t i = 1; i < reach && i < n; ++i) most = pick(most, x[i * d + c]);
        for (size_t i = 0; i < reach && i < n; ++i) {
            if (i + reach < n) most = pick(most, x[(i + reach) * d + c]);
            out[i * d + c] = most;
        }
    }
}

void envelope(const double* x, size_t n, size_t d, int64_t window, double* low, double* high) {
    const size_t reach = window < 0 || static_cast<size_t>(window) >= n ? n - 1 : size_t(window);
    extremes<true>(x, n, d, reach, low);
    extremes<false>(x, n, d, reach, high);
}

double outside(const double* x, const double* low, const double* high, size_t size) {
    constexpr size_t sums = 16;
    double part[sums] = {};
    size_t k = 0;
    for (; k + sums <= size; k += sums)
        for (size_t l = 0; l < sums; ++l) {
            const double t = larger(larger(low[k + l] - x[k + l], x[k + l] - high[k + l]), 0.0);
            part[l] += t * t;
        }
    double total = 0;
    for (; k < size; ++k) {
        const double t = larger(larger(low[k] - x[k], x[k] - high[k]), 0.0);
        total += t * t;
    }
    for (size_t l = 0; l < sums; ++l) total += part[l];
    return total;
}

}  // namespace

extern const SeriesLoops series;
constinit const SeriesLoops series = {warp, paths, envelope, outside};

}  // namespace MERCER_ISA
}  // namespace mercer
