// Python bindings of subsequences.cpp. A call computes a list of pairs of strings strip by strip,
// until the list or the budget of operations ends. The next call goes on from `state` and the work
// arrays, which Python owns. All numbers that could lead to a wrong address are checked first.
#include <algorithm>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class Code>
const SubsequenceLoops<Code>& subsequences();
template <>
const SubsequenceLoops<uint8_t>& subsequences<uint8_t>() { return loops->subsequences8; }
template <>
const SubsequenceLoops<int32_t>& subsequences<int32_t>() { return loops->subsequences32; }

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PairList = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

constexpr size_t margins = 2 * string_margin;

// String i is values[starts[i]] .. values[starts[i + 1] - 1].
template <class Code>
struct StringList {
    const Code* values;
    const int64_t* starts;
    size_t count;

    StringList(const List<const Code>& v, const List<const int64_t>& s)
        : values(v.data()), starts(s.data()), count(s.shape(0) - 1) {
        if (s.shape(0) < 1) throw std::invalid_argument("starts must have n + 1 entries");
        bool right = starts[0] >= 0 && starts[count] <= static_cast<int64_t>(v.shape(0));
        for (size_t i = 0; i < count; ++i) right = right && starts[i] <= starts[i + 1];
        if (!right) throw std::out_of_range("starts must ascend and stay within values");
    }
    size_t length(size_t i) const { return static_cast<size_t>(starts[i + 1] - starts[i]); }
};

template <class Code>
struct Pairs {
    StringList<Code> X, Z;
    const int64_t* pairs;
    size_t count;
    int64_t* state;  // pairs done, rows of the next one done

    Pairs(const StringList<Code>& X, const StringList<Code>& Z, const PairList& list,
          const List<int64_t>& at, const List<Code>& codes)
        : X(X), Z(Z), pairs(list.data()), count(list.shape(0)), state(at.data()) {
        if (at.shape(0) != 2 || state[0] < 0 || state[1] < 0)
            throw std::invalid_argument("state must be two numbers >= 0");
        for (size_t k = 0; k < count; ++k) {
            const int64_t i = pairs[2 * k], j = pairs[2 * k + 1];
            if (i < 0 || j < 0 || static_cast<size_t>(i) >= X.count ||
                static_cast<size_t>(j) >= Z.count)
                throw std::out_of_range("pairs must hold numbers of strings");
            if (std::min(X.length(i), Z.length(j)) + margins > codes.shape(0))
                throw std::invalid_argument("work arrays must hold the shorter string and margins");
        }
    }
};

// Calls start(m) before the first strip of a pair, strip(s, count, t, m) for each strip, and
// finish(k, m) after the last one. t is the shorter string; the work arrays have its length.
template <class Code, class Start, class Strip, class Finish>
void work_through(const Pairs<Code>& pairs, Code* codes, double budget, double cost, Start start,
                  Strip strip, Finish finish) {
    const size_t height = subsequences<Code>().rows;
    Code* columns = codes + string_margin;
    for (size_t k = pairs.state[0]; k < pairs.count && budget > 0; ++k) {
        const size_t i = pairs.pairs[2 * k], j = pairs.pairs[2 * k + 1];
        const Code *s = pairs.X.values + pairs.X.starts[i], *t = pairs.Z.values + pairs.Z.starts[j];
        size_t n = pairs.X.length(i), m = pairs.Z.length(j), row = pairs.state[1];
        if (n < m) {
            std::swap(s, t);
            std::swap(n, m);
        }
        if (row == 0) {
            std::fill(codes, columns, column_pad<Code>);
            std::copy(t, t + m, columns);
            std::fill(columns + m, columns + m + string_margin, column_pad<Code>);
            start(m);
        }
        if (m == 0) row = n;  // nothing is left to match
        while (row < n && budget > 0) {
            const size_t rows = std::min(height, n - row);
            strip(s + row, rows, columns, m);
            budget -= cost * static_cast<double>(height) * static_cast<double>(m + height);
            row += rows;
        }
        pairs.state[1] = static_cast<int64_t>(row);
        if (row < n) return;
        finish(k, m);
        budget -= 64;
        pairs.state[0] = static_cast<int64_t>(k + 1);
        pairs.state[1] = 0;
    }
}

