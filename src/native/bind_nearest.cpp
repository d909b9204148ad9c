// Python bindings of nearest.cpp. Shapes are checked here, because with a wrong shape the loops
// would read past the end of an array.
#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const NearestLoops<T>& nearest_loops();
template <>
const NearestLoops<float>& nearest_loops<float>() { return loops->nearest32; }
template <>
const NearestLoops<double>& nearest_loops<double>() { return loops->nearest64; }

template <class T>
using Tile = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ids = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
void bind_nearest_as(nb::module_& m) {
    const auto keep_nearest = [](Tile<const T> D, Ids columns, Ids own, Tile<T> best,
                                 Tile<int64_t> nearest) {
        const size_t n = D.shape(0), width = D.shape(1), k = best.shape(1);
        if (columns.shape(0) != width || own.shape(0) != n || best.shape(0) != n || k < 1 ||
            nearest.shape(0) != n || nearest.shape(1) != k)
            throw std::invalid_argument(
                "shapes must be D (n, m), columns (m,), own (n,), best (n, k), nearest (n, k), k >= 1");
        check_aligned(D, columns, own, best, nearest);
        const T* distances = D.data();
        const int64_t *ids = columns.data(), *self = own.data();
        T* kept = best.data();
        int64_t* kept_ids = nearest.data();
        nb::gil_scoped_release release;
        nearest_loops<T>().keep_nearest(distances, ids, self, kept, kept_ids, n, width, k);
    };
    m.def("keep_nearest", keep_nearest, nb::arg("D").noconvert(), nb::arg("columns"),
          nb::arg("own"), nb::arg("best").noconvert(), nb::arg("nearest").noconvert());
}

}  // namespace

void bind_nearest(nb::module_& m) {
    bind_nearest_as<float>(m);
    bind_nearest_as<double>(m);
}

}  // namespace mercer
