// Python bindings of bins.cpp.
#include <nanobind/stl/optional.h>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using WrittenMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Every code stands in a table of this size. One pass over bytes is a small part of the work.
template <class Code>
void check_codes(const Code* codes, size_t n, size_t size) {
    Code most = 0;
    for (size_t i = 0; i < n; ++i) most = codes[i] > most ? codes[i] : most;
    wants(n == 0 || most < size, "codes must be less than the size of the table");
}

template <class T>
void bind_search(nb::module_& m, const BinSearchLoops<T>& (*table)()) {
    m.def(
        "search_bins",
        [table](Matrix<T> X, Matrix<T> edges, Vector<uint8_t> gaps, WrittenMatrix<uint8_t> codes,
                size_t start) {
            const size_t n = X.shape(0), d = X.shape(1), total = codes.shape(1);
            check_aligned(X, edges);
            wants(edges.shape(0) == d && edges.shape(1) == 255, "edges must have shape (d, 255)");
            wants(gaps.shape(0) == d && codes.shape(0) == d, "gaps and codes must have d rows");
            wants(start <= total && n <= total - start, "codes must have a place for each row");
            const T *x = X.data(), *e = edges.data();
            const uint8_t* g = gaps.data();
            uint8_t* out = codes.data() + start;
            nb::gil_scoped_release release;
            table().search(x, n, d, e, g, out, total);
        },
        nb::arg("X").noconvert(), nb::arg("edges").noconvert(), nb::arg("gaps").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("start") = 0);
}

template <class Code>
void bind_codes(nb::module_& m, const BinLoops<Code>& (*table)()) {
    m.def(
        "add_bin_sums",
        [table](Vector<Code> codes, Vector<double> v, Written<double> out) {
            const size_t n = codes.shape(0);
            check_aligned(codes, v, out);
            wants(v.shape(0) == n, "v must have a number for each code");
            const Code* c = codes.data();
            const double* values = v.data();
            double* sums = out.data();
            const size_t size = out.shape(0);
            nb::gil_scoped_release release;
            check_codes(c, n, size);
            table().add_sums(c, values, n, sums);
        },
        nb::arg("codes").noconvert(), nb::arg("v").noconvert(), nb::arg("out").noconvert());
    m.def(
        "add_bin_reads",
        [table](Vector<Code> codes, Vector<double> values, Written<double> out) {
            const size_t n = codes.shape(0);
            check_aligned(codes, values, out);
            wants(out.shape(0) == n, "out must have a number for each code");
            const Code* c = codes.data();
            const double* read = values.data();
            double* sums = out.data();
            const size_t size = values.shape(0);
            nb::gil_scoped_release release;
            check_codes(c, n, size);
            table().add_reads(c, read, n, sums);
        },
        nb::arg("codes").noconvert(), nb::arg("values").noconvert(), nb::arg("out").noconvert());
}

}  // namespace

void bind_bins(nb::module_& m) {
    bind_search<float>(m, +[]() -> const BinSearchLoops<float>& { return loops->bin_search32; });
    bind_search<double>(m, +[]() -> const BinSearchLoops<double>& { return loops->bin_search64; });
    bind_codes<uint8_t>(m, +[]() -> const BinLoops<uint8_t>& { return loops->bins8; });
    bind_codes<uint16_t>(m, +[]() -> const BinLoops<uint16_t>& { return loops->bins16; });
    m.def(
        "add_pair_table",
        [](Vector<uint8_t> a, Vector<uint8_t> b, std::optional<Vector<double>> w,
           WrittenMatrix<double> out) {
            const size_t n = a.shape(0), height = out.shape(0), width = out.shape(1);
            check_aligned(out);
            wants(b.shape(0) == n, "a and b must have the same number of codes");
            const double* weights = nullptr;
            if (w.has_value()) {
                check_aligned(*w);
                wants(w->shape(0) == n, "w must have a number for each code");
                weights = w->data();
            }
            const uint8_t *rows = a.data(), *columns = b.data();
            double* table = out.data();
            nb::gil_scoped_release release;
            check_codes(rows, n, height);
            check_codes(columns, n, width);
            loops->column_pairs.add_pairs(rows, columns, weights, n, table, width);
        },
        nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("out").noconvert());
    m.def(
        "pair_cells",
        [](Vector<uint8_t> a, Vector<uint8_t> b, size_t width, Written<uint16_t> cells) {
            const size_t n = a.shape(0);
            check_aligned(cells);
            wants(b.shape(0) == n && cells.shape(0) == n, "there must be as many cells as codes");
            wants(width > 0 && width <= 256, "width must be 1 to 256");
            const uint8_t *rows = a.data(), *columns = b.data();
            uint16_t* out = cells.data();
            nb::gil_scoped_release release;
            loops->column_pairs.cells(rows, columns, n, uint16_t(width), out);
        },
        nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("width"),
        nb::arg("cells").noconvert());
    m.def(
        "laplacian_product",
        [](Vector<double> decay, Vector<double> v, Written<double> out) {
            const size_t n = v.shape(0);
            check_aligned(decay, v, out);
            wants(out.shape(0) == n && decay.shape(0) + 1 == n, "decay must have one number less");
            const double *steps = decay.data(), *values = v.data();
            double* sums = out.data();
            nb::gil_scoped_release release;
            loops->column_pairs.laplacian(steps, values, n, sums);
        },
        nb::arg("decay").noconvert(), nb::arg("v").noconvert(), nb::arg("out").noconvert());
}

}  // namespace mercer