template <class Code, bool scaled>
void all_subsequences(List<const Code> x, List<const int64_t> x_starts, List<const Code> z,
                      List<const int64_t> z_starts, PairList list, double weight,
                      List<Code> codes, List<double> K, List<int32_t> E, List<int64_t> state,
                      double budget, List<double> out, List<int64_t> exponents) {
    check_aligned(x, x_starts, z, z_starts, list, codes, K, E, state, out, exponents);
    const Pairs<Code> pairs({x, x_starts}, {z, z_starts}, list, state, codes);
    if (K.shape(0) < codes.shape(0) || (scaled && E.shape(0) < codes.shape(0)))
        throw std::invalid_argument("K and E must be as long as codes");
    if (out.shape(0) != pairs.count || (scaled && exponents.shape(0) != pairs.count))
        throw std::invalid_argument("out and exponents must have one entry for each pair");
    double *values = K.data() + string_margin, *results = out.data();
    int32_t* powers = E.data() + string_margin;
    int64_t* powers_out = exponents.data();
    Code* work = codes.data();
    nb::gil_scoped_release release;
    const auto start = [&](size_t m) {
        std::fill(values - string_margin, values + m + string_margin, 1.0);
        if (scaled) std::fill(powers - string_margin, powers + m + string_margin, 0);
    };
    const auto strip = [&](const Code* s, size_t count, const Code* t, size_t m) {
        if (scaled)
            subsequences<Code>().scaled_strip(s, count, t, m, weight, values, powers);
        else
            subsequences<Code>().strip(s, count, t, m, weight, values);
    };
    const auto finish = [&](size_t k, size_t m) {
        results[k] = values[m];
        if (scaled) powers_out[k] = powers[m];
    };
    work_through(pairs, work, budget, 1.0, start, strip, finish);
}

template <class Code>
void gap_weighted(List<const Code> x, List<const int64_t> x_starts, List<const Code> z,
                  List<const int64_t> z_starts, PairList list, double gap,
                  List<const double> weights, List<Code> codes,
                  nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> K,
                  List<int64_t> state, double budget, List<double> out) {
    check_aligned(x, x_starts, z, z_starts, list, weights, codes, K, state, out);
    const Pairs<Code> pairs({x, x_starts}, {z, z_starts}, list, state, codes);
    const size_t p = weights.shape(0), stride = K.shape(1);
    if (p < 1) throw std::invalid_argument("weights must have an entry");
    if (K.shape(0) != p - 1 || stride < codes.shape(0))
        throw std::invalid_argument("K must have p - 1 rows as long as codes");
    if (out.shape(0) != pairs.count)
        throw std::invalid_argument("out must have one entry for each pair");
    const GapTerms terms{p, gap, weights.data()};
    std::vector<double> held(3 * (p - 1) * most_strip_rows);
    double *values = K.data() + string_margin, *results = out.data();
    Code* work = codes.data();
    nb::gil_scoped_release release;
    const auto start = [&](size_t m) {
        for (size_t q = 0; q + 1 < p; ++q) {
            double* row = values + q * stride;
            std::fill(row - string_margin, row + m + string_margin, 0.0);
        }
    };
    size_t k = static_cast<size_t>(pairs.state[0]);
    const auto strip = [&](const Code* s, size_t count, const Code* t, size_t m) {
        results[k] += subsequences<Code>().gap_strip(s, count, t, m, terms, values, stride,
                                                     held.data());
    };
    const auto finish = [&](size_t done, size_t) { k = done + 1; };
    work_through(pairs, work, budget, static_cast<double>(p), start, strip, finish);
}

template <class Code>
void bind_subsequences_as(nb::module_& m) {
    const auto strings = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("x").noconvert(), nb::arg("x_starts").noconvert(),
              nb::arg("z").noconvert(), nb::arg("z_starts").noconvert(),
              nb::arg("pairs").noconvert(), more...);
    };
    const auto all = [&](const char* name, auto function) {
        strings(name, function, nb::arg("weight"), nb::arg("codes").noconvert(),
                nb::arg("K").noconvert(), nb::arg("E").noconvert(), nb::arg("state").noconvert(),
                nb::arg("budget"), nb::arg("out").noconvert(), nb::arg("exponents").noconvert());
    };
    all("all_subsequences", all_subsequences<Code, false>);
    all("all_subsequences_scaled", all_subsequences<Code, true>);
    strings("gap_weighted", gap_weighted<Code>, nb::arg("gap"), nb::arg("weights").noconvert(),
            nb::arg("codes").noconvert(), nb::arg("K").noconvert(), nb::arg("state").noconvert(),
            nb::arg("budget"), nb::arg("out").noconvert());
}

}  // namespace

void bind_subsequences(nb::module_& m) {
    bind_subsequences_as<uint8_t>(m);
    bind_subsequences_as<int32_t>(m);
}

}  // namespace mercer
