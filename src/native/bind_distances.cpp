// Python bindings of distances.cpp and powers.cpp. Shapes are checked here, because with a wrong
// shape the loops would read past the end of an array.
#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const PairLoops<T>& pairs();
template <>
const PairLoops<float>& pairs<float>() { return loops->pairs32; }
template <>
const PairLoops<double>& pairs<double>() { return loops->pairs64; }

template <class T>
const PowerLoops<T>& powers();
template <>
const PowerLoops<float>& powers<float>() { return loops->powers32; }
template <>
const PowerLoops<double>& powers<double>() { return loops->powers64; }

template <class V>
using Matrix = nb::ndarray<const V, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Weights = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T, class V, class Loop>
void run(Loop loop, Matrix<V> X, Matrix<V> Zt, Weights<T> w, Output<T> out) {
    const size_t n = X.shape(0), d = X.shape(1), m = Zt.shape(1);
    if (Zt.shape(0) != d || w.shape(0) != d || out.shape(0) != n || out.shape(1) != m)
        throw std::invalid_argument("shapes must be X (n, d), Zt (d, m), w (d,), out (n, m)");
    check_aligned(X, Zt, w, out);
    const V *x = X.data(), *z = Zt.data();
    const T* weights = w.data();
    T* values = out.data();
    nb::gil_scoped_release release;
    loop(x, z, weights, values, n, m, d);
}

template <class T, class V>
void def_pairs(nb::module_& m, const char* name,
               void (*PairLoops<T>::*loop)(const V*, const V*, const T*, T*, size_t, size_t,
                                           size_t)) {
    const auto function = [loop](Matrix<V> X, Matrix<V> Zt, Weights<T> w, Output<T> out) {
        run<T, V>(pairs<T>().*loop, X, Zt, w, out);
    };
    m.def(name, function, nb::arg("X").noconvert(), nb::arg("Zt").noconvert(), nb::arg("w"),
          nb::arg("out").noconvert());
}

template <class T>
void bind_distances_as(nb::module_& m) {
    def_pairs(m, "manhattan", &PairLoops<T>::manhattan);
    def_pairs(m, "squared_gaps", &PairLoops<T>::squared_gaps);
    def_pairs(m, "chi_squared", &PairLoops<T>::chi_squared);
    def_pairs(m, "relative", &PairLoops<T>::relative);
    def_pairs(m, "intersection", &PairLoops<T>::intersection);
    def_pairs(m, "chebyshev", &PairLoops<T>::chebyshev);
    def_pairs(m, "differences", &PairLoops<T>::differences);
    def_pairs(m, "matches", &PairLoops<T>::matches);
    m.def(
        "squares",
        [](Output<T> G, Weights<T> xx, Weights<T> zz) {
            const size_t n = G.shape(0), m = G.shape(1);
            if (xx.shape(0) != n || zz.shape(0) != m)
                throw std::invalid_argument("shapes must be G (n, m), xx (n,), zz (m,)");
            check_aligned(G, xx, zz);
            T* values = G.data();
            const T *x = xx.data(), *z = zz.data();
            nb::gil_scoped_release release;
            pairs<T>().squares(values, x, z, n, m);
        },
        nb::arg("G").noconvert(), nb::arg("xx"), nb::arg("zz"));
    const auto minkowski = [](Matrix<T> X, Matrix<T> Zt, Weights<T> w, Output<T> out, double p) {
        const auto loop = [p](const T* x, const T* z, const T* weights, T* values, size_t n,
                              size_t columns, size_t d) {
            powers<T>().minkowski(x, z, weights, values, n, columns, d, static_cast<T>(p));
        };
        run<T, T>(loop, X, Zt, w, out);
    };
    m.def("minkowski", minkowski, nb::arg("X").noconvert(), nb::arg("Zt").noconvert(),
          nb::arg("w"), nb::arg("out").noconvert(), nb::arg("p"));
}

}  // namespace

void bind_distances(nb::module_& m) {
    bind_distances_as<float>(m);
    bind_distances_as<double>(m);
}

}  // namespace mercer
