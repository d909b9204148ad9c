// Python bindings of the search for neighbours by descent (search/descent.py). The loops that only
// move numbers of rows are here; they gain nothing from wider vectors, as distances do (descent.cpp).
//
// Every result is the same for any number of threads: a call writes to rows of its own, and which
// neighbours a list keeps does not depend on the order in which they come.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Numbers = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr size_t lanes = 16;      // rows have a multiple of so many numbers
constexpr size_t pairs_tried = 6; // pairs of pivots, of which a node takes the one that spreads it most
constexpr size_t looked_at = 64;  // rows of a node that are looked at for it
constexpr float nowhere = std::numeric_limits<float>::infinity();

inline uint64_t mixed(uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Rows of numbers, and how a tile of their distances is computed.
struct Rows {
    const float* rows;
    size_t n, d;
    bool squared;

    void tile(const float* A, const int32_t* a, size_t n_a, const int32_t* b, size_t n_b,
              float* out) const {
        const auto& found = loops->descents;
        (squared ? found.squares : found.manhattan)(A, a, n_a, rows, b, n_b, d, out);
    }
};

Rows rows_of(const Matrix<const float>& X, bool squared) {
    wants(X.shape(1) % lanes == 0, "rows must have a multiple of 16 numbers");
    wants(X.shape(0) < (size_t(1) << 31), "there must be fewer than 2^31 rows");
    check_aligned(X);
    return {X.data(), X.shape(0), X.shape(1), squared};
}

// The k nearest of each row that are known, ascending by distance, then by number; -1 for none.
struct Lists {
    int32_t* ids;
    float* far;
    uint8_t* fresh;
    size_t k;

    bool insert(size_t p, int32_t q, float f) {
        float* D = far + p * k;
        int32_t* J = ids + p * k;
        uint8_t* F = fresh + p * k;
        if (!(f < D[k - 1] || (f == D[k - 1] && q < J[k - 1]))) return false;
        for (size_t j = 0; j < k; ++j)
            if (J[j] == q) return false;
        size_t j = k - 1;
        for (; j > 0 && (D[j - 1] > f || (D[j - 1] == f && J[j - 1] > q)); --j) {
            D[j] = D[j - 1];
            J[j] = J[j - 1];
            F[j] = F[j - 1];
        }
        D[j] = f;
        J[j] = q;
        F[j] = 1;
        return true;
    }
};

Lists lists_of(const Matrix<int32_t>& ids, const Matrix<float>& far, const Matrix<uint8_t>& fresh,
               size_t n) {
    for (size_t axis = 0; axis < 2; ++axis)
        wants(ids.shape(axis) == far.shape(axis) && ids.shape(axis) == fresh.shape(axis),
              "ids, far and fresh must have one shape");
    wants(ids.shape(0) == n && ids.shape(1) > 0, "there must be a list for each row");
    check_aligned(ids, far, fresh);
    return {ids.data(), far.data(), fresh.data(), ids.shape(1)};
}

template <class A>
void wants_rows(const A& ids, size_t n, int64_t least) {
    const auto* begin = ids.data();
    for (size_t i = 0; i < ids.size(); ++i)
        wants(begin[i] >= least && begin[i] < static_cast<int64_t>(n), "a number of no row");
}

// --- partitions ----------------------------------------------------------------------------------

// Rows are parted where the difference of their distances to two pivots is the median, down to
// leaves. Nodes are in the order of a walk: children (nodes, 2) are later nodes, or ~ a leaf.
struct Partition {
    const float *table, *apart;
    size_t n, m, leaf;
    uint64_t seed;
    int32_t *order, *children, *pivots, *starts;
    float* bounds;
    size_t nodes = 0, leaves = 0;
    std::vector<std::pair<float, int32_t>> side;

    float gap(int32_t row, size_t a, size_t b) const {
        return table[row * m + a] - table[row * m + b];
    }

    int32_t part(size_t begin, size_t end) {
        if (end - begin <= leaf) {
            std::sort(order + begin, order + end);
            starts[leaves] = static_cast<int32_t>(begin);
            return ~static_cast<int32_t>(leaves++);
        }
        const size_t here = nodes++, size = end - begin;
        uint64_t drawn = mixed(seed ^ mixed(here + 1));
        double widest = -1;
        size_t first = 0, second = 0;
        for (size_t tried = 0; tried < pairs_tried; ++tried) {
            drawn = mixed(drawn);
            const size_t a = drawn % m, b = (drawn >> 32) % m;
            const float width = apart[a * m + b];
            if (!(width > 0)) continue;
            double sum = 0, squares = 0;
            const size_t step = (size + looked_at - 1) / looked_at;
            size_t count = 0;
            for (size_t i = begin; i < end; i += step, ++count) {
                const double t = gap(order[i], a, b);
                sum += t;
                squares += t * t;
            }
            const double spread = (squares - sum * sum / static_cast<double>(count)) / width;
            if (spread > widest) {
                widest = spread;
                first = a;
                second = b;
            }
        }
        side.resize(size);
        for (size_t i = 0; i < size; ++i)
            side[i] = {gap(order[begin + i], first, second), order[begin + i]};
        const size_t half = size / 2;
        std::nth_element(side.begin(), side.begin() + static_cast<ptrdiff_t>(half), side.end());
        for (size_t i = 0; i < size; ++i) order[begin + i] = side[i].second;
        bounds[here] = side[half].first;
        pivots[2 * here] = static_cast<int32_t>(first);
        pivots[2 * here + 1] = static_cast<int32_t>(second);
        // the order inside of a half depends on the library's sort: leaves are sorted, and the
        // rows that are looked at are the same because halves are
        std::sort(order + begin, order + begin + half);
        std::sort(order + begin + half, order + end);
        const int32_t left = part(begin, begin + half);
        const int32_t right = part(begin + half, end);
        children[2 * here] = left;
        children[2 * here + 1] = right;
        return static_cast<int32_t>(here);
    }
};

// --- candidates ----------------------------------------------------------------------------------

// Some of the rows that a row may be joined with, those with the smallest hashes; a heap.
struct Chosen {
    std::vector<std::pair<uint32_t, int32_t>> held;
    std::vector<uint32_t> counts;
    size_t room;

    Chosen(size_t n, size_t room) : held(n * room), counts(n, 0), room(room) {}

    void offer(size_t p, uint32_t hash, int32_t q) {
        auto* begin = held.data() + p * room;
        const size_t count = counts[p];
        if (count == room && begin->first <= hash) return;
        for (size_t j = 0; j < count; ++j)
            if (begin[j].second == q) return;
        if (count == room) {
            std::pop_heap(begin, begin + count);
            begin[count - 1] = {hash, q};
            std::push_heap(begin, begin + count);
        } else {
            begin[count] = {hash, q};
            std::push_heap(begin, begin + count + 1);
            ++counts[p];
        }
    }

    void write(int32_t* out) const {
        for (size_t p = 0; p < counts.size(); ++p)
            for (size_t j = 0; j < room; ++j)
                out[p * room + j] = j < counts[p] ? held[p * room + j].second : -1;
    }
};

}  // namespace

