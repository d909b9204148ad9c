// Python bindings of shapley.cpp.
#include <memory>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using Factors = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr size_t alignment = 64;

// Adds the values (n, d, k), or the interactions of pairs (n, d, d, k), to out.
template <class T>
void add(const ShapleyLoops<T>& of, bool pairs, Factors<T> P, Factors<T> Q, Numbers weights,
         Matrix alpha, Matrix nodes, Array<double> out) {
    const size_t n = P.shape(0), d = P.shape(1), m = P.shape(2), B = Q.shape(0), k = alpha.shape(1);
    wants(d >= (pairs ? 2 : 1), "P must have a row for each player: one, or two for pairs");
    wants(Q.shape(1) == d && Q.shape(2) == m, "Q must have the players and stored rows of P");
    wants(weights.shape(0) == B, "weights must have a number for each background row");
    wants(alpha.shape(0) == m, "alpha must have a row for each stored row");
    wants(nodes.shape(1) == 2 && nodes.shape(0) > 0, "nodes must have places and weights");
    const size_t dims = pairs ? 4 : 3;
    wants(out.ndim() == dims && out.shape(0) == n && out.shape(1) == d && out.shape(dims - 1) == k &&
              (!pairs || out.shape(2) == d),
          "out must have an entry for each row, player and output");
    check_aligned(P, Q, weights, alpha, nodes, out);
    const T *p = P.data(), *q = Q.data();
    const double *w = weights.data(), *a = alpha.data(), *at = nodes.data();
    double* found = out.data();
    const size_t count = nodes.shape(0);
    nb::gil_scoped_release release;
    std::vector<T> room(of.work_size(d, B) + alignment / sizeof(T));
    void* place = room.data();
    size_t bytes = room.size() * sizeof(T);
    T* work = static_cast<T*>(std::align(alignment, sizeof(T), place, bytes));
    (pairs ? of.pairs : of.values)(p, q, w, a, n, B, d, m, k, at, count, work, found);
}

template <class T>
void define(nb::module_& m, const char* name, bool pairs, const ShapleyLoops<T>& (*loops_in_use)()) {
    m.def(
        name,
        [pairs, loops_in_use](Factors<T> P, Factors<T> Q, Numbers weights, Matrix alpha, Matrix nodes,
                              Array<double> out) {
            add(loops_in_use(), pairs, P, Q, weights, alpha, nodes, out);
        },
        nb::arg("P").noconvert(), nb::arg("Q").noconvert(), nb::arg("weights"),
        nb::arg("alpha").noconvert(), nb::arg("nodes").noconvert(), nb::arg("out").noconvert());
}

}  // namespace

void bind_shapley(nb::module_& m) {
    for (const bool pairs : {false, true}) {
        const char* name = pairs ? "shapley_pairs" : "shapley_values";
        define<float>(m, name, pairs, +[]() -> const ShapleyLoops<float>& { return loops->shapley32; });
        define<double>(m, name, pairs,
                       +[]() -> const ShapleyLoops<double>& { return loops->shapley64; });
    }
}

}  // namespace mercer
