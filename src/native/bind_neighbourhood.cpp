// Python bindings of neighbourhood.cpp, and the threads that share a step: one thread leads, and
// others may help. A part of the step has items (groups of tiles), which each thread claims one at
// a time; the leader waits for claimed items alone, so that a helper that never came delays nobody.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Item = void (*)(NeighbourhoodStep&, size_t, size_t);

NeighbourhoodNet make_net(size_t columns, size_t extra, size_t width, size_t hidden) {
    wants(columns + extra > 0, "columns + extra must be at least 1");
    wants(extra % 8 == 0 && width % 16 == 0 && width > 0 && hidden % 8 == 0,
          "extra and hidden must be multiples of 8, width one of 16");
    const size_t most = size_t(1) << 24;  // no product of two sizes overflows
    wants(columns < most && extra < most && width < most && hidden < most,
          "columns, extra, width and hidden must be below 2^24");
    NeighbourhoodNet net{};
    net.columns = columns;
    net.extra = extra;
    net.width = width;
    net.hidden = hidden;
    net.encoded = kValues * columns + extra;
    size_t at = 0;
    const auto next = [&at](size_t size) { return std::exchange(at, at + size); };
    net.frequencies = next(columns * kFrequencies);
    net.periodic = next(kPeriodic * kValues);
    net.periodic_bias = next(kValues);
    net.linear = next(net.encoded * width);
    net.linear_bias = next(width);
    if (hidden) {
        net.gain1 = next(width);
        net.shift1 = next(width);
        net.into = next(hidden * width);
        net.into_bias = next(hidden);
        net.out = next(hidden * width);
        net.out_bias = next(width);
        net.gain2 = next(width);
        net.shift2 = next(width);
    }
    net.size = at;
    return net;
}

// One array of numbers, whose parts begin at multiples of 64 bytes.
class Arena {
public:
    size_t want(size_t size) { return std::exchange(size_, size_ + (size + 15) / 16 * 16); }
    void make() {
        numbers_.assign(size_ + 16, 0);
        const auto address = reinterpret_cast<std::uintptr_t>(numbers_.data());
        start_ = numbers_.data() + (64 - address % 64) % 64 / sizeof(float);
    }
    float* at(size_t place) { return start_ + place; }

private:
    size_t size_ = 0;
    std::vector<float> numbers_;
    float* start_ = nullptr;
};

class Training {
public:
    Training(size_t columns, size_t extra, size_t width, size_t hidden, size_t outputs,
             size_t candidates, size_t queries, bool classes, size_t workers)
        : candidates_(candidates), queries_(queries) {
        wants(0 < queries && queries <= candidates && candidates < (size_t(1) << 24),
              "queries must be at least 1, and at most the candidates");
        wants(workers > 0 && outputs > 0, "workers and outputs must be at least 1");
        workers_ = workers;
        step_.net = make_net(columns, extra, width, hidden);
        step_.outputs = outputs;
        step_.classes = classes;
        const NeighbourhoodNet& net = step_.net;
        const size_t tiles = (candidates + kTile - 1) / kTile;
        const size_t query_tiles = (queries + kTile - 1) / kTile;
        const size_t rows = tiles * kTile, groups = std::min(kGroups, tiles);
        const auto parts = [&](auto part) {
            part(step_.F, rows * columns * kPeriodic);
            part(step_.E, rows * net.encoded);
            for (float** wide : {&step_.U, &step_.V, &step_.Z, &step_.dV, &step_.dX, &step_.Zrow})
                part(*wide, rows * width);
            part(step_.H, rows * hidden);
            for (float** sums : {&step_.means1, &step_.spreads1, &step_.means2, &step_.spreads2})
                part(*sums, tiles * width);
            part(step_.norms, rows);
            part(step_.votes, rows);
            part(step_.Y, classes ? 0 : rows * outputs);
            part(step_.pulls, query_tiles * rows * width);
            part(step_.own, query_tiles * kTile * width);
            part(step_.norm1, 4 * width);
            part(step_.norm2, 4 * width);
            part(step_.gradients, groups * net.size);
            const size_t pairs = (2 * rows + kTile + 2 * outputs) * kTile;
            const size_t layers = (hidden + kValues * columns + 2 * width + 64) * kTile;
            step_.scratch_size = (std::max(pairs, layers) + 15) / 16 * 16;
            part(step_.scratch, workers * step_.scratch_size);
        };
        std::vector<size_t> places;
        parts([&](float*&, size_t size) { places.push_back(arena_.want(size)); });
        arena_.make();
        size_t next = 0;
        parts([&](float*& array, size_t) { array = arena_.at(places[next++]); });
        codes_.assign(rows, 0);
        losses_.assign(query_tiles, 0);
        step_.codes = codes_.data();
        step_.losses = losses_.data();
    }

    size_t size() const { return step_.net.size; }

