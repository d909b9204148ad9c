// Every pair of rows under a norm (see row_search.hpp). Training rows are taken in strips that stay
// in the L2 cache for all queries, and a strip in panels of some packs, feature by feature. The sums
// of a panel with a group of queries stay in registers, where they are compared with the limit of
// each query; few are below it. The exact distances of these decide (see exact_rows.hpp).
//
// Under the Euclidean norm the estimate is |x|^2 / 2 - <q, x>, one multiplication for each feature.
#include "exact_rows.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr int product = -1;       // the estimate |x|^2 / 2 - <q, x>, beside the kinds of norms
constexpr size_t packs = 2;       // of a panel
constexpr size_t strip_most = 512;
constexpr size_t strip_bytes = 1 << 19;  // half of an L2 cache of 1 MB: fewer strips read all queries
constexpr size_t checked = 16;    // features after which a sum that only grows is compared

// As many queries as leave registers for the rows and the weights.
#if defined(__AVX512F__)
constexpr size_t product_group = 12, term_group = 8;
#elif defined(__AVX2__)
constexpr size_t product_group = 6, term_group = 4;
#else
constexpr size_t product_group = 4, term_group = 2;
#endif

template <class T>
constexpr size_t panel_rows() { return packs * Pack<T>::width; }

template <class T>
size_t strip_rows(size_t d) {
    const size_t rows = strip_bytes / sizeof(T) / (d ? d : 1) / panel_rows<T>() * panel_rows<T>();
    return rows > strip_most ? strip_most : rows < panel_rows<T>() ? panel_rows<T>() : rows;
}

// Estimates of a panel (d, rows) and a group of queries (d, group). Returns whether any is within
// its limit; `within` says which, and `out` has a row of `stride` numbers for each query.
template <class T, int kind, size_t group>
inline bool estimate(const T* panel, const T* queries, const T* w, const T* half, size_t d,
                     const T* limits, uint32_t (*within)[packs], T* out, size_t stride) {
    using P = Pack<T>;
    P sums[group][packs];
#pragma GCC unroll 16
    for (size_t g = 0; g < group; ++g)
#pragma GCC unroll 2
        for (size_t r = 0; r < packs; ++r)
            sums[g][r] = kind == product ? P::load(half + r * P::width) : P::all(0);
    const auto add = [&](size_t j) {
        P x[packs];
#pragma GCC unroll 2
        for (size_t r = 0; r < packs; ++r) x[r] = P::load(panel + (j * packs + r) * P::width);
#pragma GCC unroll 16
        for (size_t g = 0; g < group; ++g) {
            const P q = P::all(queries[j * group + g]);
#pragma GCC unroll 2
            for (size_t r = 0; r < packs; ++r) {
                if constexpr (kind == product) sums[g][r] = P::minus_times(x[r], q, sums[g][r]);
                else sums[g][r] = plus_term<kind>(sums[g][r], x[r], q, P::all(w[j]));
            }
        }
    };
    const auto compare = [&] {
        uint32_t any = 0;
#pragma GCC unroll 16
        for (size_t g = 0; g < group; ++g) {
            const P limit = P::all(limits[g]);
#pragma GCC unroll 2
            for (size_t r = 0; r < packs; ++r)
                any |= within[g][r] = P::not_above(sums[g][r], limit);
        }
        return any != 0;
    };
    if constexpr (kind == product) {
        for (size_t j = 0; j < d; ++j) add(j);
    } else {
        size_t j = 0;
        for (; j + checked < d; j += checked) {
            for (size_t l = j; l < j + checked; ++l) add(l);
            if (!compare()) return false;
        }
        for (; j < d; ++j) add(j);
    }
    if (!compare()) return false;
    if (out != nullptr)
#pragma GCC unroll 16
        for (size_t g = 0; g < group; ++g)
#pragma GCC unroll 2
            for (size_t r = 0; r < packs; ++r) sums[g][r].store(out + g * stride + r * P::width);
    return true;
}

// Estimates of general powers, which are no packs: the loops of exp and log vectorise by themselves.
template <class T, size_t group>
void estimate_powers(const T* panel, const T* queries, const T* w, size_t d, T p, T* out,
                     size_t stride) {
    constexpr size_t rows = panel_rows<T>();
    for (size_t g = 0; g < group; ++g) {
        T* sums = out + g * stride;
        for (size_t l = 0; l < rows; ++l) sums[l] = 0;
        for (size_t j = 0; j < d; ++j) {
            const T q = queries[j * group + g], weight = w[j];
            const T* x = panel + j * rows;
            for (size_t l = 0; l < rows; ++l)
                sums[l] += weight * estimated_power(q < x[l] ? x[l] - q : q - x[l], p);
        }
    }
}

