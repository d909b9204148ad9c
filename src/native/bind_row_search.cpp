// Python bindings of row_search.cpp and kd_tree.cpp. Shapes are checked here, because with a wrong
// shape the loops would read past the end of an array.
#include <cmath>
#include <utility>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const RowSearchLoops<T>& rows_of();
template <>
const RowSearchLoops<float>& rows_of<float>() { return loops->row_search32; }
template <>
const RowSearchLoops<double>& rows_of<double>() { return loops->row_search64; }

template <class T>
const KdTreeLoops<T>& tree_of();
template <>
const KdTreeLoops<float>& tree_of<float>() { return loops->kd_tree32; }
template <>
const KdTreeLoops<double>& tree_of<double>() { return loops->kd_tree64; }

template <class T, size_t axes>
using Tensor = nb::ndarray<T, nb::ndim<axes>, nb::c_contig, nb::device::cpu>;

void require(bool right, const char* shapes) {
    if (!right) throw std::invalid_argument(shapes);
}

RowNorm norm_of(double p) {
    const std::pair<double, row_norm::Kind> known[] = {
        {0, row_norm::different}, {0.5, row_norm::half},  {1, row_norm::absolute},
        {1.5, row_norm::three_halves}, {2, row_norm::squares}, {3, row_norm::cubes},
        {4, row_norm::fourths}, {INFINITY, row_norm::largest}};
    const double exponent = p == 0 || std::isinf(p) ? 1 : p;
    for (const auto& [power, kind] : known)
        if (p == power) return {kind, p, exponent};
    return {row_norm::power, p, exponent};
}

template <class T>
using Weights = Tensor<const T, 1>;
using Ids = Tensor<const int64_t, 1>;

template <class T>
RowQueries<T> queries_of(const Tensor<const T, 2>& Q, const Weights<T>& w, const Ids& own, double p,
                         bool safe, size_t d) {
    require(Q.shape(1) == d && w.shape(0) == d && own.shape(0) == Q.shape(0),
            "shapes must be Q (n, d), w (d,), own (n,), and the training rows need d columns");
    check_aligned(Q, w, own);
    return {Q.data(), w.data(), own.data(), Q.shape(0), d, norm_of(p), safe};
}

template <class T>
SearchedRows<T> rows_from(const Tensor<const T, 2>& X, const Weights<T>& origin,
                          const Tensor<const int32_t, 1>& features, int64_t first) {
    const size_t d = X.shape(1);
    require(origin.shape(0) == d && features.shape(0) == d,
            "shapes must be X (m, d), origin (d,), features (d,)");
    check_aligned(X, origin, features);
    for (size_t j = 0; j < d; ++j)
        require(features.data()[j] >= 0 && static_cast<size_t>(features.data()[j]) < d,
                "features must be in 0, ..., d - 1");
    return {X.data(), origin.data(), features.data(), X.shape(0), first};
}

template <class T>
KdTree<T> tree_from(const Tensor<const T, 3>& rows, const Ids& order,
                    const Tensor<const int32_t, 1>& features, const Tensor<const T, 2>& bounds,
                    const Tensor<const T, 2>& box) {
    const size_t n = order.shape(0), leaves = rows.shape(0), d = rows.shape(1);
    require(n >= 1 && rows.shape(2) == kd_leaf_rows &&
                leaves == (n + kd_leaf_rows - 1) / kd_leaf_rows && features.shape(0) == leaves - 1 &&
                bounds.shape(0) == leaves - 1 && bounds.shape(1) == 2 && box.shape(0) == 2 &&
                box.shape(1) == d,
            "shapes must be rows (leaves, d, 16), order (n,), features (leaves - 1,), bounds "
            "(leaves - 1, 2), box (2, d), leaves = ceil(n / 16)");
    check_aligned(rows, order, features, bounds, box);
    for (size_t node = 0; node + 1 < leaves; ++node)  // a tree may come from a file
        require(features.data()[node] >= 0 && static_cast<size_t>(features.data()[node]) < d,
                "features must be in 0, ..., d - 1");
    return {rows.data(), order.data(), features.data(), bounds.data(), box.data(), n, leaves};
}

template <class T>
struct Found {
    int64_t* queries;
    int64_t* ids;
    T* distances;
    size_t capacity;
};

template <class T>
Found<T> found_of(const Tensor<int64_t, 1>& queries, const Tensor<int64_t, 1>& ids,
                  const Tensor<T, 1>& distances) {
    require(queries.shape(0) == ids.shape(0) && ids.shape(0) == distances.shape(0),
            "queries, ids and distances must have one length");
    check_aligned(queries, ids, distances);
    return {queries.data(), ids.data(), distances.data(), ids.shape(0)};
}

