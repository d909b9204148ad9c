// Python bindings of convolutions.cpp: a list of time series, each put between zeros. All numbers that
// could lead to a wrong address are checked first.
#include <algorithm>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const ConvolutionLoops<T>& convolutions();
template <>
const ConvolutionLoops<float>& convolutions<float>() { return loops->convolutions32; }
template <>
const ConvolutionLoops<double>& convolutions<double>() { return loops->convolutions64; }

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = List<const int64_t>;

// Series i is the points starts[i] .. starts[i + 1] - 1, at least one, of d channels.
template <class T>
struct SeriesRows {
    const T* points;
    const int64_t* starts;
    size_t count, d;

    SeriesRows(const Table<const T>& p, const Numbers& s)
        : points(p.data()), starts(s.data()), count(s.shape(0) - 1), d(p.shape(1)) {
        check_aligned(p, s);
        wants(s.shape(0) >= 1 && d >= 1, "starts must have n + 1 entries");
        bool right = starts[0] >= 0 && starts[count] <= static_cast<int64_t>(p.shape(0));
        for (size_t i = 0; i < count; ++i) right = right && starts[i] < starts[i + 1];
        if (!right) throw std::out_of_range("starts must grow and stay within the points");
    }
    size_t length(size_t i) const { return static_cast<size_t>(starts[i + 1] - starts[i]); }
};

// One list of channels for each kernel (or group of kernels) of each dilation.
struct Plan {
    const int64_t *dilations, *channel_starts, *channels;
    size_t count, each, all;  // dilations, lists for each of them, and in all

    Plan(const Numbers& d, const Numbers& s, const Numbers& c, size_t channels_in)
        : dilations(d.data()), channel_starts(s.data()), channels(c.data()), count(d.shape(0)),
          each(0), all(s.shape(0) - 1) {
        check_aligned(d, s, c);
        wants(s.shape(0) >= 1 && (count ? all % count : all) == 0,
              "channel_starts must have one entry for each kernel of each dilation, and one more");
        each = count ? all / count : 0;
        for (size_t k = 0; k < count; ++k) wants(dilations[k] >= 1, "dilations must be >= 1");
        bool right = channel_starts[0] >= 0 &&
                     channel_starts[all] <= static_cast<int64_t>(c.shape(0));
        for (size_t k = 0; k < all; ++k)
            right = right && channel_starts[k] < channel_starts[k + 1];
        for (size_t k = 0; k < c.shape(0); ++k)
            right = right && channels[k] >= 0 && channels[k] < static_cast<int64_t>(channels_in);
        if (!right) throw std::out_of_range("channels must be those of the series");
    }
    const int64_t* of(size_t k) const { return channels + channel_starts[k]; }
    size_t size(size_t k) const {
        return static_cast<size_t>(channel_starts[k + 1] - channel_starts[k]);
    }
    // All places that a larger dilation reaches hold zeros, as those of this one do.
    size_t dilation(size_t k, size_t length) const {
        return static_cast<size_t>(std::min(dilations[k], static_cast<int64_t>(length)));
    }
    size_t reach(size_t length) const {
        size_t most = 1;
        for (size_t k = 0; k < count; ++k) most = std::max(most, dilation(k, length));
        return 4 * most;
    }
};

template <class T>
struct Padded {
    std::vector<T> values;
    size_t before = 0, stride = 0, length = 0;

    void shape(size_t channels, size_t n, size_t reach) {
        length = n;
        before = reach;
        stride = 2 * before + (n + padded_places - 1) / padded_places * padded_places;
        values.assign(channels * stride, T(0));
    }
    void put(const SeriesRows<T>& X, size_t i, size_t reach) {
        shape(X.d, X.length(i), reach);
        const T* x = X.points + static_cast<size_t>(X.starts[i]) * X.d;
        for (size_t t = 0; t < length; ++t)
            for (size_t c = 0; c < X.d; ++c) values[c * stride + before + t] = x[t * X.d + c];
    }
    // The sum of some channels of another one, in the order in which they are listed.
    void add_up(const Padded& all, const int64_t* channels, size_t count) {
        for (size_t q = 0; q < count; ++q) {
            const T* x = all.values.data() + static_cast<size_t>(channels[q]) * stride + before;
            T* sum = values.data() + before;
            for (size_t t = 0; t < length; ++t) sum[t] = q ? sum[t] + x[t] : x[t];
        }
    }
    PaddedSeries<T> view() const { return {values.data(), stride, before, length}; }
};

