// Python bindings of arc_cosine.cpp.
#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const ArcCosineLoops<T>& arc_cosines();
template <>
const ArcCosineLoops<float>& arc_cosines<float>() { return loops->arc_cosine32; }
template <>
const ArcCosineLoops<double>& arc_cosines<double>() { return loops->arc_cosine64; }

template <class T>
void bind_arc_cosine_as(nb::module_& m) {
    using Tile = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def(
        "arc_cosine",
        [](Tile G, Values x, Values z, Values out_x, Values out_z, int degree, size_t layers) {
            const size_t n = G.shape(0), m = G.shape(1);
            if (x.shape(0) != n || out_x.shape(0) != n || z.shape(0) != m || out_z.shape(0) != m)
                throw std::invalid_argument(
                    "shapes must be G (n, m), x and out_x (n,), z and out_z (m,)");
            if (degree < 0 || degree > 2) throw std::invalid_argument("degree must be 0, 1 or 2");
            check_aligned(G, x, z, out_x, out_z);
            T* values = G.data();
            const T *left = x.data(), *right = z.data();
            const T *out_left = out_x.data(), *out_right = out_z.data();
            nb::gil_scoped_release release;
            arc_cosines<T>().apply(values, left, right, out_left, out_right, n, m, degree, layers);
        },
        nb::arg("G").noconvert(), nb::arg("x"), nb::arg("z"), nb::arg("out_x"), nb::arg("out_z"),
        nb::arg("degree"), nb::arg("layers"));
}

}  // namespace

void bind_arc_cosine(nb::module_& m) {
    bind_arc_cosine_as<float>(m);
    bind_arc_cosine_as<double>(m);
}

}  // namespace mercer