    double run(Floats parameters, Floats first, Floats second, Floats running, Matrix numbers,
               Matrix extra, Matrix targets, Codes labels, Values weights, Rows rows,
               size_t queries, double rate, double iteration, double dropout, uint64_t seed) {
        NeighbourhoodStep& s = step_;
        const size_t size = s.net.size, n = numbers.shape(0), live = rows.shape(0);
        wants(parameters.shape(0) == size && first.shape(0) == size && second.shape(0) == size &&
                  running.shape(0) == 4 * s.net.width,
              "parameters and moments must have `size` numbers, running 4 width");
        wants(numbers.shape(1) == s.net.columns && extra.shape(1) == s.net.extra &&
                  extra.shape(0) == n && weights.shape(0) == n,
              "numbers must be (n, columns), extra (n, extra), weights (n,)");
        wants(s.classes ? labels.shape(0) == n
                        : targets.shape(0) == n && targets.shape(1) == s.outputs,
              "labels must be (n,), or targets (n, outputs)");
        wants(2 <= live && live <= candidates_ && 0 < queries && queries <= queries_ &&
                  queries <= live,
              "there must be 2 rows at least, and not more than candidates; queries among them");
        wants(0 <= dropout && dropout < 1, "dropout must be in [0, 1)");
        check_aligned(parameters, first, second, running, numbers, extra, targets, labels, weights,
                      rows);
        const int64_t* row = rows.data();
        for (size_t i = 0; i < live; ++i)
            wants(0 <= row[i] && static_cast<size_t>(row[i]) < n, "rows must be below n");
        s.parameters = parameters.data();
        s.first = first.data();
        s.second = second.data();
        s.running = running.data();
        s.numbers = numbers.data();
        s.extra = extra.data();
        s.targets = targets.data();
        s.labels = labels.data();
        s.weights = weights.data();
        s.rows = row;
        s.live = live;
        s.queries = queries;
        s.tiles = (live + kTile - 1) / kTile;
        s.query_tiles = (queries + kTile - 1) / kTile;
        s.groups = std::min(kGroups, s.tiles);
        s.rate = static_cast<float>(rate);
        s.correction1 = static_cast<float>(1 / (1 - std::pow(0.9, iteration)));
        s.correction2 = static_cast<float>(1 / (1 - std::pow(0.999, iteration)));
        s.dropout = static_cast<float>(dropout);
        s.seed = seed;
        s.total = 0;
        for (size_t i = 0; i < queries; ++i) s.total += s.weights[row[i]];
        wants(s.total > 0, "some query must have a weight");
        nb::gil_scoped_release release;
        const NeighbourhoodLoops& f = loops->neighbourhoods;
        const bool hidden = s.net.hidden > 0;
        share(f.encode, s.groups);
        if (hidden) {
            f.norms1(s);
            share(f.hide, s.groups);
            f.norms2(s);
        }
        share(f.place, s.groups);
        share(f.compare, s.query_tiles);
        share(f.gather, s.groups);
        if (hidden) {
            f.slopes2(s);
            share(f.unhide, s.groups);
            f.slopes1(s);
        }
        share(f.decode, s.groups);
        share(f.update, kGroups);
        double loss = 0;
        for (size_t q = 0; q < s.query_tiles; ++q) loss += s.losses[q];
        return loss;
    }

    // The gradients of the last step.
    void gradients(Floats out) const {
        wants(out.shape(0) == step_.net.size, "out must have `size` numbers");
        std::copy_n(step_.gradients, step_.net.size, out.data());
    }

    void open() { closed_.store(false); }
    void close() { closed_.store(true); }

    // Take items of steps until `close`.
    void help(size_t worker) {
        wants(0 < worker && worker < workers_, "worker must be from 1 to workers - 1");
        nb::gil_scoped_release release;
        for (size_t idle = 0; !closed_.load(std::memory_order_relaxed);) {
            if (take(worker))
                idle = 0;
            else if (++idle > 4000)
                std::this_thread::yield();
        }
    }

private:
    // Items of the present part: its number in the upper 32 bits, how many there are, how many are
    // claimed. A part begins when all items of the one before are done.
    void share(Item item, size_t count) {
        item_ = item;
        done_.store(0, std::memory_order_relaxed);
        part_ = (part_ + 1) & 0xffffffff;
        claims_.store(part_ << 32 | uint64_t(count) << 16, std::memory_order_release);
        while (take(0)) {
        }
        for (size_t idle = 0; done_.load(std::memory_order_acquire) < count;)
            if (++idle > 4000) std::this_thread::yield();
    }

    bool take(size_t worker) {
        uint64_t claims = claims_.load(std::memory_order_acquire);
        if ((claims & 0xffff) >= (claims >> 16 & 0xffff)) return false;
        if (!claims_.compare_exchange_strong(claims, claims + 1, std::memory_order_acq_rel))
            return true;
        item_(step_, claims & 0xffff, worker);
        done_.fetch_add(1, std::memory_order_release);
        return true;
    }

