// Python bindings of radial.cpp.
#include <limits>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const RadialLoops<T>& radial();
template <>
const RadialLoops<float>& radial<float>() { return loops->radial32; }
template <>
const RadialLoops<double>& radial<double>() { return loops->radial64; }

// A scale outside the range of T would be infinite, and times a distance of 0 it would be NaN.
template <class T>
T narrowed(double scale) {
    const double most = std::numeric_limits<T>::max();
    return static_cast<T>(scale > most ? most : scale);
}

template <class T>
void bind_radial_as(nb::module_& m) {
    m.def(
        "exp_scaled",
        [](Array<T> d, double scale) {
            check_aligned(d);
            T* values = d.data();
            const size_t n = d.size();
            nb::gil_scoped_release release;
            radial<T>().exp_scaled(values, n, narrowed<T>(scale));
        },
        nb::arg("d").noconvert(), nb::arg("scale"));
    m.def(
        "matern",
        [](Array<T> d, double scale, int order) {
            check_aligned(d);
            if (order != 3 && order != 5) throw std::invalid_argument("order must be 3 or 5");
            T* values = d.data();
            const size_t n = d.size();
            nb::gil_scoped_release release;
            radial<T>().matern(values, n, narrowed<T>(scale), order);
        },
        nb::arg("d").noconvert(), nb::arg("scale"), nb::arg("order"));
}

}  // namespace

void bind_radial(nb::module_& m) {
    bind_radial_as<float>(m);
    bind_radial_as<double>(m);
}

}  // namespace mercer