// The r-th smallest of n numbers, 1 <= r <= n; `heap` has room for r.
template <class T>
T smallest(const T* numbers, size_t n, size_t r, T* heap) {
    size_t size = 0;
    for (size_t i = 0; i < n; ++i) {
        const T x = numbers[i] == numbers[i] ? numbers[i] : static_cast<T>(INFINITY);
        size_t p;
        if (size < r) {
            for (p = size++; p > 0 && heap[(p - 1) / 2] < x; p = (p - 1) / 2)
                heap[p] = heap[(p - 1) / 2];
        } else {
            if (!(x < heap[0])) continue;
            for (p = 0;;) {
                size_t child = 2 * p + 1;
                if (child >= r) break;
                if (child + 1 < r && heap[child + 1] > heap[child]) ++child;
                if (!(heap[child] > x)) break;
                heap[p] = heap[child];
                p = child;
            }
        }
        heap[p] = x;
    }
    return heap[0];
}

// The work space of a search, in this order.
template <class T>
struct Work {
    T *queries, *strip, *half, *scores, *scale, *heap;
    double* norms;  // of the queries
};

constexpr size_t group_most = product_group > term_group ? product_group : term_group;

template <class T>
size_t work_size(size_t n, size_t d) {
    const size_t rows = strip_rows<T>(d);
    return (n + group_most) * d + rows * d + rows + group_most * rows + 2 * d + rows;
}

template <class T>
Work<T> divide(const RowQueries<T>& queries, T* work, double* norms) {
    const size_t d = queries.d, rows = strip_rows<T>(d);
    Work<T> out;
    out.queries = work;
    out.strip = out.queries + (queries.n + group_most) * d;
    out.half = out.strip + rows * d;
    out.scores = out.half + rows;
    out.scale = out.scores + group_most * rows;
    out.heap = out.scale + 2 * d;
    out.norms = norms;
    return out;
}

// Rows in panels of `width`, feature by feature, measured from the origin, and sums of their
// squares; `scale` may be null. Rows beyond the last are 0.
template <class T>
void pack_rows(const T* X, size_t n, size_t d, const SearchedRows<T>& rows, const T* scale,
               size_t width, T* out, double* squares, T* half) {
    constexpr size_t block = 16;  // features at a time, whose lines of the panel stay in the L1 cache
    for (size_t s = 0; s < n; s += width) {
        T* panel = out + s * d;
        const size_t count = n - s < width ? n - s : width;
        for (size_t b = 0; b < d; b += block) {
            const size_t end = d - b < block ? d : b + block;
            for (size_t l = 0; l < count; ++l) {
                const T* x = X + (s + l) * d;
                if (scale == nullptr)
                    for (size_t j = b; j < end; ++j) panel[j * width + l] = x[rows.features[j]];
                else
                    for (size_t j = b; j < end; ++j)
                        panel[j * width + l] = (x[j] - rows.origin[j]) * scale[j];
            }
            for (size_t j = b; j < end; ++j)
                for (size_t l = count; l < width; ++l) panel[j * width + l] = 0;
        }
        if (scale == nullptr) continue;
        for (size_t l = 0; l < count; ++l) {
            const T* x = X + (s + l) * d;
            double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            size_t j = 0;
            for (; j + 8 <= d; j += 8)
                for (size_t p = 0; p < 8; ++p) {
                    const double v = static_cast<double>((x[j + p] - rows.origin[j + p]) * scale[j + p]);
                    sums[p] += v * v;
                }
            for (; j < d; ++j) {
                const double v = static_cast<double>((x[j] - rows.origin[j]) * scale[j]);
                sums[0] += v * v;
            }
            const double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                               ((sums[4] + sums[5]) + (sums[6] + sums[7]));
            if (squares != nullptr) squares[s + l] = sum;
            if (half != nullptr) half[s + l] = static_cast<T>(sum / 2);
        }
    }
}

// What an estimate of a pair may be, given the limit of the exact sum.
template <class T, int kind>
struct Bound {
    const RowQueries<T>& queries;
    const double* norms;  // squared, of the queries
    const EstimateBound<T> terms;
    double longest = 0;  // row of the strip

