// Python bindings of series.cpp: a list of pairs of time series, put side by side in groups of
// similar lengths. All numbers that could lead to a wrong address are checked first.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using PairList = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr size_t lanes = series_lanes;
constexpr double endless = std::numeric_limits<double>::infinity();
constexpr int64_t longest_series = int64_t(1) << 26;  // products of lengths and windows are in range

// Series i is the points starts[i] .. starts[i + 1] - 1, at least one.
struct SeriesList {
    const double* points;
    const int64_t* starts;
    size_t count, d;

    SeriesList(const Points& p, const List<const int64_t>& s)
        : points(p.data()), starts(s.data()), count(s.shape(0) - 1), d(p.shape(1)) {
        check_aligned(p, s);
        if (s.shape(0) < 1 || d < 1) throw std::invalid_argument("starts must have n + 1 entries");
        bool right = starts[0] >= 0 && starts[count] <= static_cast<int64_t>(p.shape(0));
        for (size_t i = 0; i < count; ++i)
            right = right && starts[i] < starts[i + 1] &&
                    starts[i + 1] - starts[i] <= longest_series;
        if (!right) throw std::out_of_range("starts must grow and stay within the points");
    }
    const double* at(size_t i) const { return points + static_cast<size_t>(starts[i]) * d; }
    int64_t length(size_t i) const { return starts[i + 1] - starts[i]; }
};

// A window in points, or the share of the longer series: whatever is more; negative: no window.
struct Window {
    int64_t points;
    double share;

    int64_t of(int64_t n, int64_t m) const {
        if (points < 0) return -1;
        const double part = share * static_cast<double>(std::max(n, m));
        return std::max(std::min(points, longest_series), static_cast<int64_t>(part));
    }
};

struct PairsOfSeries {
    SeriesList X, Z;
    const int64_t* pairs;
    size_t count;

    PairsOfSeries(const SeriesList& X, const SeriesList& Z, const PairList& list)
        : X(X), Z(Z), pairs(list.data()), count(list.shape(0)) {
        check_aligned(list);
        if (X.d != Z.d) throw std::invalid_argument("series must have the same channels");
        for (size_t k = 0; k < count; ++k)
            if (pairs[2 * k] < 0 || pairs[2 * k] >= static_cast<int64_t>(X.count) ||
                pairs[2 * k + 1] < 0 || pairs[2 * k + 1] >= static_cast<int64_t>(Z.count))
                throw std::out_of_range("pairs must hold numbers of series");
    }
    size_t first(size_t k) const { return static_cast<size_t>(pairs[2 * k]); }
    size_t second(size_t k) const { return static_cast<size_t>(pairs[2 * k + 1]); }
};

void put(const SeriesList& S, size_t i, size_t lane, size_t longest, double* out) {
    const size_t n = static_cast<size_t>(S.length(i)), d = S.d;
    const double* points = S.at(i);
    for (size_t c = 0; c < d; ++c) out[c * lanes + lane] = 0;
    for (size_t k = 0; k < longest; ++k) {
        const double* point = points + std::min(k, n - 1) * d;
        double* place = out + (k + 1) * d * lanes + lane;
        for (size_t c = 0; c < d; ++c) place[c * lanes] = point[c];
    }
}

// run(group, numbers of the pairs, how many) for groups of pairs of similar lengths. Lanes that are
// left over repeat the last pair.
template <class Run>
void in_groups(const PairsOfSeries& P, const Window& window, const Run& run) {
    std::vector<size_t> order(P.count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const int64_t n = P.X.length(P.first(a)), m = P.X.length(P.first(b));
        return n != m ? n < m : P.Z.length(P.second(a)) < P.Z.length(P.second(b));
    });
    std::vector<double> x, z, work;
    for (size_t start = 0; start < P.count; start += lanes) {
        const size_t filled = std::min(lanes, P.count - start);
        size_t numbers[lanes];
        int64_t n[lanes], m[lanes], windows[lanes], rows = 0, columns = 0;
        for (size_t l = 0; l < lanes; ++l) {
            numbers[l] = order[start + std::min(l, filled - 1)];
            n[l] = P.X.length(P.first(numbers[l]));
            m[l] = P.Z.length(P.second(numbers[l]));
            windows[l] = window.of(n[l], m[l]);
            rows = std::max(rows, n[l]);
            columns = std::max(columns, m[l]);
        }
        const size_t d = P.X.d;
        x.resize((static_cast<size_t>(rows) + 1) * d * lanes);
        z.resize((static_cast<size_t>(columns) + 1) * d * lanes);
        work.resize(series_work(static_cast<size_t>(columns)));
        for (size_t l = 0; l < lanes; ++l) {
            put(P.X, P.first(numbers[l]), l, static_cast<size_t>(rows), x.data());
            put(P.Z, P.second(numbers[l]), l, static_cast<size_t>(columns), z.data());
        }
        const SeriesGroup group{x.data(), z.data(), n, m, static_cast<size_t>(rows),
                                static_cast<size_t>(columns), d, windows};
        run(group, numbers, filled, work.data());
    }
}

