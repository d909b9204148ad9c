// Python bindings of perceptron.cpp. Shapes and row numbers are checked here, because with wrong
// ones the loops would read or write past the end of an array.
#include "bind_linear_rows.hpp"

namespace mercer {
namespace {

template <class T>
const PerceptronLoops<T>& perceptron();
template <>
const PerceptronLoops<float>& perceptron<float>() { return loops->perceptron32; }
template <>
const PerceptronLoops<double>& perceptron<double>() { return loops->perceptron64; }

template <class T>
using Block = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Updated = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Where mistakes are noted; a visit of `count` samples makes at most so many.
PerceptronMistakes noted(const Rows& rows, const Updated& values, const Updated& times,
                         size_t count) {
    check_aligned(rows, values, times);
    wants(rows.shape(0) >= count && values.shape(0) >= count && times.shape(0) >= count,
          "rows, values and times must have a place for each sample of the order");
    return {rows.data(), values.data(), times.data()};
}

template <class T>
void bind_perceptron_as(nb::module_& m) {
    m.def(
        "perceptron_visit",
        [](Block<T> K, size_t offset, Order order, Values y, Values step, Updated f, Updated alpha,
           Updated lag, bool learns_bias, Updated state, size_t budget, Values squares, Rows rows,
           Updated values, Updated times) {
            const size_t r = K.shape(0), c = K.shape(1), count = order.shape(0);
            check_aligned(K, order, y, step, f, alpha, lag, state, squares);
            wants(offset <= r && c <= r - offset, "K must have a row offset + j for each column j");
            wants(y.shape(0) == c && step.shape(0) == c && f.shape(0) == c,
                  "y, step and f must have an entry for each column of K");
            wants(alpha.shape(0) == r && lag.shape(0) == r && squares.shape(0) == r,
                  "alpha, lag and squares must have an entry for each row of K");
            wants(state.shape(0) == 4, "state must be (bias, bias_lag, time, loss)");
            if (!within(order, count, c)) throw std::out_of_range("order must hold columns of K");
            const PerceptronMistakes mistakes = noted(rows, values, times, count);
            const PerceptronColumns columns = {r, c, offset, y.data(), step.data(), f.data()};
            double* s = state.data();
            const PerceptronDual machine = {alpha.data(), lag.data(), s, s + 1, s + 2, s + 3,
                                            learns_bias};
            const PerceptronBudget most = {budget, squares.data()};
            const T* entries = K.data();
            const int64_t* visits = order.data();
            nb::gil_scoped_release release;
            return perceptron<T>().visit(entries, columns, visits, count, machine, most, mistakes);
        },
        nb::arg("K").noconvert(), nb::arg("offset"), nb::arg("order"), nb::arg("y"),
        nb::arg("step"), nb::arg("f").noconvert(), nb::arg("alpha").noconvert(),
        nb::arg("lag").noconvert(), nb::arg("learns_bias"), nb::arg("state").noconvert(),
        nb::arg("budget"), nb::arg("squares"), nb::arg("rows").noconvert(),
        nb::arg("values").noconvert(), nb::arg("times").noconvert());
    m.def(
        "perceptron_visit_rows",
        [](Block<T> table, Order slot, Order column, size_t begin, Values y, Values step, Updated f,
           Updated alpha, Updated lag, bool learns_bias, Updated state, Rows rows, Updated values,
           Updated times) {
            const size_t count = y.shape(0), height = table.shape(0), width = table.shape(1);
            check_aligned(table, slot, column, y, step, f, alpha, lag, state);
            wants(slot.shape(0) == count && column.shape(0) == count && step.shape(0) == count &&
                      f.shape(0) == count && alpha.shape(0) == count && lag.shape(0) == count,
                  "slot, column, y, step, f, alpha and lag must have an entry for each sample");
            wants(begin <= count, "begin must be at most the number of samples");
            wants(state.shape(0) == 4, "state must be (bias, bias_lag, time, loss)");
            for (size_t s = 0; s < count; ++s)
                if (slot.data()[s] >= static_cast<int64_t>(height))
                    throw std::out_of_range("slot must hold rows of the table");
            if (!within(column, count, width))
                throw std::out_of_range("column must hold columns of the table");
            const PerceptronMistakes mistakes = noted(rows, values, times, count);
            const PerceptronRows samples = {count,    width,       slot.data(), column.data(),
                                            y.data(), step.data(), f.data()};
            double* s = state.data();
            const PerceptronDual machine = {alpha.data(), lag.data(), s, s + 1, s + 2, s + 3,
                                            learns_bias};
            const T* entries = table.data();
            size_t reached = begin, made = 0;
            {
                nb::gil_scoped_release release;
                made = perceptron<T>().visit_rows(entries, samples, begin, machine, mistakes,
                                                  &reached);
            }
            return nb::make_tuple(made, reached);
        },
        nb::arg("table").noconvert(), nb::arg("slot"), nb::arg("column"), nb::arg("begin"),
        nb::arg("y"), nb::arg("step"), nb::arg("f").noconvert(), nb::arg("alpha").noconvert(),
        nb::arg("lag").noconvert(), nb::arg("learns_bias"), nb::arg("state").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("values").noconvert(), nb::arg("times").noconvert());
    m.def(
        "perceptron_epoch",
        [](Stored<T> stored, Columns columns, Starts starts, Order order, Values y, Values step,
           Updated v, Updated lag, Updated q, double decay, double shrink, bool learns_bias,
           Updated state, Rows mistaken, Updated values, Updated times) {
            wants(v.shape(0) > 0, "v must have an entry for the bias");
            const size_t n = y.shape(0), d = v.shape(0) - 1, count = order.shape(0);
            const auto X = rows<T>(stored, columns, starts, n, d, 0.0);
            check_aligned(order, y, step, v, q, state);
            wants(step.shape(0) == n, "step must have an entry for each row");
            wants(q.shape(0) == d + 1, "q must have the length of v");
            if (lag.is_valid()) {
                check_aligned(lag);
                wants(lag.shape(0) == d + 1, "lag must have the length of v");
            }
            wants(state.shape(0) == 5, "state must be (scale, scales, time, loss, shrunk)");
            if (!within(order, count, n)) throw std::out_of_range("order must hold rows of X");
            const PerceptronMistakes mistakes = noted(mistaken, values, times, count);
            double* s = state.data();
            const PerceptronPrimal machine = {v.data(), lag.is_valid() ? lag.data() : nullptr,
                                              q.data(), s,      s + 1,  s + 2,
                                              s + 3,    s + 4,  decay,  shrink,
                                              learns_bias};
            const int64_t* visits = order.data();
            const double *labels = y.data(), *steps = step.data();
            nb::gil_scoped_release release;
            return perceptron<T>().epoch(X, visits, count, labels, steps, machine, mistakes);
        },
        nb::arg("values").noconvert(), nb::arg("columns").noconvert().none(),
        nb::arg("starts").noconvert().none(), nb::arg("order"), nb::arg("y"), nb::arg("step"),
        nb::arg("v").noconvert(), nb::arg("lag").noconvert().none(), nb::arg("q").noconvert(),
        nb::arg("decay"), nb::arg("shrink"), nb::arg("learns_bias"), nb::arg("state").noconvert(),
        nb::arg("mistaken").noconvert(), nb::arg("found").noconvert(),
        nb::arg("times").noconvert());
}

}  // namespace

void bind_perceptron(nb::module_& m) {
    bind_perceptron_as<float>(m);
    bind_perceptron_as<double>(m);
    m.def(
        "perceptron_votes",
        [](Block<double> G, Order place, Values change, Values counts, double bias, Values start,
           Updated out) {
            const size_t n = G.shape(0), width = G.shape(1), mistakes = place.shape(0);
            check_aligned(G, place, change, counts, start, out);
            wants(change.shape(0) == mistakes && counts.shape(0) == mistakes + 1,
                  "change must have the length of place, and counts one more entry");
            wants(start.shape(0) == n && out.shape(0) == n,
                  "start and out must have an entry for each row of G");
            if (!within(place, mistakes, width)) throw std::out_of_range("place must hold columns of G");
            const double *values = G.data(), *changes = change.data(), *times = counts.data(),
                         *first = start.data();
            const int64_t* places = place.data();
            double* total = out.data();
            nb::gil_scoped_release release;
            loops->perceptron_votes.votes(values, n, width, places, changes, times, mistakes, bias,
                                          first, total);
        },
        nb::arg("G").noconvert(), nb::arg("place"), nb::arg("change"), nb::arg("counts"),
        nb::arg("bias"), nb::arg("start"), nb::arg("out").noconvert());
}

}  // namespace mercer
