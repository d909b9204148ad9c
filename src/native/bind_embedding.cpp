// Python bindings of embedding.cpp.
#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr size_t least_side = 8;

SquareGrid grid_of(double x, double y, double spacing, size_t side, size_t columns) {
    wants(spacing > 0, "spacing must be > 0");
    wants(side >= least_side && side == columns, "the grid must be square, with 8 nodes on a side or more");
    return {x, y, spacing, side};
}

template <class A>
void wants_points(const A& Y, size_t axes = 2) {
    wants(Y.shape(1) == axes, "points must have 2 columns, or 3 where the potential is summed");
}

// Each row of near (q, k) has a neighbour, and all are numbers of points or -1.
void wants_neighbours(const int64_t* ids, size_t q, size_t k, size_t n) {
    for (size_t i = 0; i < q; ++i) {
        bool any = false;
        for (size_t j = 0; j < k; ++j) {
            wants(ids[i * k + j] >= -1 && ids[i * k + j] < int64_t(n),
                  "near must have numbers of points, or -1");
            any |= ids[i * k + j] >= 0;
        }
        wants(any, "each row of near must have a neighbour");
    }
}

}  // namespace

void bind_embedding(nb::module_& m) {
    m.def(
        "embedding_spread",
        [](Matrix<const double> Y, double x, double y, double spacing, Matrix<int64_t> charges) {
            wants_points(Y);
            const SquareGrid grid = grid_of(x, y, spacing, charges.shape(0), charges.shape(1));
            check_aligned(Y, charges);
            const double* points = Y.data();
            int64_t* out = charges.data();
            const size_t n = Y.shape(0);
            nb::gil_scoped_release release;
            loops->embeddings.spread(points, n, grid, out);
        },
        nb::arg("Y").noconvert(), nb::arg("x"), nb::arg("y"), nb::arg("spacing"),
        nb::arg("charges").noconvert());
    m.def(
        "embedding_gather",
        [](Matrix<const double> Y, double x, double y, double spacing, Matrix<const double> potential,
           Matrix<double> out) {
            wants_points(Y);
            wants(out.shape(1) == 3, "out must have 3 columns");
            wants(out.shape(0) == Y.shape(0), "out must have a row for each point");
            const SquareGrid grid = grid_of(x, y, spacing, potential.shape(0), potential.shape(1));
            check_aligned(Y, potential, out);
            const double *points = Y.data(), *field = potential.data();
            double* found = out.data();
            const size_t n = Y.shape(0);
            nb::gil_scoped_release release;
            loops->embeddings.gather(points, n, grid, field, found);
        },
        nb::arg("Y").noconvert(), nb::arg("x"), nb::arg("y"), nb::arg("spacing"),
        nb::arg("potential").noconvert(), nb::arg("out").noconvert());
    m.def(
        "embedding_sum",
        [](Matrix<const float> Y, Matrix<const float> Z, Matrix<double> out) {
            const size_t n = Y.shape(1), q = Z.shape(1);
            wants(Y.shape(0) == 3 && Z.shape(0) == 3, "points must have 3 rows, one for each coordinate");
            wants(out.shape(0) == q && out.shape(1) == 4, "out must have 4 numbers for each point");
            check_aligned(Y, Z, out);
            const float *points = Y.data(), *others = Z.data();
            double* found = out.data();
            nb::gil_scoped_release release;
            loops->embeddings.sum(points, n, others, q, found);
        },
        nb::arg("Y").noconvert(), nb::arg("Z").noconvert(), nb::arg("out").noconvert());
    m.def(
        "embedding_descend",
        [](size_t begin, Numbers<int64_t> starts, Numbers<int32_t> columns, Numbers<float> pull,
           double exaggeration, Matrix<const double> push, double share, double rate, double momentum,
           double longest, Matrix<const double> Y, Matrix<double> moved, Matrix<double> gains,
           Matrix<double> out) {
            const size_t n = Y.shape(0), end = begin + push.shape(0), edges = columns.shape(0);
            const size_t axes = Y.shape(1);
            wants(axes >= 1 && axes <= 3, "points must have 1 to 3 columns");
            wants(push.shape(1) == axes + 1, "push must have one column more than the points");
            for (const auto* one : {&moved, &gains, &out}) {
                wants_points(*one, axes);
                wants(one->shape(0) == n, "moved, gains and out must have a row for each point");
            }
            wants(begin <= n && end <= n && end >= begin, "push must have rows of points that there are");
            wants(starts.shape(0) == n + 1, "starts must have one number more than there are points");
            wants(pull.shape(0) == edges, "pull must have as many numbers as columns");
            check_aligned(starts, columns, pull, push, Y, moved, gains, out);
            const int64_t* first = starts.data();
            const int32_t* column = columns.data();
            const float* weights = pull.data();
            const double *pushed = push.data(), *points = Y.data();
            double *moves = moved.data(), *gain = gains.data(), *found = out.data();
            nb::gil_scoped_release release;
            for (size_t i = begin; i < end; ++i) {
                wants(first[i] >= 0 && first[i] <= first[i + 1] && size_t(first[i + 1]) <= edges,
                      "starts must ascend from 0 to the number of columns");
                for (int64_t e = first[i]; e < first[i + 1]; ++e)
                    wants(column[e] >= 0 && size_t(column[e]) < n, "columns must be numbers of points");
            }
            loops->embeddings.descend(axes, begin, end, first, column, weights, exaggeration, pushed,
                                      share, rate, momentum, longest, points, moves, gain, found);
        },
        nb::arg("begin"), nb::arg("starts"), nb::arg("columns"), nb::arg("pull"),
        nb::arg("exaggeration"), nb::arg("push").noconvert(), nb::arg("share"), nb::arg("rate"),
        nb::arg("momentum"), nb::arg("longest"), nb::arg("Y").noconvert(),
        nb::arg("moved").noconvert(), nb::arg("gains").noconvert(), nb::arg("out").noconvert());
    m.def(
        "embedding_place",
        [](Matrix<const int64_t> near, Matrix<const double> Y, double x, double y, double spacing,
           Matrix<const double> potential, double share, double exaggeration, size_t steps, double rate,
           Matrix<double> out) {
            const size_t q = near.shape(0), k = near.shape(1), n = Y.shape(0);
            wants_points(Y);
            wants_points(out);
            wants(out.shape(0) == q, "out must have a row for each row of near");
            const SquareGrid grid = grid_of(x, y, spacing, potential.shape(0), potential.shape(1));
            check_aligned(near, Y, potential, out);
            const int64_t* ids = near.data();
            const double *points = Y.data(), *field = potential.data();
            double* found = out.data();
            nb::gil_scoped_release release;
            wants_neighbours(ids, q, k, n);
            loops->embeddings.place(ids, q, k, points, grid, field, share, exaggeration, steps, rate,
                                    found);
        },
        nb::arg("near").noconvert(), nb::arg("Y").noconvert(), nb::arg("x"), nb::arg("y"),
        nb::arg("spacing"), nb::arg("potential").noconvert(), nb::arg("share"),
        nb::arg("exaggeration"), nb::arg("steps"), nb::arg("rate"), nb::arg("out").noconvert());
    m.def(
        "embedding_place_among",
        [](Matrix<const int64_t> near, Matrix<const double> Y, double share, double exaggeration,
           size_t steps, double rate, Matrix<double> out) {
            const size_t q = near.shape(0), k = near.shape(1), n = Y.shape(0);
            wants_points(Y, 3);
            wants_points(out, 3);
            wants(out.shape(0) == q, "out must have a row for each row of near");
            check_aligned(near, Y, out);
            const int64_t* ids = near.data();
            const double* points = Y.data();
            double* found = out.data();
            nb::gil_scoped_release release;
            wants_neighbours(ids, q, k, n);
            loops->embeddings.place_among(ids, q, k, points, n, share, exaggeration, steps, rate, found);
        },
        nb::arg("near").noconvert(), nb::arg("Y").noconvert(), nb::arg("share"),
        nb::arg("exaggeration"), nb::arg("steps"), nb::arg("rate"), nb::arg("out").noconvert());
}

}  // namespace mercer