    NeighbourhoodStep step_{};
    size_t candidates_, queries_, workers_;
    Arena arena_;
    std::vector<int32_t> codes_;
    std::vector<double> losses_;
    Item item_ = nullptr;
    uint64_t part_ = 0;
    std::atomic<uint64_t> claims_{0};
    std::atomic<size_t> done_{0};
    std::atomic<bool> closed_{true};
};

void embed(Matrix numbers, Matrix extra, Values parameters, Values running, size_t width,
           size_t hidden, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> Z) {
    NeighbourhoodStep s{};
    s.net = make_net(numbers.shape(1), extra.shape(1), width, hidden);
    const size_t n = numbers.shape(0);
    wants(extra.shape(0) == n && Z.shape(0) == n && Z.shape(1) == width &&
              parameters.shape(0) == s.net.size && running.shape(0) == 4 * width,
          "shapes must be numbers (n, columns), extra (n, extra), Z (n, width)");
    check_aligned(numbers, extra, parameters, running, Z);
    const float *x = numbers.data(), *more = extra.data();
    s.parameters = const_cast<float*>(parameters.data());  // which are only read
    s.running = const_cast<float*>(running.data());
    float* out = Z.data();
    nb::gil_scoped_release release;
    std::vector<float> buffer(kTile * (s.net.columns * kPeriodic + s.net.encoded + 4 * width +
                                       hidden) + 8 * width);
    float* at = buffer.data();
    const auto next = [&at](size_t size) { return std::exchange(at, at + size); };
    s.F = next(kTile * s.net.columns * kPeriodic);
    s.E = next(kTile * s.net.encoded);
    s.U = next(kTile * width);
    s.V = next(kTile * width);
    s.H = next(kTile * hidden);
    s.scratch = next(2 * kTile * width);
    s.norm1 = next(4 * width);
    s.norm2 = next(4 * width);
    s.numbers = x;
    s.extra = more;
    loops->neighbourhoods.embed(s, n, out);
}

void smooth(Matrix queries, Matrix candidates, Matrix targets, Values weights, Values temperatures,
            nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
    const size_t n = queries.shape(0), m = candidates.shape(0), width = queries.shape(1);
    const size_t outputs = targets.shape(1), count = temperatures.shape(0);
    wants(candidates.shape(1) == width && targets.shape(0) == m && weights.shape(0) == m &&
              out.shape(0) == count && out.shape(1) == n && out.shape(2) == outputs && m > 0,
          "shapes must be queries (n, width), candidates (m, width), targets (m, outputs), weights "
          "(m,), out (temperatures, n, outputs)");
    check_aligned(queries, candidates, targets, weights, temperatures, out);
    const float *q = queries.data(), *c = candidates.data(), *y = targets.data();
    const float *w = weights.data(), *taus = temperatures.data();
    float* values = out.data();
    nb::gil_scoped_release release;
    std::vector<float> scratch(smooth_scratch(width, outputs, count));
    loops->neighbourhoods.smooth(q, n, c, m, width, y, outputs, w, taus, count, values,
                                 scratch.data());
}

}  // namespace

void bind_neighbourhood(nb::module_& m) {
    nb::class_<Training>(m, "NeighbourhoodTraining")
        .def(nb::init<size_t, size_t, size_t, size_t, size_t, size_t, size_t, bool, size_t>(),
             nb::arg("columns"), nb::arg("extra"), nb::arg("width"), nb::arg("hidden"),
             nb::arg("outputs"), nb::arg("candidates"), nb::arg("queries"), nb::arg("classes"),
             nb::arg("workers"))
        .def_prop_ro("size", &Training::size)
        .def("run", &Training::run, nb::arg("parameters").noconvert(),
             nb::arg("first").noconvert(), nb::arg("second").noconvert(),
             nb::arg("running").noconvert(), nb::arg("numbers").noconvert(),
             nb::arg("extra").noconvert(), nb::arg("targets").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("queries"), nb::arg("rate"),
             nb::arg("iteration"), nb::arg("dropout"), nb::arg("seed"))
        .def("gradients", &Training::gradients, nb::arg("out").noconvert())
        .def("open", &Training::open)
        .def("close", &Training::close)
        .def("help", &Training::help, nb::arg("worker"));
    m.def("neighbourhood_embed", &embed, nb::arg("numbers").noconvert(),
          nb::arg("extra").noconvert(), nb::arg("parameters").noconvert(),
          nb::arg("running").noconvert(), nb::arg("width"), nb::arg("hidden"),
          nb::arg("Z").noconvert());
    m.def("neighbourhood_smooth", &smooth, nb::arg("queries").noconvert(),
          nb::arg("candidates").noconvert(), nb::arg("targets").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("temperatures").noconvert(),
          nb::arg("out").noconvert());
}

}  // namespace mercer
