// Python bindings of walks.cpp: all pairs of two lists of graphs. All numbers that could lead to a
// wrong address are checked first.
#include <vector>

#include "bind_labelled_graphs.hpp"

namespace mercer {
namespace {

// out[i, j] <- the sum over eigenvalues a of graph i and b of graph j of p q / (1 - decay a b). Rows
// of values are pairs (a, p). With `upper` only j >= i is computed, and with `own` only j = i, in one column.
void walk_sums(List<const double> a, List<const double> p, List<const int64_t> x_starts,
               List<const double> b, List<const double> q, List<const int64_t> z_starts,
               double decay, bool upper, bool own, Table<double> out) {
    check_aligned(a, p, x_starts, b, q, z_starts, out);
    wants(a.shape(0) == p.shape(0) && b.shape(0) == q.shape(0), "one weight for each eigenvalue");
    check_starts(x_starts, a.shape(0));
    check_starts(z_starts, b.shape(0));
    const size_t n = x_starts.shape(0) - 1, m = z_starts.shape(0) - 1;
    wants(out.shape(0) == n && out.shape(1) == (own ? 1 : m), "out must be (n, m)");
    wants(!own || n == m, "own values need the same graphs on both sides");
    const int64_t *s = x_starts.data(), *t = z_starts.data();
    const double *av = a.data(), *pv = p.data(), *bv = b.data(), *qv = q.data();
    double* values = out.data();
    nb::gil_scoped_release release;
    const size_t width = own ? 1 : m;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = own || upper ? i : 0; j < (own ? i + 1 : m); ++j)
            values[i * width + (own ? 0 : j)] = loops->walks.spectral(
                av + s[i], pv + s[i], static_cast<size_t>(s[i + 1] - s[i]), bv + t[j], qv + t[j],
                static_cast<size_t>(t[j + 1] - t[j]), decay);
}

WalkGraph graph_of(const LabelledGraphs& X, size_t g) {
    return {X.rows + X.nodes[g], X.to, static_cast<size_t>(X.nodes[g + 1] - X.nodes[g]), X.marks};
}

void labelled_walks(List<const int64_t> x_nodes, List<const int64_t> x_rows,
                    List<const int32_t> x_neighbours, List<const uint64_t> x_labels,
                    List<const uint64_t> x_marks, List<const int64_t> z_nodes,
                    List<const int64_t> z_rows, List<const int32_t> z_neighbours,
                    List<const uint64_t> z_labels, List<const uint64_t> z_marks, double decay,
                    size_t steps, bool symmetric, bool upper, bool own, Table<double> out) {
    check_aligned(out);
    const LabelledGraphs X(x_nodes, x_rows, x_neighbours, x_labels, x_marks);
    const LabelledGraphs Z(z_nodes, z_rows, z_neighbours, z_labels, z_marks);
    // lists without any edge have no marks, and need none
    wants((X.marks == nullptr) == (Z.marks == nullptr) || x_neighbours.shape(0) == 0 ||
              z_neighbours.shape(0) == 0,
          "both sides need marks of edges, or none");
    wants(out.shape(0) == X.count && out.shape(1) == (own ? 1 : Z.count), "out must be (n, m)");
    wants(!own || X.count == Z.count, "own values need the same graphs on both sides");
    double* values = out.data();
    const size_t m = out.shape(1);
    nb::gil_scoped_release release;
    std::vector<double> mask, work;
    const WalkTerms terms{decay, steps, symmetric};
    for (size_t i = 0; i < X.count; ++i) {
        const size_t end = own ? i + 1 : m;
        for (size_t j = own || upper ? i : 0; j < end; ++j) {
            WalkGraph x = graph_of(X, i), z = graph_of(Z, j);
            if (z.marks == nullptr) x.marks = nullptr;
            const size_t size = x.n * z.n;
            if (mask.size() < size) {
                mask.resize(size);
                work.resize(5 * size);
            }
            for (size_t u = 0; u < x.n; ++u)
                for (size_t v = 0; v < z.n; ++v)
                    mask[u * z.n + v] = X.labels[static_cast<size_t>(X.nodes[i]) + u] ==
                                        Z.labels[static_cast<size_t>(Z.nodes[j]) + v];
            values[i * m + (own ? 0 : j)] =
                size == 0 ? 0 : loops->walks.labelled(x, z, mask.data(), terms, work.data());
        }
    }
}

}  // namespace

void bind_walks(nb::module_& m) {
    m.def("walk_sums", walk_sums, nb::arg("a").noconvert(), nb::arg("p").noconvert(),
          nb::arg("x_starts").noconvert(), nb::arg("b").noconvert(), nb::arg("q").noconvert(),
          nb::arg("z_starts").noconvert(), nb::arg("decay"), nb::arg("upper"),
          nb::arg("own"), nb::arg("out").noconvert());
    m.def("labelled_walks", labelled_walks, nb::arg("x_nodes").noconvert(),
          nb::arg("x_rows").noconvert(), nb::arg("x_neighbours").noconvert(),
          nb::arg("x_labels").noconvert(), nb::arg("x_marks").noconvert(), nb::arg("z_nodes").noconvert(),
          nb::arg("z_rows").noconvert(), nb::arg("z_neighbours").noconvert(),
          nb::arg("z_labels").noconvert(), nb::arg("z_marks").noconvert(), nb::arg("decay"), nb::arg("steps"),
          nb::arg("symmetric"), nb::arg("upper"), nb::arg("own"), nb::arg("out").noconvert());
}

}  // namespace mercer
