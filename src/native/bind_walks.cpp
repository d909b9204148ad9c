// Python bindings of walks.cpp: all pairs of two lists of graphs. All numbers that could lead to a
// wrong address are checked first.
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_starts(const List<const int64_t>& starts, size_t end) {
    bool ascend = starts.shape(0) >= 1 && starts.data()[0] == 0;
    for (size_t i = 1; ascend && i < starts.shape(0); ++i)
        ascend = starts.data()[i - 1] <= starts.data()[i];
    if (!ascend || uint64_t(starts.data()[starts.shape(0) - 1]) != end)
        throw std::out_of_range("starts must ascend from 0 to the number of entries");
}

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

// A list of graphs with a number for each label.
struct LabelledGraphs {
    const int64_t *nodes, *rows;
    const int32_t* to;
    const uint64_t *labels, *marks;
    size_t count, largest = 0;

    LabelledGraphs(const List<const int64_t>& node_starts, const List<const int64_t>& row_starts,
                   const List<const int32_t>& neighbours, const List<const uint64_t>& names,
                   const List<const uint64_t>& of_edges)
        : nodes(node_starts.data()), rows(row_starts.data()), to(neighbours.data()),
          labels(names.data()), marks(of_edges.shape(0) > 0 ? of_edges.data() : nullptr) {
        check_aligned(node_starts, row_starts, neighbours, names, of_edges);
        wants(marks == nullptr || of_edges.shape(0) == neighbours.shape(0),
              "marks must have one entry for each neighbour, or none");
        wants(row_starts.shape(0) >= 1, "row_starts must have N + 1 entries");
        wants(names.shape(0) + 1 == row_starts.shape(0), "labels must have one entry for each node");
        check_starts(node_starts, names.shape(0));
        check_starts(row_starts, neighbours.shape(0));
        count = node_starts.shape(0) - 1;
        for (size_t g = 0; g < count; ++g) {
            const int64_t size = nodes[g + 1] - nodes[g];
            largest = size > static_cast<int64_t>(largest) ? static_cast<size_t>(size) : largest;
            for (int64_t e = rows[nodes[g]]; e < rows[nodes[g + 1]]; ++e)
                if (to[e] < 0 || to[e] >= size)
                    throw std::out_of_range("neighbours must be nodes of the same graph");
        }
    }
    WalkGraph at(size_t g) const {
        return {rows + nodes[g], to, static_cast<size_t>(nodes[g + 1] - nodes[g]), marks};
    }
};

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
            WalkGraph x = X.at(i), z = Z.at(j);
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
