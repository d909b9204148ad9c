// Python bindings of neighbour_process.cpp.
#include <memory>

#include "bind.hpp"

namespace mercer {
namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Near = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

}  // namespace

void bind_neighbour_process(nb::module_& m) {
    m.def(
        "neighbour_process",
        [](Rows X, Vector y, Rows Z, Near near, int kind, float scale, float noise, Out mean,
           Out variance) {
            const size_t n = X.shape(0), d = X.shape(1), q = Z.shape(0), k = near.shape(1);
            check_aligned(X, y, Z, near, mean, variance);
            wants(y.shape(0) == n, "y must have a number for each row of X");
            wants(Z.shape(1) == d, "X and Z must have the same columns");
            wants(near.shape(0) == q && mean.shape(0) == q && variance.shape(0) == q,
                  "near, mean and variance must have a row for each row of Z");
            wants(kind >= 0 && kind <= 2, "kind must be 0, 1 or 2");
            for (size_t i = 0; i < q * k; ++i)
                wants(near.data()[i] < static_cast<int64_t>(n), "near must hold rows of X");
            const auto work = std::make_unique<float[]>((k + 2 + 15) / 16 * 16 * (k + d));
            const float *x = X.data(), *targets = y.data(), *z = Z.data();
            const int64_t* rows = near.data();
            float *means = mean.data(), *variances = variance.data();
            nb::gil_scoped_release release;
            loops->neighbour_processes.predict(x, d, targets, z, rows, q, k, kind, scale, noise,
                                               means, variances, work.get());
        },
        nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("Z").noconvert(),
        nb::arg("near").noconvert(), nb::arg("kind"), nb::arg("scale"), nb::arg("noise"),
        nb::arg("mean").noconvert(), nb::arg("variance").noconvert());
}

}  // namespace mercer
