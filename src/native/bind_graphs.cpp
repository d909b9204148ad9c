// Loops over graphs, called by the kernels that count (kernels/key_counts.py): colours of nodes,
// lengths of shortest paths, small subgraphs, and the sorted counts of all of them.
//
// Shervashidze et al., "Weisfeiler-Lehman graph kernels", 2011; Borgwardt & Kriegel, "Shortest-path
// kernels on graphs", 2005; Shervashidze et al., "Efficient graphlet kernels", 2009.
#include <algorithm>
#include <vector>

#include "utf8.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr uint64_t golden = 0x9e3779b97f4a7c15, second = 0xd1b54a32d192ed03,
                   third = 0x8cb92ba72f3d8dd7;

// The finaliser of splitmix64.
inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

void check_ascending(const List<const int64_t>& starts, uint64_t end, const char* message) {
    bool ascend = starts.shape(0) >= 1 && starts.data()[0] == 0;
    for (size_t i = 1; ascend && i < starts.shape(0); ++i)
        ascend = starts.data()[i - 1] <= starts.data()[i];
    if (!ascend || uint64_t(starts.data()[starts.shape(0) - 1]) != end)
        throw std::out_of_range(message);
}

// Graphs as lists of neighbours; all that leads to an address is checked here.
struct GraphList {
    const int64_t *nodes, *rows;
    const int32_t* neighbours;
    size_t count, n;

    GraphList(const List<const int64_t>& node_starts, const List<const int64_t>& row_starts,
              const List<const int32_t>& to)
        : nodes(node_starts.data()), rows(row_starts.data()), neighbours(to.data()) {
        check_aligned(node_starts, row_starts, to);
        wants(row_starts.shape(0) >= 1, "row_starts must have N + 1 entries");
        n = row_starts.shape(0) - 1;
        check_ascending(node_starts, n, "node_starts must ascend from 0 to the number of nodes");
        count = node_starts.shape(0) - 1;
        check_ascending(row_starts, to.shape(0),
                        "row_starts must ascend from 0 to the number of neighbours");
        for (size_t g = 0; g < count; ++g) {
            const int64_t size = nodes[g + 1] - nodes[g];
            for (int64_t e = rows[nodes[g]]; e < rows[nodes[g + 1]]; ++e)
                if (neighbours[e] < 0 || neighbours[e] >= size)
                    throw std::out_of_range("neighbours must be nodes of the same graph");
        }
    }
    size_t size(size_t g) const { return static_cast<size_t>(nodes[g + 1] - nodes[g]); }
};

// out[t] <- the colours of all nodes after t rounds, out[0] the labels. A colour is a number that
// depends on the colour before and on those of the neighbours, in any order; on both sides where
// there are edges that lead back.
void wl_colours(List<const int64_t> node_starts, List<const int64_t> row_starts,
                List<const int32_t> neighbours, List<const uint64_t> edge_labels,
                List<const int64_t> back_starts, List<const int32_t> back,
                List<const uint64_t> back_labels, Table<uint64_t> out) {
    check_aligned(edge_labels, back_labels, out);
    const GraphList G(node_starts, row_starts, neighbours);
    const bool directed = back_starts.shape(0) > 0;
    const GraphList B = directed ? GraphList(node_starts, back_starts, back) : G;
    wants(out.shape(0) >= 1 && out.shape(1) == G.n, "out must be (rounds + 1, N)");
    const bool marked = edge_labels.shape(0) > 0;
    wants(!marked || edge_labels.shape(0) == neighbours.shape(0), "one label for each neighbour");
    wants(!(marked && directed) || back_labels.shape(0) == back.shape(0),
          "one label for each neighbour on the way back");
    const size_t n = G.n, rounds = out.shape(0) - 1;
    uint64_t* colours = out.data();
    const uint64_t *marks = edge_labels.data(), *marks_back = back_labels.data();
    nb::gil_scoped_release release;
    std::vector<uint64_t> term(n), marked_mix, back_mix;
    if (marked) {
        for (size_t e = 0; e < edge_labels.shape(0); ++e) marked_mix.push_back(mix(marks[e] + third));
        for (size_t e = 0; directed && e < back_labels.shape(0); ++e)
            back_mix.push_back(mix(marks_back[e] + third));
    }
    const auto sum = [&](const GraphList& L, const std::vector<uint64_t>& m, int64_t first, size_t v) {
        uint64_t total = 0;
        for (int64_t e = L.rows[v]; e < L.rows[v + 1]; ++e) {
            const uint64_t t = term[static_cast<size_t>(first + L.neighbours[e])];
            total += marked ? mix(t + m[static_cast<size_t>(e)]) : t;
        }
        return total;
    };
    for (size_t t = 0; t < rounds; ++t) {
        const uint64_t* old = colours + t * n;
        uint64_t* fresh = colours + (t + 1) * n;
        for (size_t v = 0; v < n; ++v) term[v] = mix(old[v] + golden);
        for (size_t g = 0; g < G.count; ++g)
            for (int64_t v = G.nodes[g]; v < G.nodes[g + 1]; ++v) {
                const size_t at = static_cast<size_t>(v);
                uint64_t total = mix(old[at] ^ second) + sum(G, marked_mix, G.nodes[g], at);
                if (directed) total += mix(sum(B, back_mix, G.nodes[g], at) ^ third);
                fresh[at] = mix(total);
            }
    }
}