template <class T>
void check_kept(const Tensor<T, 2>& distances, const Tensor<int64_t, 2>& ids, size_t n) {
    require(distances.shape(0) == n && ids.shape(0) == n && distances.shape(1) == ids.shape(1) &&
                ids.shape(1) >= 1,
            "shapes must be distances (n, k), ids (n, k), k >= 1");
    check_aligned(distances, ids);
}

// Cores, parts, lengths, ids and limits of all n rows; whole and least of the nodes of a tree.
Reach<double> edges_of(const Ids& own, const Tensor<const double, 1>& core, const Ids& part,
                       const Ids& whole, const Tensor<const double, 1>& least,
                       const Tensor<double, 1>& lengths, const Tensor<int64_t, 1>& ids,
                       const Tensor<double, 1>& limits, size_t nodes) {
    const size_t n = core.shape(0);
    require(part.shape(0) == n && lengths.shape(0) == n && ids.shape(0) == n &&
                limits.shape(0) == n && whole.shape(0) == nodes && least.shape(0) == nodes,
            "shapes must be core, part, lengths, ids, limits (n,), whole and least (nodes,)");
    check_aligned(core, part, whole, least, lengths, ids, limits);
    for (size_t i = 0; i < own.shape(0); ++i)
        require(own.data()[i] >= 0 && static_cast<size_t>(own.data()[i]) < n,
                "queries must be training rows");
    for (size_t i = 0; i < n; ++i)
        require(part.data()[i] >= 0 && static_cast<size_t>(part.data()[i]) < n,
                "parts must be in 0, ..., n - 1");
    return {core.data(), part.data(), whole.data(), least.data(),
            lengths.data(), ids.data(), limits.data()};
}

void bind_reach(nb::module_& m) {
    const auto rows_reach = [](Tensor<const double, 2> Q, Ids own, Tensor<const double, 2> X,
                               int64_t first, Weights<double> w, Weights<double> origin,
                               Tensor<const int32_t, 1> features, double p, bool safe,
                               Tensor<const double, 1> core, Ids part, Ids whole,
                               Tensor<const double, 1> least, Tensor<double, 1> lengths,
                               Tensor<int64_t, 1> ids, Tensor<double, 1> limits) {
        const auto queries = queries_of<double>(Q, w, own, p, safe, X.shape(1));
        const auto rows = rows_from<double>(X, origin, features, first);
        require(first == 0 && rows.m == core.shape(0), "X must have all rows");
        const auto edges = edges_of(own, core, part, whole, least, lengths, ids, limits, 0);
        nb::gil_scoped_release release;
        std::vector<double> work(rows_of<double>().work_size(queries.n, queries.d));
        std::vector<double> norms(queries.n);
        rows_of<double>().reach(queries, rows, edges, work.data(), norms.data());
    };
    m.def("rows_reach", rows_reach, nb::arg("Q").noconvert(), nb::arg("own"),
          nb::arg("X").noconvert(), nb::arg("first"), nb::arg("w"), nb::arg("origin"),
          nb::arg("features"), nb::arg("p"), nb::arg("safe"), nb::arg("core"), nb::arg("part"), nb::arg("whole"), nb::arg("least"),
          nb::arg("lengths").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("limits").noconvert());
    const auto kd_reach = [](Tensor<const double, 3> rows, Ids order,
                             Tensor<const int32_t, 1> features, Tensor<const double, 2> bounds,
                             Tensor<const double, 2> box, Tensor<const double, 2> Q, Ids own,
                             Weights<double> w, double p, bool safe, Tensor<const double, 1> core,
                             Ids part, Ids whole, Tensor<const double, 1> least,
                             Tensor<double, 1> lengths, Tensor<int64_t, 1> ids,
                             Tensor<double, 1> limits) {
        const auto tree = tree_from<double>(rows, order, features, bounds, box);
        const auto queries = queries_of<double>(Q, w, own, p, safe, rows.shape(1));
        require(tree.n == core.shape(0), "core must be (n,)");
        for (size_t i = 0; i < tree.n; ++i)
            require(order.data()[i] >= 0 && static_cast<size_t>(order.data()[i]) < tree.n,
                    "order must be of 0, ..., n - 1");
        const auto edges =
            edges_of(own, core, part, whole, least, lengths, ids, limits, 2 * tree.leaves - 1);
        nb::gil_scoped_release release;
        std::vector<double> work(queries.d);
        tree_of<double>().reach(tree, queries, edges, work.data());
    };
    m.def("kd_reach", kd_reach, nb::arg("rows").noconvert(), nb::arg("order").noconvert(),
          nb::arg("features").noconvert(), nb::arg("bounds").noconvert(),
          nb::arg("box").noconvert(), nb::arg("Q").noconvert(), nb::arg("own"), nb::arg("w"),
          nb::arg("p"), nb::arg("safe"), nb::arg("core"), nb::arg("part"), nb::arg("whole"), nb::arg("least"),
          nb::arg("lengths").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("limits").noconvert());
}

