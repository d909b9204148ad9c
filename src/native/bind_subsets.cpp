// Python bindings of subsets.cpp. Shapes are checked here, because with a wrong shape the loops
// would read past the end of an array.
#include <algorithm>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const SubsetLoops<T>& subsets();
template <>
const SubsetLoops<float>& subsets<float>() { return loops->subsets32; }
template <>
const SubsetLoops<double>& subsets<double>() { return loops->subsets64; }

template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Tile = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void check(const Rows<T>& X, const Rows<T>& Zt, const Tile<T>& out) {
    if (Zt.shape(0) != X.shape(1) || out.shape(0) != X.shape(0) || out.shape(1) != Zt.shape(1))
        throw std::invalid_argument("shapes must be X (n, d), Zt (d, m), out (n, m)");
    check_aligned(X, Zt, out);
}

template <class T>
void bind_subsets_as(nb::module_& m) {
    const auto all_subsets = [](Rows<T> X, Rows<T> Zt, Tile<T> out) {
        check(X, Zt, out);
        const T *x = X.data(), *z = Zt.data();
        T* values = out.data();
        const size_t n = X.shape(0), columns = Zt.shape(1), d = X.shape(1);
        nb::gil_scoped_release release;
        subsets<T>().all_subsets(x, z, values, n, columns, d);
    };
    const auto anova = [](Rows<T> X, Rows<T> Zt, Tile<T> out, size_t degree) {
        check(X, Zt, out);
        if (degree < 1) throw std::invalid_argument("degree must be at least 1");
        const T *x = X.data(), *z = Zt.data();
        T* values = out.data();
        const size_t n = X.shape(0), columns = Zt.shape(1), d = X.shape(1);
        nb::gil_scoped_release release;
        if (degree > d) {  // no subset is so large; the workspace has no limit otherwise
            std::fill(values, values + n * columns, T(0));
            return;
        }
        std::vector<T> work(degree * anova_lanes);
        subsets<T>().anova(x, z, values, n, columns, d, degree, work.data());
    };
    m.def("all_subsets", all_subsets, nb::arg("X").noconvert(), nb::arg("Zt").noconvert(),
          nb::arg("out").noconvert());
    m.def("anova", anova, nb::arg("X").noconvert(), nb::arg("Zt").noconvert(),
          nb::arg("out").noconvert(), nb::arg("degree"));
}

}  // namespace

void bind_subsets(nb::module_& m) {
    bind_subsets_as<float>(m);
    bind_subsets_as<double>(m);
}

}  // namespace mercer