nb::tuple counted(std::vector<int64_t>&& starts, std::vector<uint64_t>&& found) {
    return nb::make_tuple(as_array(std::move(starts)), as_array(std::move(found)));
}

// The runs of equal numbers in a sorted list, as pairs (number, how often).
void add_runs(const std::vector<uint64_t>& sorted, std::vector<uint64_t>& found) {
    for (size_t i = 0; i < sorted.size();) {
        size_t end = i;
        while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
        found.push_back(sorted[i]);
        found.push_back(end - i);
        i = end;
    }
}

// The keys (rounds, N) of the nodes of each graph, counted: pairs (key, how often), ascending.
nb::tuple count_keys(List<const int64_t> node_starts, Table<const uint64_t> keys) {
    check_aligned(node_starts, keys);
    const size_t rounds = keys.shape(0), n = keys.shape(1);
    check_ascending(node_starts, n, "node_starts must ascend from 0 to the number of nodes");
    const size_t count = node_starts.shape(0) - 1;
    const int64_t* nodes = node_starts.data();
    const uint64_t* k = keys.data();
    std::vector<int64_t> starts{0};
    std::vector<uint64_t> found, some;
    {
        nb::gil_scoped_release release;
        for (size_t g = 0; g < count; ++g) {
            some.clear();
            for (size_t t = 0; t < rounds; ++t)
                some.insert(some.end(), k + t * n + nodes[g], k + t * n + nodes[g + 1]);
            std::sort(some.begin(), some.end());
            add_runs(some, found);
            starts.push_back(static_cast<int64_t>(found.size() / 2));
        }
    }
    return counted(std::move(starts), std::move(found));
}

// How often each key was seen: open addressing, by powers of 2.
class Seen {
public:
    void add(uint64_t key) {
        if (2 * (used + 1) > keys.size()) grow();
        put(key, 1);
    }
    void drain(std::vector<uint64_t>& found) {
        std::vector<std::pair<uint64_t, uint64_t>> all;
        for (size_t i = 0; i < keys.size(); ++i)
            if (counts[i] > 0) all.emplace_back(keys[i], counts[i]);
        std::sort(all.begin(), all.end());
        for (const auto& [key, times] : all) {
            found.push_back(key);
            found.push_back(times);
        }
        std::fill(counts.begin(), counts.end(), uint64_t(0));
        used = 0;
    }

private:
    std::vector<uint64_t> keys, counts;
    size_t used = 0;

    void put(uint64_t key, uint64_t times) {
        size_t i = key & (keys.size() - 1);
        while (counts[i] > 0 && keys[i] != key) i = (i + 1) & (keys.size() - 1);
        used += counts[i] == 0;
        keys[i] = key;
        counts[i] += times;
    }
    void grow() {
        std::vector<uint64_t> old_keys, old_counts;
        old_keys.swap(keys);
        old_counts.swap(counts);
        keys.assign(std::max<size_t>(64, 2 * old_keys.size()), 0);
        counts.assign(keys.size(), 0);
        used = 0;
        for (size_t i = 0; i < old_keys.size(); ++i)
            if (old_counts[i] > 0) put(old_keys[i], old_counts[i]);
    }
};