template <class T>
void bind_rows_as(nb::module_& m) {
    const auto nearest = [](Tensor<const T, 2> Q, Ids own, Tensor<const T, 2> X, int64_t first,
                            Weights<T> w, Weights<T> origin, Tensor<const int32_t, 1> features,
                            double p, bool safe, Tensor<T, 2> distances, Tensor<int64_t, 2> ids) {
        const auto queries = queries_of<T>(Q, w, own, p, safe, X.shape(1));
        const auto rows = rows_from<T>(X, origin, features, first);
        check_kept<T>(distances, ids, queries.n);
        T* kept = distances.data();
        int64_t* kept_ids = ids.data();
        const size_t k = ids.shape(1);
        nb::gil_scoped_release release;
        std::vector<T> work(rows_of<T>().work_size(queries.n, queries.d));
        std::vector<double> norms(queries.n);
        rows_of<T>().nearest(queries, rows, kept, kept_ids, k, work.data(), norms.data());
    };
    m.def("nearest_rows", nearest, nb::arg("Q").noconvert(), nb::arg("own"),
          nb::arg("X").noconvert(), nb::arg("first"), nb::arg("w"), nb::arg("origin"),
          nb::arg("features"), nb::arg("p"), nb::arg("safe"), nb::arg("distances").noconvert(),
          nb::arg("ids").noconvert());
    const auto within = [](Tensor<const T, 2> Q, Ids own, Tensor<const T, 2> X, int64_t first,
                           Weights<T> w, Weights<T> origin, Tensor<const int32_t, 1> features,
                           double p, bool safe, double radius, Tensor<int64_t, 1> queries_found,
                           Tensor<int64_t, 1> ids, Tensor<T, 1> distances) {
        const auto queries = queries_of<T>(Q, w, own, p, safe, X.shape(1));
        const auto rows = rows_from<T>(X, origin, features, first);
        const auto found = found_of<T>(queries_found, ids, distances);
        nb::gil_scoped_release release;
        std::vector<T> work(rows_of<T>().work_size(queries.n, queries.d));
        std::vector<double> norms(queries.n);
        return rows_of<T>().within(queries, rows, radius, found.queries, found.ids, found.distances,
                                   found.capacity, work.data(), norms.data());
    };
    const auto of_pairs = [](Tensor<const T, 2> Q, Tensor<const T, 2> X, Weights<T> w, double p,
                             Tensor<const int64_t, 2> pairs, Tensor<T, 1> out) {
        const size_t n = Q.shape(0), d = Q.shape(1), m = X.shape(0), count = pairs.shape(0);
        require(X.shape(1) == d && w.shape(0) == d && pairs.shape(1) == 2 && out.shape(0) == count,
                "shapes must be Q (n, d), X (m, d), w (d,), pairs (k, 2), out (k,)");
        check_aligned(Q, X, w, pairs, out);
        const int64_t* both = pairs.data();
        for (size_t k = 0; k < count; ++k)
            require(both[2 * k] >= 0 && static_cast<size_t>(both[2 * k]) < n &&
                        both[2 * k + 1] >= 0 && static_cast<size_t>(both[2 * k + 1]) < m,
                    "pairs must hold numbers of rows");
        const RowQueries<T> queries{Q.data(), w.data(), nullptr, n, d, norm_of(p), true};
        const T* rows = X.data();
        T* distances = out.data();
        nb::gil_scoped_release release;
        rows_of<T>().of_pairs(queries, rows, both, count, distances);
    };
    m.def("rows_of_pairs", of_pairs, nb::arg("Q").noconvert(), nb::arg("X").noconvert(),
          nb::arg("w"), nb::arg("p"), nb::arg("pairs").noconvert(), nb::arg("out").noconvert());
    m.def("rows_within", within, nb::arg("Q").noconvert(), nb::arg("own"),
          nb::arg("X").noconvert(), nb::arg("first"), nb::arg("w"), nb::arg("origin"),
          nb::arg("features"), nb::arg("p"), nb::arg("safe"), nb::arg("radius"),
          nb::arg("queries").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("distances").noconvert());
}