void warp_series(Points x, List<const int64_t> x_starts, Points z, List<const int64_t> z_starts,
                 PairList list, int kind, double first, double second, int64_t window,
                 double share, List<const double> limits, List<double> out) {
    check_aligned(limits, out);
    const PairsOfSeries pairs({x, x_starts}, {z, z_starts}, list);
    wants(kind >= 0 && kind <= 3, "kind must be in 0 .. 3");
    wants(share >= 0 && share <= 1, "share must be in 0 .. 1");
    wants(out.shape(0) == pairs.count, "out must have one entry for each pair");
    wants(limits.shape(0) == 0 || limits.shape(0) == pairs.count,
          "limits must have one entry for each pair, or none");
    wants(kind != static_cast<int>(Warp::msm) || pairs.X.d == 1, "msm is of one channel");
    const WarpTerms terms{static_cast<Warp>(kind), first, second};
    const double* most = limits.shape(0) ? limits.data() : nullptr;
    double* values = out.data();
    nb::gil_scoped_release release;
    const auto run = [&](const SeriesGroup& group, const size_t* numbers, size_t filled,
                         double* work) {
        double bounds[lanes], found[lanes];
        for (size_t l = 0; l < lanes; ++l) bounds[l] = most ? most[numbers[l]] : endless;
        loops->series.warp(group, terms, bounds, work, found);
        for (size_t l = 0; l < filled; ++l) {
            const bool apart = group.window[l] >= 0 &&
                               group.window[l] < std::max(group.n[l], group.m[l]) -
                                                     std::min(group.n[l], group.m[l]);
            values[numbers[l]] = apart ? endless : found[l];
        }
    };
    in_groups(pairs, {window, share}, run);
}

void path_sums(Points x, List<const int64_t> x_starts, Points z, List<const int64_t> z_starts,
               PairList list, double scale, int local, int64_t reach, List<double> out) {
    check_aligned(out);
    const PairsOfSeries pairs({x, x_starts}, {z, z_starts}, list);
    wants(scale >= 0 && reach >= 0, "scale and reach must be >= 0");
    wants(local >= 0 && local <= 2, "local must be in 0 .. 2");
    wants(out.shape(0) == pairs.count, "out must have one entry for each pair");
    const PathTerms terms{scale, static_cast<Local>(local), std::min(reach, longest_series)};
    double* values = out.data();
    nb::gil_scoped_release release;
    const auto run = [&](const SeriesGroup& group, const size_t* numbers, size_t filled,
                         double* work) {
        double found[lanes];
        loops->series.paths(group, terms, work, found);
        for (size_t l = 0; l < filled; ++l) values[numbers[l]] = found[l];
    };
    in_groups(pairs, {-1, 0}, run);
}