// Pairs (key of two labels and a number of steps, how often) of each graph: one for each ordered
// pair of different nodes, the second of which is reached from the first.
nb::tuple path_counts(List<const int64_t> node_starts, List<const int64_t> row_starts,
                      List<const int32_t> neighbours, List<const uint64_t> labels) {
    check_aligned(labels);
    const GraphList G(node_starts, row_starts, neighbours);
    wants(labels.shape(0) == G.n, "labels must have one entry for each node");
    const uint64_t* of = labels.data();
    std::vector<int64_t> starts{0};
    std::vector<uint64_t> found;
    {
        nb::gil_scoped_release release;
        Seen seen;
        std::vector<int64_t> steps;
        std::vector<int32_t> queue;
        for (size_t g = 0; g < G.count; ++g) {
            const size_t size = G.size(g), first = static_cast<size_t>(G.nodes[g]);
            steps.assign(size, -1);
            queue.resize(size);
            for (size_t s = 0; s < size; ++s) {
                const uint64_t from = mix(of[first + s] + golden);
                size_t head = 0, tail = 0;
                queue[tail++] = static_cast<int32_t>(s);
                steps[s] = 0;
                while (head < tail) {
                    const size_t v = static_cast<size_t>(queue[head++]);
                    if (v != s) {
                        const uint64_t far = static_cast<uint64_t>(steps[v]) * second;
                        seen.add(mix(from + mix(of[first + v] ^ third) * 3 + far));
                    }
                    for (int64_t e = G.rows[first + v]; e < G.rows[first + v + 1]; ++e) {
                        const size_t w = static_cast<size_t>(G.neighbours[e]);
                        if (steps[w] < 0) {
                            steps[w] = steps[v] + 1;
                            queue[tail++] = static_cast<int32_t>(w);
                        }
                    }
                }
                for (size_t i = 0; i < tail; ++i) steps[static_cast<size_t>(queue[i])] = -1;
            }
            seen.drain(found);
            starts.push_back(static_cast<int64_t>(found.size() / 2));
        }
    }
    return counted(std::move(starts), std::move(found));
}

inline double choose2(double x) { return x * (x - 1) / 2; }
inline double choose3(double x) { return x * (x - 1) * (x - 2) / 6; }

// out (graphs, 8) <- how many sets of 3 and 4 nodes induce: wedge, triangle; star, path, tailed
// triangle, cycle, diamond, clique. Neighbours ascend, and lead both ways; loops are passed over.
void graphlet_counts(List<const int64_t> node_starts, List<const int64_t> row_starts,
                     List<const int32_t> neighbours, Table<double> out) {
    check_aligned(out);
    const GraphList G(node_starts, row_starts, neighbours);
    wants(out.shape(0) == G.count && out.shape(1) == 8, "out must be (graphs, 8)");
    double* values = out.data();
    nb::gil_scoped_release release;
    std::vector<double> degree, triangles, ways;
    std::vector<char> marked, both;
    std::vector<size_t> common, reached;
    for (size_t g = 0; g < G.count; ++g) {
        const size_t size = G.size(g), first = static_cast<size_t>(G.nodes[g]);
        degree.assign(size, 0);
        triangles.assign(size, 0);
        ways.assign(size, 0);
        marked.assign(size, 0);
        both.assign(size, 0);
        const auto each = [&](size_t v, auto&& visit) {
            for (int64_t e = G.rows[first + v]; e < G.rows[first + v + 1]; ++e) {
                const size_t w = static_cast<size_t>(G.neighbours[e]);
                if (w != v) visit(w);
            }
        };
        for (size_t v = 0; v < size; ++v) each(v, [&](size_t) { degree[v] += 1; });
        double wedges = 0, thirds = 0, stars = 0, diamonds = 0, cliques = 0, squares = 0, paths = 0;
        for (size_t u = 0; u < size; ++u) {
            each(u, [&](size_t w) { marked[w] = 1; });
            each(u, [&](size_t v) {
                if (v < u) return;
                common.clear();
                each(v, [&](size_t w) {
                    if (marked[w]) common.push_back(w);
                });
                const double shared = static_cast<double>(common.size());
                thirds += shared;
                triangles[u] += shared;
                triangles[v] += shared;
                diamonds += choose2(shared);
                paths += (degree[u] - 1) * (degree[v] - 1);
                for (size_t w : common) both[w] = 1;
                for (size_t w : common)
                    if (w > v) each(w, [&](size_t x) { cliques += x > w && both[x]; });
                for (size_t w : common) both[w] = 0;
            });
            each(u, [&](size_t w) { marked[w] = 0; });
            reached.clear();
            each(u, [&](size_t w) {
                each(w, [&](size_t v) {
                    if (v <= u) return;
                    if (ways[v] == 0) reached.push_back(v);
                    ways[v] += 1;
                });
            });
            for (size_t v : reached) {
                squares += choose2(ways[v]);
                ways[v] = 0;
            }
        }
        const double T = thirds / 3, K = cliques;
        double tailed = 0;
        for (size_t v = 0; v < size; ++v) {
            wedges += choose2(degree[v]);
            stars += choose3(degree[v]);
            tailed += triangles[v] / 2 * (degree[v] - 2);
        }
        const double diamond = diamonds - 6 * K;
        const double cycle = squares / 2 - diamond - 3 * K;  // a square has two diagonals
        tailed -= 4 * diamond + 12 * K;
        double* o = values + 8 * g;
        o[0] = wedges - 3 * T;
        o[1] = T;
        o[2] = stars - tailed - 2 * diamond - 4 * K;
        o[3] = paths - 3 * T - 2 * tailed - 4 * cycle - 6 * diamond - 12 * K;
        o[4] = tailed;
        o[5] = cycle;
        o[6] = diamond;
        o[7] = K;
    }
}