template <class T>
void bind_tree_as(nb::module_& m) {
    const auto build = [](Tensor<const T, 2> X, Tensor<const double, 1> scale,
                          Tensor<int64_t, 1> order, Tensor<int32_t, 1> features,
                          Tensor<T, 2> bounds) {
        const size_t n = X.shape(0), d = X.shape(1);
        const size_t leaves = (n + kd_leaf_rows - 1) / kd_leaf_rows;
        require(n >= 1 && d >= 1 && scale.shape(0) == d && order.shape(0) == n &&
                    features.shape(0) == leaves - 1 && bounds.shape(0) == leaves - 1 &&
                    bounds.shape(1) == 2,
                "shapes must be X (n, d), scale (d,), order (n,), features (leaves - 1,), bounds "
                "(leaves - 1, 2), leaves = ceil(n / 16)");
        check_aligned(X, scale, order, features, bounds);
        const T* rows = X.data();
        const double* scales = scale.data();
        int64_t* places = order.data();
        int32_t* columns = features.data();
        T* ends = bounds.data();
        nb::gil_scoped_release release;
        std::vector<T> keys(n);
        tree_of<T>().build(rows, scales, n, d, places, columns, ends, keys.data());
    };
    m.def("kd_build", build, nb::arg("X").noconvert(), nb::arg("scale"),
          nb::arg("order").noconvert(), nb::arg("features").noconvert(),
          nb::arg("bounds").noconvert());
    const auto leaves = [](Tensor<const T, 3> rows, Ids order, Tensor<const int32_t, 1> features,
                           Tensor<const T, 2> bounds, Tensor<const T, 2> box, Tensor<const T, 2> Q,
                           Tensor<int64_t, 1> leaf) {
        const auto tree = tree_from<T>(rows, order, features, bounds, box);
        const size_t n = Q.shape(0), d = Q.shape(1);
        require(d == rows.shape(1) && leaf.shape(0) == n, "shapes must be Q (n, d), leaf (n,)");
        check_aligned(Q, leaf);
        const T* points = Q.data();
        int64_t* out = leaf.data();
        nb::gil_scoped_release release;
        tree_of<T>().leaves(tree, points, n, d, out);
    };
    m.def("kd_leaves", leaves, nb::arg("rows").noconvert(), nb::arg("order").noconvert(),
          nb::arg("features").noconvert(), nb::arg("bounds").noconvert(),
          nb::arg("box").noconvert(), nb::arg("Q").noconvert(), nb::arg("leaf").noconvert());
    const auto nearest = [](Tensor<const T, 3> rows, Ids order, Tensor<const int32_t, 1> features,
                            Tensor<const T, 2> bounds, Tensor<const T, 2> box,
                            Tensor<const T, 2> Q, Ids own, Weights<T> w, double p, bool safe,
                            Tensor<T, 2> distances, Tensor<int64_t, 2> ids) {
        const auto tree = tree_from<T>(rows, order, features, bounds, box);
        const auto queries = queries_of<T>(Q, w, own, p, safe, rows.shape(1));
        check_kept<T>(distances, ids, queries.n);
        T* kept = distances.data();
        int64_t* kept_ids = ids.data();
        const size_t k = ids.shape(1);
        nb::gil_scoped_release release;
        std::vector<double> work(queries.d);
        return tree_of<T>().nearest(tree, queries, kept, kept_ids, k, work.data());
    };
    m.def("kd_nearest", nearest, nb::arg("rows").noconvert(), nb::arg("order").noconvert(),
          nb::arg("features").noconvert(), nb::arg("bounds").noconvert(),
          nb::arg("box").noconvert(), nb::arg("Q").noconvert(), nb::arg("own"), nb::arg("w"),
          nb::arg("p"), nb::arg("safe"), nb::arg("distances").noconvert(),
          nb::arg("ids").noconvert());
    const auto within = [](Tensor<const T, 3> rows, Ids order, Tensor<const int32_t, 1> features,
                           Tensor<const T, 2> bounds, Tensor<const T, 2> box, Tensor<const T, 2> Q,
                           Ids own, Weights<T> w, double p, bool safe, double radius,
                           Tensor<int64_t, 1> queries_found, Tensor<int64_t, 1> ids,
                           Tensor<T, 1> distances) {
        const auto tree = tree_from<T>(rows, order, features, bounds, box);
        const auto queries = queries_of<T>(Q, w, own, p, safe, rows.shape(1));
        const auto found = found_of<T>(queries_found, ids, distances);
        nb::gil_scoped_release release;
        std::vector<double> work(queries.d);
        return tree_of<T>().within(tree, queries, radius, found.queries, found.ids, found.distances,
                                   found.capacity, work.data());
    };
    m.def("kd_within", within, nb::arg("rows").noconvert(), nb::arg("order").noconvert(),
          nb::arg("features").noconvert(), nb::arg("bounds").noconvert(),
          nb::arg("box").noconvert(), nb::arg("Q").noconvert(), nb::arg("own"), nb::arg("w"),
          nb::arg("p"), nb::arg("safe"), nb::arg("radius"), nb::arg("queries").noconvert(),
          nb::arg("ids").noconvert(), nb::arg("distances").noconvert());
}

}  // namespace

void bind_row_search(nb::module_& m) {
    bind_rows_as<float>(m);
    bind_rows_as<double>(m);
    bind_tree_as<float>(m);
    bind_tree_as<double>(m);
    bind_reach(m);
}

}  // namespace mercer