template <class T>
void fixed_convolutions(Table<const T> x, Numbers starts, Numbers dilations,
                        Numbers channel_starts, Numbers channels, Numbers bias_starts,
                        List<const T> biases, size_t pools, Table<T> out) {
    check_aligned(bias_starts, biases, out);
    const SeriesRows<T> X(x, starts);
    const Plan plan(dilations, channel_starts, channels, X.d);
    wants(plan.count == 0 || plan.each == fixed_kernels, "each dilation has 84 kernels");
    wants(pools == 1 || pools == 4, "pools must be 1 or 4");
    wants(bias_starts.shape(0) == plan.all + 1, "bias_starts must be as long as channel_starts");
    const int64_t* first = bias_starts.data();
    const size_t columns = biases.shape(0);
    bool right = first[0] == 0 && first[plan.all] == static_cast<int64_t>(columns);
    for (size_t k = 0; k < plan.all; ++k) right = right && first[k] <= first[k + 1];
    if (!right) throw std::out_of_range("bias_starts must grow from 0 to the number of biases");
    wants(out.shape(0) == X.count && out.shape(1) == pools * columns,
          "out must be (n, pools * biases)");
    const T* bounds = biases.data();
    T* values = out.data();
    nb::gil_scoped_release release;
    Padded<T> series;
    std::vector<T> sums, responses;
    for (size_t i = 0; i < X.count; ++i) {
        const size_t n = X.length(i);
        series.put(X, i, plan.reach(n));
        sums.resize(X.d * n);
        responses.resize(n);
        T* row = values + i * pools * columns;
        for (size_t k = 0; k < plan.all; ++k) {
            const size_t at = k / plan.each, kernel = k % plan.each, d = plan.dilation(at, n);
            if (kernel == 0) convolutions<T>().add_taps(series.view(), X.d, d, sums.data());
            const size_t begin = static_cast<size_t>(first[k]);
            const size_t end = static_cast<size_t>(first[k + 1]);
            if (begin == end) continue;
            convolutions<T>().respond(series.view(), kernel, d, sums.data(), plan.of(k),
                                      plan.size(k), responses.data());
            // half of the kernels do not count places whose taps are beyond an end, if others exist
            const size_t left_out = (at + kernel) % 2 && n > 8 * d ? 4 * d : 0;
            convolutions<T>().pool(responses.data() + left_out, n - 2 * left_out, bounds + begin,
                                   end - begin, pools, columns, row + begin);
        }
    }
}

// out <- the responses of one series, examples[k], to each kernel of each dilation, one after the
// other.
template <class T>
void fixed_responses(Table<const T> x, Numbers starts, Numbers dilations, Numbers channel_starts,
                     Numbers channels, Numbers examples, List<T> out) {
    check_aligned(examples, out);
    const SeriesRows<T> X(x, starts);
    const Plan plan(dilations, channel_starts, channels, X.d);
    wants(plan.count == 0 || plan.each == fixed_kernels, "each dilation has 84 kernels");
    wants(examples.shape(0) == plan.all, "examples must have one entry for each kernel");
    const int64_t* chosen = examples.data();
    size_t total = 0;
    for (size_t k = 0; k < plan.all; ++k) {
        if (chosen[k] < 0 || chosen[k] >= static_cast<int64_t>(X.count))
            throw std::out_of_range("examples must be numbers of series");
        total += X.length(static_cast<size_t>(chosen[k]));
    }
    wants(out.shape(0) == total, "out must have one entry for each point of the examples");
    T* values = out.data();
    nb::gil_scoped_release release;
    Padded<T> series;
    std::vector<T> sums;
    for (size_t k = 0; k < plan.all; ++k) {
        const size_t i = static_cast<size_t>(chosen[k]), n = X.length(i);
        const size_t d = plan.dilation(k / plan.each, n);
        series.put(X, i, 4 * d);
        sums.resize(X.d * n);
        convolutions<T>().add_taps(series.view(), X.d, d, sums.data());
        convolutions<T>().respond(series.view(), k % plan.each, d, sums.data(), plan.of(k),
                                  plan.size(k), values);
        values += n;
    }
}

template <class T>
void competing_convolutions(Table<const T> x, Numbers starts, Numbers dilations,
                            Numbers channel_starts, Numbers channels, Table<const T> weights,
                            Table<T> out) {
    check_aligned(weights, out);
    const SeriesRows<T> X(x, starts);
    const Plan plan(dilations, channel_starts, channels, X.d);
    constexpr size_t size = kernel_group * taps, columns = 2 * kernel_group;
    wants(weights.shape(0) == plan.all && weights.shape(1) == size,
          "weights must be (groups, 72): of 8 kernels with 9 taps");
    wants(out.shape(0) == X.count && out.shape(1) == plan.all * columns,
          "out must be (n, 16 groups)");
    const T* w = weights.data();
    T* values = out.data();
    nb::gil_scoped_release release;
    Padded<T> series, sum;
    for (size_t i = 0; i < X.count; ++i) {
        const size_t n = X.length(i), reach = plan.reach(n);
        series.put(X, i, reach);
        sum.shape(1, n, reach);
        for (size_t k = 0; k < plan.all; ++k) {
            sum.add_up(series, plan.of(k), plan.size(k));
            convolutions<T>().compete(sum.view(), w + k * size, plan.dilation(k / plan.each, n),
                                      values + (i * plan.all + k) * columns);
        }
    }
}

template <class T>
void bind_convolutions_as(nb::module_& m) {
    const auto lists = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("x").noconvert(), nb::arg("starts").noconvert(),
              nb::arg("dilations").noconvert(), nb::arg("channel_starts").noconvert(),
              nb::arg("channels").noconvert(), more...);
    };
    lists("fixed_convolutions", fixed_convolutions<T>, nb::arg("bias_starts").noconvert(),
          nb::arg("biases").noconvert(), nb::arg("pools"), nb::arg("out").noconvert());
    lists("fixed_responses", fixed_responses<T>, nb::arg("examples").noconvert(),
          nb::arg("out").noconvert());
    lists("competing_convolutions", competing_convolutions<T>, nb::arg("weights").noconvert(),
          nb::arg("out").noconvert());
}

}  // namespace

void bind_convolutions(nb::module_& m) {
    bind_convolutions_as<float>(m);
    bind_convolutions_as<double>(m);
}

}  // namespace mercer