// Pairs (key, count) of rows, sorted by key and then by row.
void sort_keys(List<const int64_t> row_starts, Table<const uint64_t> pairs, List<uint64_t> keys,
               List<int32_t> rows, List<double> counts) {
    check_aligned(row_starts, pairs, keys, rows, counts);
    const size_t total = pairs.shape(0);
    wants(pairs.shape(1) == 2, "pairs must be (total, 2)");
    wants(keys.shape(0) == total && rows.shape(0) == total && counts.shape(0) == total,
          "keys, rows and counts must have one entry for each pair");
    check_ascending(row_starts, total, "row_starts must ascend from 0 to the number of pairs");
    const int64_t* starts = row_starts.data();
    const size_t n = row_starts.shape(0) - 1;
    const uint64_t* p = pairs.data();
    uint64_t* k = keys.data();
    int32_t* r = rows.data();
    double* c = counts.data();
    nb::gil_scoped_release release;
    struct Item {
        uint64_t key;
        double count;
        int32_t row;
    };
    // keys are hashes: their first bits alone sort them almost
    int bits = 0;
    while (bits < 20 && (size_t(8) << bits) < total) ++bits;
    const auto bucket = [&](uint64_t key) {
        return bits == 0 ? size_t(0) : static_cast<size_t>(key >> (64 - bits));
    };
    std::vector<size_t> at((size_t(1) << bits) + 1);
    for (size_t i = 0; i < total; ++i) ++at[bucket(p[2 * i]) + 1];
    for (size_t b = 1; b < at.size(); ++b) at[b] += at[b - 1];
    std::vector<size_t> next(at.begin(), at.end());
    std::vector<Item> items(total);
    for (size_t row = 0; row < n; ++row)
        for (int64_t i = starts[row]; i < starts[row + 1]; ++i)
            items[next[bucket(p[2 * i])]++] = {p[2 * i], static_cast<double>(p[2 * i + 1]),
                                               static_cast<int32_t>(row)};
    for (size_t b = 0; b + 1 < at.size(); ++b)
        std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(at[b]),
                         items.begin() + static_cast<std::ptrdiff_t>(at[b + 1]),
                         [](const Item& x, const Item& y) { return x.key < y.key; });
    for (size_t i = 0; i < total; ++i) {
        k[i] = items[i].key;
        r[i] = items[i].row;
        c[i] = items[i].count;
    }
}

}  // namespace

void bind_graphs(nb::module_& m) {
    const auto graphs = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("node_starts").noconvert(), nb::arg("row_starts").noconvert(),
              nb::arg("neighbours").noconvert(), more...);
    };
    graphs("wl_colours", wl_colours, nb::arg("edge_labels").noconvert(),
           nb::arg("back_starts").noconvert(), nb::arg("back").noconvert(),
           nb::arg("back_labels").noconvert(), nb::arg("out").noconvert());
    graphs("path_counts", path_counts, nb::arg("labels").noconvert());
    graphs("graphlet_counts", graphlet_counts, nb::arg("out").noconvert());
    m.def("count_keys", count_keys, nb::arg("node_starts").noconvert(), nb::arg("keys").noconvert());
    m.def("sort_keys", sort_keys, nb::arg("row_starts").noconvert(), nb::arg("pairs").noconvert(),
          nb::arg("keys").noconvert(), nb::arg("rows").noconvert(), nb::arg("counts").noconvert());
}

}  // namespace mercer
