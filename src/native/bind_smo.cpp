// Python bindings of smo.cpp. Sizes and row numbers are checked here, since a wrong one would read
// past the end of an array.
#include "bind.hpp"

#include <stdexcept>

namespace mercer {
namespace {

template <class T>
const SmoLoops<T>& smo();
template <>
const SmoLoops<float>& smo<float>() { return loops->smo32; }
template <>
const SmoLoops<double>& smo<double>() { return loops->smo64; }

template <class T>
using Square = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Updated = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_within(const Rows& indices, size_t size, const char* message, bool negative = false) {
    for (size_t k = 0; k < indices.shape(0); ++k) {
        const int64_t index = indices.data()[k];
        if (index < 0 ? !negative : static_cast<size_t>(index) >= size)
            throw std::out_of_range(message);
    }
}

template <class T>
void bind_smo_as(nb::module_& m) {
    m.def(
        "smo_solve",
        [](Square<T> K, Values y, Values C, Updated alpha, Updated f, size_t split, double tol,
           double relative_tol, size_t max_steps) {
            const size_t n = y.shape(0);
            if (K.shape(0) != n || K.shape(1) != n || C.shape(0) != n || alpha.shape(0) != n ||
                f.shape(0) != n || split > n)
                throw std::invalid_argument(
                    "K must be (n, n), and y, C, alpha, f (n,); split must be within");
            check_aligned(K, y, C, alpha, f);
            const T* k = K.data();
            const double *labels = y.data(), *bounds = C.data();
            double *a = alpha.data(), *gradient = f.data();
            nb::gil_scoped_release release;
            return smo<T>().solve(k, labels, bounds, a, gradient, n, split, tol, relative_tol,
                                  max_steps);
        },
        nb::arg("K").noconvert(), nb::arg("y"), nb::arg("C"), nb::arg("alpha").noconvert(),
        nb::arg("f").noconvert(), nb::arg("split"), nb::arg("tol"), nb::arg("relative_tol"), nb::arg("max_steps"));
    m.def(
        "smo_block",
        [](Square<T> K, Rows rows, Rows columns, size_t begin, size_t end, Output<T> out) {
            const size_t count = rows.shape(0), width = K.shape(1);
            if (columns.shape(0) != count || out.shape(0) != count || out.shape(1) != count ||
                begin > end || end > count)
                throw std::invalid_argument(
                    "rows and columns must be alike, out square, and begin <= end within");
            check_aligned(K, rows, columns, out);
            check_within(rows, K.shape(0), "rows must be rows of K, or negative", true);
            check_within(columns, width, "columns must be columns of K");
            const T* k = K.data();
            const int64_t *r = rows.data(), *c = columns.data();
            T* values = out.data();
            nb::gil_scoped_release release;
            smo<T>().block(k, width, r, c, count, begin, end, values);
        },
        nb::arg("K").noconvert(), nb::arg("rows").noconvert(), nb::arg("columns").noconvert(),
        nb::arg("begin"), nb::arg("end"), nb::arg("out").noconvert());
    m.def(
        "smo_narrow",
        [](Output<T> K, size_t rows, Rows kept) {
            const size_t width = K.shape(1), count = kept.shape(0);
            if (rows > K.shape(0)) throw std::invalid_argument("rows must be rows of K");
            check_aligned(K, kept);
            check_within(kept, width, "kept must be columns of K");
            for (size_t k = 1; k < count; ++k)
                if (kept.data()[k] <= kept.data()[k - 1])
                    throw std::invalid_argument("kept must ascend");
            T* k = K.data();
            const int64_t* columns = kept.data();
            nb::gil_scoped_release release;
            smo<T>().narrow(k, rows, width, columns, count);
        },
        nb::arg("K").noconvert(), nb::arg("rows"), nb::arg("kept").noconvert());
    m.def(
        "smo_add_rows",
        [](Square<T> K, Rows rows, Values delta, Updated g, size_t begin, size_t end) {
            const size_t count = rows.shape(0), width = K.shape(1);
            if (delta.shape(0) != count || g.shape(0) != width || begin > end || end > width)
                throw std::invalid_argument("rows and delta must be alike, and g as wide as K");
            check_aligned(K, rows, delta, g);
            check_within(rows, K.shape(0), "rows must be rows of K");
            const T* k = K.data();
            const int64_t* indices = rows.data();
            const double* d = delta.data();
            double* out = g.data();
            nb::gil_scoped_release release;
            smo<T>().add_rows(k, width, indices, d, count, out, begin, end);
        },
        nb::arg("K").noconvert(), nb::arg("rows").noconvert(), nb::arg("delta"),
        nb::arg("g").noconvert(), nb::arg("begin"), nb::arg("end"));
}

}  // namespace

void bind_smo(nb::module_& m) {
    bind_smo_as<float>(m);
    bind_smo_as<double>(m);
}

}  // namespace mercer