// Signature kernels of pairs; see signatures.hpp.
void signature_sums(Points x, List<const int64_t> x_starts, Points z,
                    List<const int64_t> z_starts, PairList list, double gamma, size_t levels,
                    size_t halvings_x, size_t halvings_z, List<double> out) {
    check_aligned(out);
    const PairsOfSeries pairs({x, x_starts}, {z, z_starts}, list);
    wants(levels <= 64 && halvings_x <= 12 && halvings_z <= 12, "at most 64 levels and 12 halvings");
    wants(out.shape(0) == pairs.count, "out must have one entry for each pair");
    const SignatureTerms terms{gamma, levels, halvings_x, halvings_z};
    double* values = out.data();
    nb::gil_scoped_release release;
    std::vector<double> own;
    const auto run = [&](const SeriesGroup& group, const size_t* numbers, size_t filled, double*) {
        double found[lanes];
        own.resize(signature_work(group.columns, group.d, terms));
        loops->signatures.sums(group, terms, own.data(), found);
        for (size_t l = 0; l < filled; ++l) values[numbers[l]] = found[l];
    };
    in_groups(pairs, {-1, 0}, run);
}

// Envelopes of all series of a list, point by point.
struct Envelopes {
    std::vector<double> low, high;

    Envelopes(const SeriesList& S, const Window& window)
        : low(static_cast<size_t>(S.starts[S.count]) * S.d), high(low.size()) {
        for (size_t i = 0; i < S.count; ++i) {
            const size_t place = static_cast<size_t>(S.starts[i]) * S.d;
            loops->series.envelope(S.at(i), static_cast<size_t>(S.length(i)), S.d,
                                   window.of(S.length(i), S.length(i)), low.data() + place,
                                   high.data() + place);
        }
    }
};

// out (n, m) <- numbers that squared DTW distances are not below: Keogh's bound from both sides for
// equal lengths, and else the costs of the first and the last cell.
void warp_bounds(Points x, List<const int64_t> x_starts, Points z, List<const int64_t> z_starts,
                 int64_t window, double share, Table out) {
    check_aligned(out);
    const SeriesList X(x, x_starts), Z(z, z_starts);
    wants(X.d == Z.d, "series must have the same channels");
    wants(share >= 0 && share <= 1, "share must be in 0 .. 1");
    wants(out.shape(0) == X.count && out.shape(1) == Z.count, "out must be (n, m)");
    double* values = out.data();
    const Window w{window, share};
    nb::gil_scoped_release release;
    const Envelopes of_x(X, w), of_z(Z, w);
    const auto gap = [&](const double* a, const double* b) {
        double sum = 0;
        for (size_t c = 0; c < X.d; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
        return sum;
    };
    for (size_t i = 0; i < X.count; ++i)
        for (size_t j = 0; j < Z.count; ++j) {
            const size_t n = static_cast<size_t>(X.length(i)), m = static_cast<size_t>(Z.length(j));
            const size_t a = static_cast<size_t>(X.starts[i]) * X.d;
            const size_t b = static_cast<size_t>(Z.starts[j]) * X.d;
            double& bound = values[i * Z.count + j];
            if (n == m) {
                const double* points = Z.at(j);
                bound = std::max(loops->series.outside(X.at(i), of_z.low.data() + b,
                                                       of_z.high.data() + b, n * X.d),
                                 loops->series.outside(points, of_x.low.data() + a,
                                                       of_x.high.data() + a, n * X.d));
            } else {
                bound = gap(X.at(i), Z.at(j)) +
                        gap(X.at(i) + (n - 1) * X.d, Z.at(j) + (m - 1) * X.d);
            }
        }
}

}  // namespace

void bind_series(nb::module_& m) {
    const auto lists = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("x").noconvert(), nb::arg("x_starts").noconvert(),
              nb::arg("z").noconvert(), nb::arg("z_starts").noconvert(), more...);
    };
    lists("warp_series", warp_series, nb::arg("pairs").noconvert(), nb::arg("kind"),
          nb::arg("first"), nb::arg("second"), nb::arg("window"), nb::arg("share"),
          nb::arg("limits").noconvert(), nb::arg("out").noconvert());
    lists("path_sums", path_sums, nb::arg("pairs").noconvert(), nb::arg("scale"),
          nb::arg("local"), nb::arg("reach"), nb::arg("out").noconvert());
    lists("signature_sums", signature_sums, nb::arg("pairs").noconvert(), nb::arg("gamma"),
          nb::arg("levels"), nb::arg("halvings_x"), nb::arg("halvings_z"),
          nb::arg("out").noconvert());
    lists("warp_bounds", warp_bounds, nb::arg("window"), nb::arg("share"),
          nb::arg("out").noconvert());
}

}  // namespace mercer