    double noise(size_t i) const {
        const double size = sqrt(norms[i]) + longest;
        return (static_cast<double>(queries.d) + 16) *
               (Precision<T>::unit * size * size + Precision<T>::least);
    }
    T estimate(size_t i, double limit) const {
        if (!queries.safe) return static_cast<T>(INFINITY);
        if constexpr (kind != product) return terms.above(limit);
        const double most = (limit - norms[i]) / 2 + noise(i);
        const double up = most + (most < 0 ? -most : most) * 4 * Precision<T>::unit;
        return most < 3e38 || sizeof(T) == 8 ? static_cast<T>(up) : static_cast<T>(INFINITY);
    }
    // A limit of the exact sum that allows for all rows whose estimate is at most this.
    double limit(size_t i, T estimate) const {
        const double e = static_cast<double>(estimate);
        const double sum =
            kind == product ? norms[i] + 2 * (e + noise(i)) : static_cast<double>(terms.above(e));
        return sum_limit<T>(root_of(sum > 0 ? sum : 0, queries.norm) * (1 + 1e-12), queries.norm);
    }
};

template <class T, int kind, size_t group, class Keep>
void search_as(const RowQueries<T>& queries, const SearchedRows<T>& rows, Keep& keep, size_t first_rows,
               const Work<T>& work) {
    constexpr size_t width = panel_rows<T>();
    const size_t n = queries.n, d = queries.d, step = strip_rows<T>(d);
    const T* scale = nullptr;
    constexpr int norm = kind == product ? int(row_norm::squares) : kind;
    Bound<T, kind> bound{
        queries, work.norms, EstimateBound<T>(d, heaviest_of(queries.w, d), queries.norm)};
    T* w = work.scale + d;
    for (size_t j = 0; j < d; ++j) {
        work.scale[j] = static_cast<T>(sqrt(static_cast<double>(queries.w[j])));
        w[j] = queries.w[rows.features[j]];
    }
    if (kind == product) scale = work.scale;
    pack_rows<T>(queries.Q, n, d, rows, scale, group, work.queries, work.norms, nullptr);
    for (size_t i = 0; i < n; ++i) keep.begin(i);
    for (size_t s = 0; s < rows.m; s += step) {
        const size_t m = rows.m - s < step ? rows.m - s : step;
        pack_rows<T>(rows.X + s * d, m, d, rows, scale, width, work.strip, nullptr, work.half);
        double most = 0;
        if (kind == product)
            for (size_t i = 0; i < m; ++i)
                most = static_cast<double>(work.half[i]) > most ? work.half[i] : most;
        bound.longest = sqrt(2 * most) * (1 + 1e-6);
        for (size_t i = m; i % width; ++i) work.half[i] = 0;
        for (size_t i = 0; i < n; i += group) {
            const size_t count = n - i < group ? n - i : group;
            const T* packed = work.queries + i * d;
            double sums[group];
            T limits[group];
            uint32_t within[group][packs];
            // Rows come in the order of their indices, so that none is nearer than k equal ones.
            const auto limit_of = [&](size_t g) {
                return Keep::shrinks && keep.farthest(i + g) == 0 ? -1 : keep.limit(i + g);
            };
            const auto estimate_of = [&](size_t g) {
                return sums[g] < 0 ? -static_cast<T>(INFINITY) : bound.estimate(i + g, sums[g]);
            };
            const auto consider = [&](size_t g, size_t row) {
                const int64_t id = rows.first + static_cast<int64_t>(s + row);
                if (id == queries.own[i + g] || !keep.wants(i + g, id)) return;
                const double sum = exact_sum<norm>(queries.Q + (i + g) * d, rows.X + (s + row) * d,
                                                   1, queries.w, d, queries.norm.p);
                if (sum > sums[g]) return;
                keep.offer(i + g, id, exact_distance<T>(sum, queries.norm));
                if (!Keep::shrinks) return;
                const double limit = limit_of(g);
                sums[g] = limit < sums[g] ? limit : sums[g];
                limits[g] = estimate_of(g);
            };
            for (size_t g = 0; g < group; ++g) {
                sums[g] = g < count ? limit_of(g) : -1;
                limits[g] = estimate_of(g);
            }
            // In the first strip there are no limits yet, so that all its estimates are computed
            // and the nearest of them give limits.
            const bool first = Keep::shrinks && s == 0 && first_rows <= m && queries.safe;
            if (first || kind == row_norm::power) {
                for (size_t t = 0; t < m; t += width) {
                    if constexpr (kind == row_norm::power) {
                        estimate_powers<T, group>(work.strip + t * d, packed, w, d,
                                                  static_cast<T>(queries.norm.p), work.scores + t,
                                                  step);
                    } else {
                        T all[group];
                        for (size_t g = 0; g < group; ++g) all[g] = static_cast<T>(INFINITY);
                        estimate<T, kind, group>(work.strip + t * d, packed, w, work.half + t, d,
                                                 all, within, work.scores + t, step);
                    }
                }
                for (size_t g = 0; g < count; ++g) {
                    const T* scores = work.scores + g * step;
                    if (first && sums[g] >= 0) {
                        sums[g] = bound.limit(i + g, smallest(scores, m, first_rows, work.heap));
                        limits[g] = bound.estimate(i + g, sums[g]);
                    }
                    for (size_t row = 0; row < m; ++row)
                        if (!(scores[row] > limits[g])) consider(g, row);
                }
                continue;
            }
            for (size_t t = 0; t < m; t += width) {
                if (!estimate<T, kind, group>(work.strip + t * d, packed, w, work.half + t, d,
                                              limits, within, nullptr, 0))
                    continue;
                for (size_t g = 0; g < count; ++g)
                    for (size_t r = 0; r < packs; ++r)
                        for (uint32_t bits = within[g][r]; bits != 0; bits &= bits - 1) {
                            const size_t row = t + r * Pack<T>::width + lowest_bit(bits);
                            if (row < m) consider(g, row);
                        }
            }
        }
    }
    for (size_t i = 0; i < n; ++i) keep.end(i);
}

