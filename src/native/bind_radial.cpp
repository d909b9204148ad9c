// Python bindings of radial.cpp.
#include <cmath>
#include <limits>
#include <vector>

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

// Of numbers x: u = exp(rate x) and v = exp(-rate x), with u v >= 1 after rounding, where both are
// far from the limits of T and exact enough. Elsewhere u and v are 1, and `near` is false.
template <class T>
struct Powers {
    static constexpr double most = 40;
    std::vector<T> u, v;
    std::vector<char> near;
    bool all_near = true;

    Powers(const T* x, size_t n, double rate) : u(n, T(1)), v(n, T(1)), near(n) {
        std::vector<double> up(n), down(n);
        for (size_t i = 0; i < n; ++i) {
            near[i] = std::abs(rate * x[i]) <= most;
            all_near = all_near && near[i];
            up[i] = down[i] = near[i] ? static_cast<double>(x[i]) : 0;
        }
        radial<double>().exp_scaled(up.data(), n, -rate);
        radial<double>().exp_scaled(down.data(), n, rate);
        for (size_t i = 0; i < n; ++i) {
            u[i] = static_cast<T>(up[i]);
            v[i] = static_cast<T>(down[i]);
            while (u[i] * v[i] < 1) v[i] = std::nextafter(v[i], std::numeric_limits<T>::max());
        }
    }
};

// out[i, j] <- exp(-rate |x[i] - z[j]|), which is the lesser of exp(rate x) exp(-rate z) and of its
// inverse: a power of each number in place of one of each pair. A pair of which one number is too
// large for this takes the power of its distance, whichever pairs are beside it.
template <class T>
void exp_gaps(const T* x, const T* z, T* out, size_t n, size_t m, double rate) {
    const Powers<T> of_x(x, n, rate), of_z(z, m, rate);
    radial<T>().ratios(of_x.u.data(), of_x.v.data(), of_z.u.data(), of_z.v.data(), out, n, m);
    if (of_x.all_near && of_z.all_near) return;
    std::vector<T> gaps(m);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) gaps[j] = std::abs(x[i] - z[j]);
        radial<T>().exp_scaled(gaps.data(), m, narrowed<T>(rate));
        for (size_t j = 0; j < m; ++j)
            if (!of_x.near[i] || !of_z.near[j]) out[i * m + j] = gaps[j];
    }
}

template <class T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
void bind_radial_as(nb::module_& m) {
    m.def(
        "exp_gaps",
        [](Numbers<T> x, Numbers<T> z, double rate,
           nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
            check_aligned(x, z, out);
            const size_t n = x.shape(0), m = z.shape(0);
            wants(out.shape(0) == n && out.shape(1) == m,
                  "shapes must be x (n,), z (m,), out (n, m)");
            const T *left = x.data(), *right = z.data();
            T* values = out.data();
            nb::gil_scoped_release release;
            exp_gaps(left, right, values, n, m, rate);
        },
        nb::arg("x").noconvert(), nb::arg("z").noconvert(), nb::arg("rate"),
        nb::arg("out").noconvert());
    m.def(
        "interact",
        [](Array<T> K, Array<const T> k, double share) {
            check_aligned(K, k);
            wants(K.size() == k.size(), "K and k must have the same size");
            T* values = K.data();
            const T* factors = k.data();
            const size_t n = K.size();
            nb::gil_scoped_release release;
            radial<T>().interact(values, factors, n, static_cast<T>(share));
        },
        nb::arg("K").noconvert(), nb::arg("k").noconvert(), nb::arg("share"));
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
