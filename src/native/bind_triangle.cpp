// Python bindings of triangle.cpp.
#include "bind.hpp"

namespace mercer {
namespace {

using Strip = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

}  // namespace

void bind_triangle(nb::module_& m) {
    m.def(
        "triangle_add_strip",
        [](Strip A, Strip V, Sums out) {
            const size_t h = A.shape(0), w = A.shape(1), c = V.shape(1);
            check_aligned(A, V, out);
            wants(h <= w, "A must have a column for each of its rows");
            wants(V.shape(0) == w && out.shape(0) == w, "V and out must have a row for each column of A");
            wants(out.shape(1) == c, "out must have the columns of V");
            wants(c % 16 == 0, "V must have a multiple of 16 columns");
            const float *a = A.data(), *v = V.data();
            double* sums = out.data();
            nb::gil_scoped_release release;
            loops->triangles.add_strip(a, h, w, v, c, sums);
        },
        nb::arg("A").noconvert(), nb::arg("V").noconvert(), nb::arg("out").noconvert());
}

}  // namespace mercer