template <int K>
struct NormKind {
    static constexpr int value = K;
};

// run(NormKind<kind>()) for a kind that is known at run time.
template <class Run>
void by_kind(int kind, const Run& run) {
    switch (kind) {
        case row_norm::squares: return run(NormKind<row_norm::squares>());
        case row_norm::absolute: return run(NormKind<row_norm::absolute>());
        case row_norm::largest: return run(NormKind<row_norm::largest>());
        case row_norm::different: return run(NormKind<row_norm::different>());
        case row_norm::half: return run(NormKind<row_norm::half>());
        case row_norm::three_halves: return run(NormKind<row_norm::three_halves>());
        case row_norm::cubes: return run(NormKind<row_norm::cubes>());
        case row_norm::fourths: return run(NormKind<row_norm::fourths>());
        default: return run(NormKind<row_norm::power>());
    }
}

template <class T, class Keep>
void search(const RowQueries<T>& queries, const SearchedRows<T>& rows, Keep& keep, size_t first_rows,
            T* memory, double* norms) {
    const Work<T> work = divide<T>(queries, memory, norms);
    by_kind(queries.norm.kind, [&](auto norm) {
        constexpr bool squares = decltype(norm)::value == row_norm::squares;
        constexpr int kind = squares ? int(product) : int(decltype(norm)::value);
        constexpr size_t group = squares ? product_group : term_group;
        search_as<T, kind, group>(queries, rows, keep, first_rows, work);
    });
}

template <class T>
void nearest(const RowQueries<T>& queries, const SearchedRows<T>& rows, T* distances, int64_t* ids,
             size_t k, T* work, double* norms) {
    NearestRows<T> keep{distances, ids, k, queries.norm};
    search(queries, rows, keep, k + 1, work, norms);  // one more, as one may be the query itself
}

template <class T>
size_t within(const RowQueries<T>& queries, const SearchedRows<T>& rows, double radius,
              int64_t* queries_found, int64_t* ids, T* distances, size_t capacity, T* work,
              double* norms) {
    RowsWithin<T> keep{radius, queries_found, ids, distances, capacity, 0, queries.norm};
    search(queries, rows, keep, 0, work, norms);
    return keep.found;
}

template <class T>
void of_pairs(const RowQueries<T>& queries, const T* X, const int64_t* pairs, size_t count, T* out) {
    by_kind(queries.norm.kind, [&](auto norm) {
        for (size_t k = 0; k < count; ++k) {
            const T* q = queries.Q + size_t(pairs[2 * k]) * queries.d;
            const T* x = X + size_t(pairs[2 * k + 1]) * queries.d;
            const double sum = exact_sum<decltype(norm)::value>(q, x, 1, queries.w, queries.d,
                                                                queries.norm.p);
            out[k] = exact_distance<T>(sum, queries.norm);
        }
    });
}

template <class T>
void reach(const RowQueries<T>& queries, const SearchedRows<T>& rows, const Reach<T>& edges, T* work,
           double* norms) {
    ReachRows<T> keep{edges, queries.own, queries.norm};
    search(queries, rows, keep, SIZE_MAX, work, norms);  // the nearest rows may be of the same part
}

}  // namespace

extern const RowSearchLoops<float> row_search32;
extern const RowSearchLoops<double> row_search64;
constinit const RowSearchLoops<float> row_search32 = {work_size<float>, nearest<float>,
                                                      within<float>, of_pairs<float>, reach<float>};
constinit const RowSearchLoops<double> row_search64 = {work_size<double>, nearest<double>,
                                                       within<double>, of_pairs<double>, reach<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