void bind_descent(nb::module_& m) {
    m.def(
        "descent_table",
        [](Matrix<const float> X, bool squared, Matrix<const float> Z, Numbers<const int32_t> listed,
           Matrix<float> out) {
            const Rows rows = rows_of(X, squared), asked = rows_of(Z, squared);
            const size_t n = asked.n, m = listed.shape(0);
            wants(rows.d == asked.d, "both sides must have as many columns");
            wants(out.shape(0) == n && out.shape(1) == m, "out must have all distances");
            wants_rows(listed, rows.n, 0);
            check_aligned(listed, out);
            const int32_t* pivots = listed.data();
            float* distances = out.data();
            nb::gil_scoped_release release;
            constexpr size_t step = 16;
            int32_t some[step];
            for (size_t i = 0; i < n; i += step) {
                const size_t count = std::min(step, n - i);
                std::iota(some, some + count, static_cast<int32_t>(i));
                rows.tile(asked.rows, some, count, pivots, m, distances + i * m);
            }
        },
        nb::arg("X").noconvert(), nb::arg("squared"), nb::arg("Z").noconvert(),
        nb::arg("listed").noconvert(), nb::arg("out").noconvert());
    m.def(
        "descent_parts",
        [](Matrix<const float> table, Matrix<const float> apart, size_t leaf, uint64_t seed,
           Numbers<int32_t> order, Matrix<int32_t> children, Matrix<int32_t> pivots,
           Numbers<float> bounds, Numbers<int32_t> starts) {
            const size_t n = table.shape(0), m = table.shape(1);
            wants(n > 0 && m > 0 && leaf > 0 && n < (size_t(1) << 31), "there must be rows and pivots");
            wants(apart.shape(0) == m && apart.shape(1) == m, "apart must be square");
            wants(order.shape(0) == n, "order must have all rows");
            // halves of more than `leaf` rows have more than leaf / 2
            const size_t most = 2 * n / (leaf + 1) + 1;
            wants(children.shape(0) >= most && pivots.shape(0) >= most && bounds.shape(0) >= most &&
                      starts.shape(0) >= most + 1 && children.shape(1) == 2 && pivots.shape(1) == 2,
                  "there must be room for all nodes");
            check_aligned(table, apart, order, children, pivots, bounds, starts);
            Partition made{table.data(), apart.data(), n, m, leaf, seed, order.data(),
                           children.data(), pivots.data(), starts.data(), bounds.data(), 0, 0, {}};
            nb::gil_scoped_release release;
            std::iota(made.order, made.order + n, 0);
            made.part(0, n);
            made.starts[made.leaves] = static_cast<int32_t>(n);
            return made.leaves;
        },
        nb::arg("table").noconvert(), nb::arg("apart").noconvert(), nb::arg("leaf"), nb::arg("seed"),
        nb::arg("order").noconvert(), nb::arg("children").noconvert(), nb::arg("pivots").noconvert(),
        nb::arg("bounds").noconvert(), nb::arg("starts").noconvert());
    m.def(
        "descent_leaves",
        [](Matrix<const float> X, bool squared, Numbers<const int32_t> order,
           Numbers<const int32_t> starts, Matrix<int32_t> ids, Matrix<float> far,
           Matrix<uint8_t> fresh) {
            const Rows rows = rows_of(X, squared);
            Lists lists = lists_of(ids, far, fresh, rows.n);
            const size_t leaves = starts.shape(0) - 1;
            wants(starts.shape(0) > 0 && starts.data()[0] >= 0, "starts must ascend");
            for (size_t l = 0; l < leaves; ++l)
                wants(starts.data()[l] <= starts.data()[l + 1], "starts must ascend");
            wants(starts.data()[leaves] <= static_cast<int64_t>(order.shape(0)), "starts must end in order");
            wants_rows(order, rows.n, 0);
            check_aligned(order, starts);
            const int32_t *listed = order.data(), *first = starts.data();
            nb::gil_scoped_release release;
            std::vector<float> out;
            for (size_t l = 0; l < leaves; ++l) {
                const int32_t* some = listed + first[l];
                const size_t size = first[l + 1] - first[l];
                out.resize(2 * size);
                for (size_t i = 0; i + 1 < size; i += 2) {
                    const size_t others = size - i - 1;
                    rows.tile(rows.rows, some + i, 2, some + i + 1, others, out.data());
                    for (size_t g = 0; g < 2; ++g)
                        for (size_t j = g; j < others; ++j) {
                            const int32_t a = some[i + g], b = some[i + 1 + j];
                            lists.insert(a, b, out[g * others + j]);
                            lists.insert(b, a, out[g * others + j]);
                        }
                }
            }
        },
        nb::arg("X").noconvert(), nb::arg("squared"), nb::arg("order").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("ids").noconvert(), nb::arg("far").noconvert(),
        nb::arg("fresh").noconvert());
    m.def(
        "descent_candidates",
        [](uint64_t seed, Matrix<int32_t> ids, Matrix<uint8_t> fresh, Matrix<int32_t> newer,
           Matrix<int32_t> older) {
            const size_t n = ids.shape(0), k = ids.shape(1), room = newer.shape(1);
            wants(fresh.shape(0) == n && fresh.shape(1) == k, "ids and fresh must have one shape");
            wants(newer.shape(0) == n && older.shape(0) == n && older.shape(1) == room && room > 0,
                  "newer and older must have a row for each row");
            wants_rows(ids, n, -1);
            check_aligned(ids, fresh, newer, older);
            const int32_t* J = ids.data();
            uint8_t* F = fresh.data();
            int32_t *young = newer.data(), *old = older.data();
            nb::gil_scoped_release release;
            Chosen chosen[2] = {Chosen(n, room), Chosen(n, room)};
            for (size_t p = 0; p < n; ++p)
                for (size_t j = 0; j < k; ++j) {
                    const int32_t q = J[p * k + j];
                    if (q < 0) continue;
                    const uint64_t low = std::min<uint64_t>(p, q), high = std::max<uint64_t>(p, q);
                    const auto hash = static_cast<uint32_t>(mixed(seed ^ mixed(low << 32 | high)));
                    Chosen& one = chosen[F[p * k + j] ? 0 : 1];
                    one.offer(p, hash, q);
                    one.offer(q, hash, static_cast<int32_t>(p));
                }
            chosen[0].write(young);
            chosen[1].write(old);
            for (size_t p = 0; p < n; ++p)
                for (size_t j = 0; j < k; ++j) {
                    const int32_t* some = young + p * room;
                    if (F[p * k + j] && std::find(some, some + room, J[p * k + j]) != some + room)
                        F[p * k + j] = 0;
                }
        },
        nb::arg("seed"), nb::arg("ids").noconvert(), nb::arg("fresh").noconvert(),
        nb::arg("newer").noconvert(), nb::arg("older").noconvert());
    m.def(
        "descent_join",
        [](Matrix<const float> X, bool squared, Matrix<const int32_t> newer,
           Matrix<const int32_t> older, Matrix<const float> far, Matrix<int32_t> pairs,
           Numbers<float> lengths) {
            const Rows rows = rows_of(X, squared);
            const size_t n = newer.shape(0), room = newer.shape(1), k = far.shape(1);
            wants(older.shape(0) == n && older.shape(1) == room, "newer and older must have one shape");
            wants(far.shape(0) == rows.n && k > 0, "far must have a row for each row");
            wants(pairs.shape(1) == 2 && pairs.shape(0) >= n * (room * (room - 1) / 2 + room * room) &&
                      lengths.shape(0) >= pairs.shape(0),
                  "there must be room for all pairs");
            wants_rows(newer, rows.n, -1);
            wants_rows(older, rows.n, -1);
            check_aligned(newer, older, far, pairs, lengths);
            const int32_t *young = newer.data(), *old = older.data();
            const float* D = far.data();
            int32_t* found = pairs.data();
            float* gaps = lengths.data();
            nb::gil_scoped_release release;
            std::vector<int32_t> some(2 * room);
            std::vector<float> out(4 * room), limits(2 * room);
            size_t count = 0;
            for (size_t p = 0; p < n; ++p) {
                size_t fresh = 0, all = 0;
                for (size_t j = 0; j < room; ++j)
                    if (young[p * room + j] >= 0) some[all++] = young[p * room + j];
                fresh = all;
                for (size_t j = 0; j < room && fresh; ++j)
                    if (old[p * room + j] >= 0) some[all++] = old[p * room + j];
                for (size_t j = 0; j < all; ++j) limits[j] = D[some[j] * k + k - 1];
                for (size_t i = 0; i < fresh && i + 1 < all; i += 2) {
                    const size_t many = std::min<size_t>(2, fresh - i), others = all - i - 1;
                    rows.tile(rows.rows, some.data() + i, many, some.data() + i + 1, others, out.data());
                    for (size_t g = 0; g < many; ++g)
                        for (size_t j = g; j < others; ++j) {
                            const float f = out[g * others + j];
                            const size_t b = i + 1 + j;
                            if ((f < limits[i + g] || f < limits[b]) && some[i + g] != some[b]) {
                                found[2 * count] = some[i + g];
                                found[2 * count + 1] = some[b];
                                gaps[count++] = f;
                            }
                        }
                }
            }
            return count;
        },
        nb::arg("X").noconvert(), nb::arg("squared"), nb::arg("newer").noconvert(),
        nb::arg("older").noconvert(), nb::arg("far").noconvert(), nb::arg("pairs").noconvert(),
        nb::arg("lengths").noconvert());
    m.def(
        "descent_apply",
        [](Matrix<const int32_t> pairs, Numbers<const float> lengths, size_t begin, size_t end,
           Matrix<int32_t> ids, Matrix<float> far, Matrix<uint8_t> fresh) {
            const size_t n = ids.shape(0), count = lengths.shape(0);
            Lists lists = lists_of(ids, far, fresh, n);
            wants(pairs.shape(0) == count && pairs.shape(1) == 2, "there must be a length for each pair");
            wants(begin <= end && end <= n, "begin and end must be rows");
            wants_rows(pairs, n, 0);
            check_aligned(pairs, lengths);
            const int32_t* P = pairs.data();
            const float* gaps = lengths.data();
            nb::gil_scoped_release release;
            size_t changed = 0;
            for (size_t u = 0; u < count; ++u) {
                const auto a = static_cast<size_t>(P[2 * u]), b = static_cast<size_t>(P[2 * u + 1]);
                if (a >= begin && a < end) changed += lists.insert(a, P[2 * u + 1], gaps[u]);
                if (b >= begin && b < end) changed += lists.insert(b, P[2 * u], gaps[u]);
            }
            return changed;
        },
        nb::arg("pairs").noconvert(), nb::arg("lengths").noconvert(), nb::arg("begin"), nb::arg("end"),
        nb::arg("ids").noconvert(), nb::arg("far").noconvert(), nb::arg("fresh").noconvert());
    m.def(
        "descent_links",
        [](Matrix<const int32_t> ids, Matrix<const float> far, Matrix<int32_t> links) {
            const size_t n = ids.shape(0), k = ids.shape(1);
            wants(far.shape(0) == n && far.shape(1) == k, "ids and far must have one shape");
            wants(links.shape(0) == n && links.shape(1) == 2 * k, "links must have two lists for each row");
            wants_rows(ids, n, -1);
            check_aligned(ids, far, links);
            const int32_t* J = ids.data();
            const float* D = far.data();
            int32_t* out = links.data();
            nb::gil_scoped_release release;
            std::vector<std::pair<float, int32_t>> others(n * k);  // a heap for each row
            std::vector<uint32_t> counts(n, 0);
            for (size_t p = 0; p < n; ++p)
                for (size_t j = 0; j < k; ++j) {
                    const int32_t q = J[p * k + j];
                    if (q < 0) continue;
                    const int32_t* back = J + static_cast<size_t>(q) * k;
                    if (std::find(back, back + k, static_cast<int32_t>(p)) != back + k) continue;
                    auto* heap = others.data() + static_cast<size_t>(q) * k;
                    const std::pair<float, int32_t> mine{D[p * k + j], static_cast<int32_t>(p)};
                    if (counts[q] < k) {
                        heap[counts[q]++] = mine;
                        std::push_heap(heap, heap + counts[q]);
                    } else if (mine < *heap) {
                        std::pop_heap(heap, heap + k);
                        heap[k - 1] = mine;
                        std::push_heap(heap, heap + k);
                    }
                }
            for (size_t p = 0; p < n; ++p)
                for (size_t j = 0; j < k; ++j) {
                    out[p * 2 * k + j] = J[p * k + j];
                    out[p * 2 * k + k + j] = j < counts[p] ? others[p * k + j].second : -1;
                }
        },
        nb::arg("ids").noconvert(), nb::arg("far").noconvert(), nb::arg("links").noconvert());
    // The rows of links, children, pivots and starts are trusted: see the rules of DescentIndex.
    m.def(
        "descent_walk",
        [](Matrix<const float> X, bool squared, Matrix<const int32_t> links,
           Matrix<const int32_t> children, Matrix<const int32_t> pivots, Numbers<const float> bounds,
           Numbers<const int32_t> starts, Matrix<const float> Z, Matrix<const float> table,
           Numbers<const int32_t> own, size_t probes, size_t wide, Matrix<int32_t> out) {
            const Rows rows = rows_of(X, squared), asked = rows_of(Z, squared);
            const size_t n = rows.n, q = asked.n, count = out.shape(1), width = links.shape(1);
            const size_t nodes = children.shape(0), m = table.shape(1), leaves = starts.shape(0) - 1;
            wants(asked.d == rows.d, "both sides must have as many columns");
            wants(links.shape(0) == n && out.shape(0) == q && table.shape(0) == q && m > 0,
                  "there must be links of each row, and a table and results of each query");
            wants(children.shape(1) == 2 && pivots.shape(0) == nodes && pivots.shape(1) == 2 &&
                      bounds.shape(0) == nodes && starts.shape(0) == nodes + 2,
                  "there must be pivots and a bound for each node, and one leaf more");
            wants(own.size() == q, "there must be a row of its own, or -1, for each query");
            wants(wide >= count && count > 0, "walks must be as wide as the results");
            wants(probes > 0, "walks must begin in a leaf");
            check_aligned(links, children, pivots, bounds, starts, table, own, out);
            wants_rows(own, n, -1);
            const int32_t *next = links.data(), *child = children.data(), *pivot = pivots.data(),
                          *first = starts.data(), *own_rows = own.data();
            const float *bound = bounds.data(), *far = table.data();
            int32_t* found = out.data();
            nb::gil_scoped_release release;
            struct Seen {
                float far;
                int32_t row;
                bool left;
                bool operator<(const Seen& other) const {
                    return far < other.far || (far == other.far && row < other.row);
                }
            };
            std::vector<Seen> pool;
            std::vector<uint32_t> met(n, 0);
            std::vector<int32_t> some;
            std::vector<float> gaps;
            std::vector<std::pair<float, int32_t>> others;  // a heap of branches not taken
            for (size_t i = 0; i < q; ++i) {
                const float* mine = far + i * m;
                const auto self = static_cast<int32_t>(i);
                const auto stamp = static_cast<uint32_t>(i + 1);
                if (own_rows[i] >= 0) met[own_rows[i]] = stamp;
                pool.clear();
                some.clear();
                others.assign(1, {0.0f, nodes ? 0 : ~0});
                for (size_t probe = 0; probe < probes && !others.empty(); ++probe) {
                    // the branch on whose other side the query lies by the least gap
                    std::pop_heap(others.begin(), others.end(), std::greater<>());
                    auto [crossed, node] = others.back();
                    others.pop_back();
                    while (node >= 0) {
                        const float gap = mine[pivot[2 * node]] - mine[pivot[2 * node + 1]];
                        const float over = gap - bound[node];
                        const bool right = gap >= bound[node];
                        others.emplace_back(std::max(crossed, std::fabs(over)),
                                            child[2 * node + !right]);
                        std::push_heap(others.begin(), others.end(), std::greater<>());
                        node = child[2 * node + right];
                    }
                    const size_t leaf = std::min(static_cast<size_t>(~node), leaves - 1);
                    for (int32_t row = first[leaf]; row < first[leaf + 1]; ++row)
                        if (met[row] != stamp) {
                            met[row] = stamp;
                            some.push_back(row);
                        }
                }
                size_t at = 0;  // no row before this one is left
                while (true) {
                    gaps.resize(some.size());
                    rows.tile(asked.rows, &self, 1, some.data(), some.size(), gaps.data());
                    for (size_t j = 0; j < some.size(); ++j) {
                        const Seen one{gaps[j], some[j], true};
                        if (pool.size() == wide && !(one < pool.back())) continue;
                        const auto place = std::lower_bound(pool.begin(), pool.end(), one);
                        at = std::min(at, static_cast<size_t>(place - pool.begin()));
                        pool.insert(place, one);
                        if (pool.size() > wide) pool.pop_back();
                    }
                    while (at < pool.size() && !pool[at].left) ++at;
                    if (at == pool.size()) break;
                    pool[at].left = false;
                    some.clear();
                    const int32_t* near = next + static_cast<size_t>(pool[at].row) * width;
                    for (size_t j = 0; j < width; ++j)
                        if (near[j] >= 0 && met[near[j]] != stamp) {
                            met[near[j]] = stamp;
                            some.push_back(near[j]);
                        }
                }
                for (size_t j = 0; j < count; ++j)
                    found[i * count + j] = j < pool.size() ? pool[j].row : -1;
            }
        },
        nb::arg("X").noconvert(), nb::arg("squared"), nb::arg("links").noconvert(),
        nb::arg("children").noconvert(), nb::arg("pivots").noconvert(), nb::arg("bounds").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("Z").noconvert(), nb::arg("table").noconvert(),
        nb::arg("own").noconvert(), nb::arg("probes"), nb::arg("wide"),
        nb::arg("out").noconvert());
    // The walks of many queries whose distances are computed elsewhere. Each opens the nearest row in
    // its view that is not closed, and lists those of the linked rows that it has not seen. Numbers of
    // no row are passed over, as to check all links would take longer than a step.
    m.def(
        "descent_open",
        [](Matrix<const int32_t> links, Matrix<const int32_t> ids, Matrix<uint8_t> closed,
           Matrix<uint8_t> seen, Matrix<int64_t> pairs) {
            const size_t n = links.shape(0), width = links.shape(1), q = ids.shape(0);
            const size_t wide = ids.shape(1);
            wants(closed.shape(0) == q && closed.shape(1) == wide, "ids and closed must have one shape");
            wants(seen.shape(0) == q && seen.shape(1) == n, "there must be a mark of each query and row");
            wants(pairs.shape(0) >= q * width && pairs.shape(1) == 2, "there must be room for all pairs");
            wants(n < (size_t(1) << 31), "there must be fewer than 2^31 rows");
            check_aligned(links, ids, pairs);
            const int32_t *next = links.data(), *view = ids.data();
            uint8_t *shut = closed.data(), *met = seen.data();
            int64_t* found = pairs.data();
            nb::gil_scoped_release release;
            size_t count = 0;
            for (size_t i = 0; i < q; ++i) {
                const size_t before = count;
                for (size_t j = 0; j < wide && count == before; ++j) {
                    const auto row = static_cast<uint32_t>(view[i * wide + j]);
                    if (shut[i * wide + j] || row >= n) continue;
                    shut[i * wide + j] = 1;
                    for (size_t l = 0; l < width; ++l) {
                        const auto near = static_cast<uint32_t>(next[row * width + l]);
                        if (near >= n || met[i * n + near]) continue;
                        met[i * n + near] = 1;
                        found[2 * count] = static_cast<int64_t>(i);
                        found[2 * count++ + 1] = near;
                    }
                }
            }
            return count;
        },
        nb::arg("links").noconvert(), nb::arg("ids").noconvert(), nb::arg("closed").noconvert(),
        nb::arg("seen").noconvert(), nb::arg("pairs").noconvert());
    // Puts rows with their distances into the views of queries, which ascend by distance, then by row.
    m.def(
        "descent_meet",
        [](Matrix<const int64_t> pairs, Numbers<const double> lengths, Matrix<int32_t> ids,
           Matrix<double> far, Matrix<uint8_t> closed) {
            const size_t q = ids.shape(0), wide = ids.shape(1), count = lengths.shape(0);
            for (size_t axis = 0; axis < 2; ++axis)
                wants(ids.shape(axis) == far.shape(axis) && ids.shape(axis) == closed.shape(axis),
                      "ids, far and closed must have one shape");
            wants(pairs.shape(0) == count && pairs.shape(1) == 2, "there must be a length for each pair");
            wants(wide > 0, "views must have room");
            check_aligned(pairs, lengths, ids, far);
            const int64_t* both = pairs.data();
            for (size_t u = 0; u < count; ++u)
                wants(both[2 * u] >= 0 && both[2 * u] < static_cast<int64_t>(q) &&
                          both[2 * u + 1] >= 0 && both[2 * u + 1] <= INT32_MAX,
                      "pairs must hold numbers of queries and rows");
            const double* gaps = lengths.data();
            int32_t* view = ids.data();
            double* reached = far.data();
            uint8_t* shut = closed.data();
            nb::gil_scoped_release release;
            for (size_t u = 0; u < count; ++u) {
                const size_t first = static_cast<size_t>(both[2 * u]) * wide;
                const auto row = static_cast<int32_t>(both[2 * u + 1]);
                const double f = gaps[u];
                const auto after = [&](size_t j) {
                    return reached[first + j] > f || (reached[first + j] == f && view[first + j] > row);
                };
                size_t j = wide - 1;
                if (!after(j)) continue;
                for (; j > 0 && after(j - 1); --j) {
                    view[first + j] = view[first + j - 1];
                    reached[first + j] = reached[first + j - 1];
                    shut[first + j] = shut[first + j - 1];
                }
                view[first + j] = row;
                reached[first + j] = f;
                shut[first + j] = 0;
            }
        },
        nb::arg("pairs").noconvert(), nb::arg("lengths").noconvert(), nb::arg("ids").noconvert(),
        nb::arg("far").noconvert(), nb::arg("closed").noconvert());
}

}  // namespace mercer
