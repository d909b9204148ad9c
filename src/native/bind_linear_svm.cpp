// Python bindings of linear_svm.cpp. Sizes, row offsets, column numbers and class codes are checked
// here, because with wrong ones the loops would read or write past the end of an array.
#include "bind_linear_rows.hpp"

#include <stdexcept>

namespace mercer {
namespace {

template <class T>
const LinearLoops<T>& linear();
template <>
const LinearLoops<float>& linear<float>() { return loops->linear32; }
template <>
const LinearLoops<double>& linear<double>() { return loops->linear64; }

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Updated = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using State = nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

ActiveSet active_set(const Numbers& active, const State& state, const Updated& violation,
                     size_t variables, size_t& count) {
    check_aligned(active, state, violation);
    wants(state.shape(0) == 2 && violation.shape(0) == 1,
          "state must be (count, random), and violation one number");
    count = static_cast<size_t>(state.data()[0]);
    wants(count <= active.shape(0), "the count must be at most the size of active");
    wants(state.data()[1] != 0, "the state of the random numbers must not be 0");
    if (!within(active, active.shape(0), variables))
        throw std::out_of_range("active must hold numbers of variables");
    return {active.data(), &count, violation.data(), state.data() + 1};
}

template <class T>
void bind_products(nb::module_& m) {
    m.def(
        "linear_outputs",
        [](Stored<T> values, Columns columns, Starts starts, double bias, Values w, Updated f) {
            wants(w.shape(0) > 0, "w must have an entry for the bias");
            const auto X = rows<T>(values, columns, starts, f.shape(0), w.shape(0) - 1, bias);
            check_aligned(w, f);
            const double* weights = w.data();
            double* out = f.data();
            nb::gil_scoped_release release;
            linear<T>().outputs(X, weights, out);
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("bias"), nb::arg("w"),
        nb::arg("f").noconvert());
    m.def(
        "linear_combine",
        [](Stored<T> values, Columns columns, Starts starts, double bias, Values c, Updated w) {
            wants(w.shape(0) > 0, "w must have an entry for the bias");
            const auto X = rows<T>(values, columns, starts, c.shape(0), w.shape(0) - 1, bias);
            check_aligned(c, w);
            const double* factors = c.data();
            double* out = w.data();
            nb::gil_scoped_release release;
            linear<T>().combine(X, factors, out);
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("bias"), nb::arg("c"),
        nb::arg("w").noconvert());
    m.def(
        "linear_squares",
        [](Stored<T> values, Columns columns, Starts starts, size_t width, Updated out) {
            const auto X = rows<T>(values, columns, starts, out.shape(0), width, 0.0);
            check_aligned(out);
            double* sums = out.data();
            nb::gil_scoped_release release;
            linear<T>().squares(X, sums);
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("width"), nb::arg("out").noconvert());
    m.def(
        "linear_gram",
        [](Stored<T> values, Columns columns, Starts starts, double bias, Values h, Table H) {
            wants(H.shape(0) > 0 && H.shape(0) == H.shape(1), "H must be (d + 1, d + 1)");
            const auto X = rows<T>(values, columns, starts, h.shape(0), H.shape(0) - 1, bias);
            check_aligned(h, H);
            const double* factors = h.data();
            double* out = H.data();
            nb::gil_scoped_release release;
            linear<T>().gram(X, factors, out);
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("bias"), nb::arg("h"), nb::arg("H").noconvert());
}

template <class T>
void bind_descent(nb::module_& m) {
    m.def(
        "linear_dual_epochs",
        [](Stored<T> values, Columns columns, Starts starts, double bias, Table variables,
           double epsilon, bool squared, bool one_sided, Updated w, Numbers active, State state,
           Updated violation, size_t epochs, double tol) {
            const size_t n = variables.shape(0);
            wants(variables.shape(1) * sizeof(double) == sizeof(LinearVariable),
                  "variables must be (n, 4)");
            wants(w.shape(0) > 0, "w must have an entry for the bias");
            const auto X = rows<T>(values, columns, starts, n, w.shape(0) - 1, bias);
            check_aligned(variables, w);
            size_t count;
            const ActiveSet set = active_set(active, state, violation, n, count);
            auto* v = reinterpret_cast<LinearVariable*>(variables.data());
            double* weights = w.data();
            size_t done;
            {
                nb::gil_scoped_release release;
                done = linear<T>().dual_epochs(X, v, {epsilon, squared, one_sided}, weights, set,
                                               epochs, tol);
            }
            state.data()[0] = count;
            return done;
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("bias"), nb::arg("variables").noconvert(),
        nb::arg("epsilon"), nb::arg("squared"), nb::arg("one_sided"), nb::arg("w").noconvert(),
        nb::arg("active").noconvert(), nb::arg("state").noconvert(),
        nb::arg("violation").noconvert(), nb::arg("epochs"), nb::arg("tol"));
    m.def(
        "linear_class_epochs",
        [](Stored<T> values, Columns columns, Starts starts, double bias, Numbers code, Values C,
           Values squares, Table W, Table alpha, Numbers active, State state, Updated violation,
           size_t epochs, double tol) {
            const size_t n = code.shape(0), k = alpha.shape(1);
            wants(W.shape(0) > 0 && W.shape(1) == k && alpha.shape(0) == n,
                  "W must be (d + 1, k) and alpha (n, k)");
            wants(C.shape(0) == n && squares.shape(0) == n, "C and squares must be (n,)");
            check_aligned(code, C, squares, W, alpha);
            if (!within(code, n, k)) throw std::out_of_range("code must hold numbers of classes");
            const auto X = rows<T>(values, columns, starts, n, W.shape(0) - 1, bias);
            size_t count;
            const ActiveSet set = active_set(active, state, violation, n, count);
            const int64_t* classes = code.data();
            const double *bounds = C.data(), *lengths = squares.data();
            double *weights = W.data(), *a = alpha.data();
            size_t done;
            {
                nb::gil_scoped_release release;
                done = linear<T>().class_epochs(X, classes, bounds, lengths, k, weights, a, set,
                                                epochs, tol);
            }
            state.data()[0] = count;
            return done;
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("bias"), nb::arg("code").noconvert(),
        nb::arg("C"), nb::arg("squares"), nb::arg("W").noconvert(), nb::arg("alpha").noconvert(),
        nb::arg("active").noconvert(), nb::arg("state").noconvert(),
        nb::arg("violation").noconvert(), nb::arg("epochs"), nb::arg("tol"));
    m.def(
        "linear_lasso_epochs",
        [](Stored<T> values, Columns columns, Starts starts, Values g, Values squares, Updated v,
           Updated q, Numbers active, State state, Updated violation, size_t epochs, double tol) {
            const size_t d = v.shape(0), n = q.shape(0);
            wants(g.shape(0) == d && squares.shape(0) == d, "g, squares and v must be (d,)");
            const auto X = rows<T>(values, columns, starts, d, n, 0.0);
            check_aligned(g, squares, v, q);
            size_t count;
            const ActiveSet set = active_set(active, state, violation, d, count);
            const double *slope = g.data(), *lengths = squares.data();
            double *weights = v.data(), *outputs = q.data();
            size_t done;
            {
                nb::gil_scoped_release release;
                done = linear<T>().lasso_epochs(X, slope, lengths, weights, outputs, set, epochs,
                                                tol);
            }
            state.data()[0] = count;
            return done;
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("g"), nb::arg("squares"),
        nb::arg("v").noconvert(), nb::arg("q").noconvert(), nb::arg("active").noconvert(),
        nb::arg("state").noconvert(), nb::arg("violation").noconvert(), nb::arg("epochs"),
        nb::arg("tol"));
}

LinearBox box(const Values& t, const Values& step, const Values& low, const Values& high,
              double epsilon, size_t n) {
    wants(t.shape(0) == n && step.shape(0) == n && low.shape(0) == n && high.shape(0) == n,
          "all arrays must be (n,)");
    check_aligned(t, step, low, high);
    return {t.data(), step.data(), low.data(), high.data(), epsilon, n};
}

void bind_box(nb::module_& m) {
    m.def(
        "linear_nearest",
        [](Values t, Values step, Values low, Values high, double epsilon, Values f, Updated near,
           Updated slope) {
            const LinearBox bounds = box(t, step, low, high, epsilon, f.shape(0));
            wants(near.shape(0) == bounds.n && slope.shape(0) == bounds.n,
                  "all arrays must be (n,)");
            check_aligned(f, near, slope);
            const double* outputs = f.data();
            double *found = near.data(), *slopes = slope.data();
            nb::gil_scoped_release release;
            loops->linear_box.nearest(bounds, outputs, found, slopes);
        },
        nb::arg("t"), nb::arg("step"), nb::arg("low"), nb::arg("high"), nb::arg("epsilon"),
        nb::arg("f"), nb::arg("near").noconvert(), nb::arg("slope").noconvert());
    m.def(
        "linear_along",
        [](Values t, Values step, Values low, Values high, double epsilon, Values f, Values change,
           double size, Values near) {
            const LinearBox bounds = box(t, step, low, high, epsilon, f.shape(0));
            wants(change.shape(0) == bounds.n && near.shape(0) == bounds.n,
                  "all arrays must be (n,)");
            check_aligned(f, change, near);
            const double *outputs = f.data(), *direction = change.data(), *start = near.data();
            nb::gil_scoped_release release;
            return loops->linear_box.along(bounds, outputs, direction, size, start);
        },
        nb::arg("t"), nb::arg("step"), nb::arg("low"), nb::arg("high"), nb::arg("epsilon"),
        nb::arg("f"), nb::arg("change"), nb::arg("size"), nb::arg("near"));
}

}  // namespace

void bind_linear_svm(nb::module_& m) {
    bind_box(m);
    bind_products<float>(m);
    bind_products<double>(m);
    bind_descent<float>(m);
    bind_descent<double>(m);
}

}  // namespace mercer
