// Python bindings of smo.cpp. Sizes and row numbers are checked here, because with wrong ones the
// loops would read past the end of an array.
#include "bind.hpp"
#include "free_newton.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace mercer {
namespace {

template <class T>
const SmoLoops<T>& smo();
template <>
const SmoLoops<float>& smo<float>() { return loops->smo32; }
template <>
const SmoLoops<double>& smo<double>() { return loops->smo64; }

template <class T>
using Square = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Updated = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Slots = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_within(const Rows& indices, size_t size, const char* message, bool negative = false) {
    for (size_t k = 0; k < indices.shape(0); ++k) {
        const int64_t index = indices.data()[k];
        if (index < 0 ? !negative : static_cast<size_t>(index) >= size)
            throw std::out_of_range(message);
    }
}

// K from the blocks of two classes; slots must be -1 or rows of room that are in use.
template <class T>
KernelRows<T> in_blocks(const Square<T>& first, const Square<T>& across, const Square<T>& second,
                        const Output<T>& room, const Slots& slots) {
    const size_t size = first.shape(0), rest = second.shape(0), n = size + rest;
    if (first.shape(1) != size || second.shape(1) != rest || across.shape(0) != size ||
        across.shape(1) != rest || room.shape(0) != n || room.shape(1) != n || slots.shape(0) != n)
        throw std::invalid_argument(
            "first and second must be square, across (first, second), room (n, n) and slots (n,)");
    check_aligned(first, across, second, room, slots);
    size_t used = 0;
    for (size_t k = 0; k < n; ++k) used += slots.data()[k] >= 0;
    for (size_t k = 0; k < n; ++k)
        if (slots.data()[k] < -1 || slots.data()[k] >= static_cast<int64_t>(used))
            throw std::out_of_range("slots must be the first rows of room, or -1");
    return {n, first.data(), across.data(), second.data(), size, room.data(), slots.data(), used};
}

template <class T>
size_t solve(KernelRows<T> K, const Values& y, const Values& C, const Updated& alpha,
             const Updated& f, size_t split, double tol, double relative_tol, size_t max_steps) {
    const size_t n = K.n;
    if (y.shape(0) != n || C.shape(0) != n || alpha.shape(0) != n || f.shape(0) != n || split > n)
        throw std::invalid_argument(
            "K must be (n, n), y, C, alpha and f must be (n,), and split must be at most n");
    check_aligned(y, C, alpha, f);
    const double *labels = y.data(), *bounds = C.data();
    double *a = alpha.data(), *gradient = f.data();
    nb::gil_scoped_release release;
    return smo<T>().solve(&K, labels, bounds, a, gradient, split, tol, relative_tol, max_steps);
}

// Solves many small machines one after the other: machine m has the variables ends[m - 1] to
// ends[m], each with a row of K of its own, positive ones first if the signs are ``groups``. alpha
// starts feasible. Each machine takes at most ``steps`` SMO steps for each of its variables, until
// the violation is ``tol``, then Newton steps, then SMO steps until it is ``exact``, and so on in at
// most ``rounds`` rounds, or until what is left is rounding. f and ``sums``, Σ_j |K_ij| α_j, are written, and
// a row of out is the number of SMO steps and what `optimum` says of the solution.
template <class T>
void solve_many(Square<T> K, Rows rows, Rows ends, Values y, Values C, Values p, Updated alpha,
                Updated f, Updated sums, bool groups, double tol, double exact, size_t steps,
                size_t rounds, Output<double> out) {
    const size_t n = K.shape(0), variables = rows.shape(0), machines = ends.shape(0);
    if (K.shape(1) != n || y.shape(0) != variables || C.shape(0) != variables ||
        p.shape(0) != variables || alpha.shape(0) != variables || f.shape(0) != variables ||
        sums.shape(0) != variables || out.shape(0) != machines || out.shape(1) != 7)
        throw std::invalid_argument(
            "K must be (n, n), y, C, p, alpha, f and sums as long as rows, and out (machines, 7)");
    check_aligned(K, rows, ends, y, C, p, alpha, f, sums, out);
    check_within(rows, n, "rows must be rows of K");
    size_t largest = 0;
    for (size_t m = 0, begin = 0; m < machines; ++m) {
        const size_t end = static_cast<size_t>(ends.data()[m]);
        if (end < begin || end > variables)
            throw std::out_of_range("ends must ascend, to at most the number of variables");
        largest = end - begin > largest ? end - begin : largest;
        begin = end;
    }
    nb::gil_scoped_release release;
    std::vector<T> block(largest * largest);
    std::vector<double> offset(largest), beta;
    std::vector<int64_t> used;
    FreeNewton newton;
    for (size_t m = 0, begin = 0; m < machines; ++m) {
        const size_t v = static_cast<size_t>(ends.data()[m]) - begin;
        const int64_t* at = rows.data() + begin;
        const double *labels = y.data() + begin, *bounds = C.data() + begin;
        double *a = alpha.data() + begin, *g = f.data() + begin, *result = out.data() + 7 * m;
        smo<T>().block(K.data(), n, at, at, v, 0, v, block.data());
        size_t split = 0;
        for (size_t i = 0; i < v; ++i) {
            offset[i] = labels[i] * p.data()[begin + i];
            split += !groups || labels[i] > 0;
        }
        double widest = 0;  // the largest norm of a row's image
        for (size_t i = 0; i < v; ++i)
            widest = std::fmax(widest, std::sqrt(std::fabs(double(block[i * (v + 1)]))));
        // Writes f without the rounding errors of the steps, and returns how much it can be off:
        // |K_ij| <= √K_ii √K_jj.
        const auto gradient = [&] {
            double size = 0;
            used.clear();
            beta.clear();
            for (size_t j = 0; j < v; ++j) {
                g[j] = offset[j];
                if (a[j] == 0) continue;
                used.push_back(static_cast<int64_t>(j));
                beta.push_back(labels[j] * a[j]);
                size += a[j] * std::sqrt(std::fabs(double(block[j * (v + 1)])));
            }
            smo<T>().add_rows(block.data(), v, used.data(), beta.data(), used.size(), g, 0, v);
            return 0x1p-48 * widest * size;
        };
        double rounding = gradient();
        KernelRows<T> own = {v, block.data(), nullptr, nullptr, v, nullptr, nullptr, 0};
        result[0] = 0;
        double wanted = tol;
        for (size_t round = 0; round < rounds; ++round) {
            const size_t most = steps * v;
            const double least = std::fmax(wanted, rounding);
            const size_t taken = smo<T>().solve(&own, labels, bounds, a, g, split, least, 0, most);
            if (taken > 0) rounding = gradient();
            result[0] += static_cast<double>(taken);
            if ((round > 0 && taken == 0) || round + 1 == rounds) break;
            if (newton.lower(block.data(), v, labels, bounds, a, g, split))
                rounding = gradient();
            else if (taken < most)
                break;
            wanted = exact;
        }
        double* sum = sums.data() + begin;
        std::fill(sum, sum + v, 0.0);
        for (size_t k = 0; k < used.size(); ++k) {
            const T* row = block.data() + static_cast<size_t>(used[k]) * v;
            for (size_t j = 0; j < v; ++j)
                sum[j] += std::fabs(static_cast<double>(row[j]) * beta[k]);
        }
        smo<T>().optimum(g, offset.data(), labels, bounds, a, v, groups, result + 1);
        begin += v;
    }
}

template <class T>
void bind_smo_as(nb::module_& m) {
    m.def(
        "smo_solve_many", solve_many<T>, nb::arg("K").noconvert(), nb::arg("rows"), nb::arg("ends"),
        nb::arg("y"), nb::arg("C"), nb::arg("p"), nb::arg("alpha").noconvert(),
        nb::arg("f").noconvert(), nb::arg("sums").noconvert(), nb::arg("groups"), nb::arg("tol"),
        nb::arg("exact"), nb::arg("steps"), nb::arg("rounds"), nb::arg("out").noconvert());
    m.def(
        "smo_solve",
        [](Square<T> K, Values y, Values C, Updated alpha, Updated f, size_t split, double tol,
           double relative_tol, size_t max_steps) {
            const size_t n = K.shape(0);
            if (K.shape(1) != n) throw std::invalid_argument("K must be (n, n)");
            check_aligned(K);
            return solve<T>({n, K.data(), nullptr, nullptr, n, nullptr, nullptr, 0}, y, C, alpha, f,
                            split, tol, relative_tol, max_steps);
        },
        nb::arg("K").noconvert(), nb::arg("y"), nb::arg("C"), nb::arg("alpha").noconvert(),
        nb::arg("f").noconvert(), nb::arg("split"), nb::arg("tol"), nb::arg("relative_tol"),
        nb::arg("max_steps"));
    m.def(
        "smo_solve_blocks",
        [](Square<T> first, Square<T> across, Square<T> second, Output<T> room, Slots slots,
           Values y, Values C, Updated alpha, Updated f, size_t split, double tol,
           double relative_tol, size_t max_steps) {
            return solve<T>(in_blocks<T>(first, across, second, room, slots), y, C, alpha, f, split,
                            tol, relative_tol, max_steps);
        },
        nb::arg("first").noconvert(), nb::arg("across").noconvert(), nb::arg("second").noconvert(),
        nb::arg("room").noconvert(), nb::arg("slots").noconvert(), nb::arg("y"), nb::arg("C"),
        nb::arg("alpha").noconvert(), nb::arg("f").noconvert(), nb::arg("split"), nb::arg("tol"),
        nb::arg("relative_tol"), nb::arg("max_steps"));
    m.def(
        "smo_join",
        [](Square<T> first, Square<T> across, Square<T> second, Output<T> room, Slots slots,
           Rows rows) {
            KernelRows<T> K = in_blocks<T>(first, across, second, room, slots);
            check_aligned(rows);
            check_within(rows, K.n, "rows must be rows of K");
            const int64_t* indices = rows.data();
            const size_t count = rows.shape(0);
            nb::gil_scoped_release release;
            smo<T>().join(&K, indices, count);
        },
        nb::arg("first").noconvert(), nb::arg("across").noconvert(), nb::arg("second").noconvert(),
        nb::arg("room").noconvert(), nb::arg("slots").noconvert(), nb::arg("rows"));
    m.def(
        "smo_block",
        [](Square<T> K, Rows rows, Rows columns, size_t begin, size_t end, Output<T> out) {
            const size_t count = rows.shape(0), width = K.shape(1);
            if (columns.shape(0) != count || out.shape(0) != count || out.shape(1) != count ||
                begin > end || end > count)
                throw std::invalid_argument(
                    "rows and columns must be (k,), out must be (k, k), and begin <= end <= k");
            check_aligned(K, rows, columns, out);
            check_within(rows, K.shape(0), "rows must be rows of K, or negative", true);
            check_within(columns, width, "columns must be columns of K");
            const T* k = K.data();
            const int64_t *r = rows.data(), *c = columns.data();
            T* values = out.data();
            nb::gil_scoped_release release;
            smo<T>().block(k, width, r, c, count, begin, end, values);
        },
        nb::arg("K").noconvert(), nb::arg("rows").noconvert(), nb::arg("columns").noconvert(),
        nb::arg("begin"), nb::arg("end"), nb::arg("out").noconvert());
    m.def(
        "smo_narrow",
        [](Output<T> K, size_t rows, Rows kept) {
            const size_t width = K.shape(1), count = kept.shape(0);
            if (rows > K.shape(0)) throw std::invalid_argument("rows must be rows of K");
            check_aligned(K, kept);
            check_within(kept, width, "kept must be columns of K");
            for (size_t k = 1; k < count; ++k)
                if (kept.data()[k] <= kept.data()[k - 1])
                    throw std::invalid_argument("kept must ascend");
            T* k = K.data();
            const int64_t* columns = kept.data();
            nb::gil_scoped_release release;
            smo<T>().narrow(k, rows, width, columns, count);
        },
        nb::arg("K").noconvert(), nb::arg("rows"), nb::arg("kept").noconvert());
    m.def(
        "smo_add_rows",
        [](Square<T> K, Rows rows, Values delta, Updated g, size_t begin, size_t end) {
            const size_t count = rows.shape(0), width = K.shape(1);
            if (delta.shape(0) != count || g.shape(0) != width || begin > end || end > width)
                throw std::invalid_argument("rows and delta must be (k,), and g as wide as K");
            check_aligned(K, rows, delta, g);
            check_within(rows, K.shape(0), "rows must be rows of K");
            const T* k = K.data();
            const int64_t* indices = rows.data();
            const double* d = delta.data();
            double* out = g.data();
            nb::gil_scoped_release release;
            smo<T>().add_rows(k, width, indices, d, count, out, begin, end);
        },
        nb::arg("K").noconvert(), nb::arg("rows").noconvert(), nb::arg("delta"),
        nb::arg("g").noconvert(), nb::arg("begin"), nb::arg("end"));
}

}  // namespace

void bind_smo(nb::module_& m) {
    m.def(
        "smo_optimum",
        [](Values f, Values offset, Values y, Values C, Values alpha, bool groups) {
            const size_t n = f.shape(0);
            if (offset.shape(0) != n || y.shape(0) != n || C.shape(0) != n || alpha.shape(0) != n)
                throw std::invalid_argument("f, offset, y, C and alpha must have the same length");
            check_aligned(f, offset, y, C, alpha);
            double out[6];
            loops->smo64.optimum(f.data(), offset.data(), y.data(), C.data(), alpha.data(), n,
                                 groups, out);
            return nb::make_tuple(out[0], out[1], out[2], out[3], out[4], out[5]);
        },
        nb::arg("f"), nb::arg("offset"), nb::arg("y"), nb::arg("C"), nb::arg("alpha"),
        nb::arg("groups"));
    bind_smo_as<float>(m);
    bind_smo_as<double>(m);
}

}  // namespace mercer
