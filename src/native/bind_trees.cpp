// Loops over ordered trees, called by kernels/trees.py: numbers for productions and subtrees, and sums
// over pairs of nodes that are alike.
//
// Collins & Duffy, "Convolution kernels for natural language", 2001; Moschitti, "Efficient convolution
// kernels for dependency and constituent syntactic trees", 2006. Nothing here calls itself: nodes stand
// before those below them, so that the last ones come first.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr uint64_t golden = 0x9e3779b97f4a7c15, second = 0xd1b54a32d192ed03,
                   third = 0x8cb92ba72f3d8dd7;
constexpr uint64_t nothing = ~uint64_t(0);       // the production of a leaf
constexpr size_t most_pairs = size_t(1) << 27;   // of nodes that are alike: 1 GB

// The finaliser of splitmix64.
inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

void check_starts(const List<const int64_t>& starts, size_t end) {
    bool ascend = starts.shape(0) >= 1 && starts.data()[0] == 0;
    for (size_t i = 1; ascend && i < starts.shape(0); ++i)
        ascend = starts.data()[i - 1] <= starts.data()[i];
    if (!ascend || uint64_t(starts.data()[starts.shape(0) - 1]) != end)
        throw std::out_of_range("starts must ascend from 0 to the number of nodes");
}

// out[v] <- production, subtree, nodes of the subtree, nodes with children in it; from rows (label,
// number of children).
void tree_nodes(List<const int64_t> starts, Table<const uint64_t> values, Table<uint64_t> out) {
    check_aligned(starts, values, out);
    const size_t n = values.shape(0);
    wants(values.shape(1) == 2, "values must be (N, 2)");
    wants(out.shape(0) == n && out.shape(1) == 4, "out must be (N, 4)");
    check_starts(starts, n);
    const size_t count = starts.shape(0) - 1;
    const int64_t* ends = starts.data();
    const uint64_t* node = values.data();
    uint64_t* found = out.data();
    nb::gil_scoped_release release;
    std::vector<size_t> roots;  // of subtrees whose parent is still to come, the next one last
    for (size_t t = 0; t < count; ++t) {
        roots.clear();
        for (size_t v = size_t(ends[t + 1]); v-- > size_t(ends[t]);) {
            const uint64_t label = node[2 * v], children = node[2 * v + 1];
            if (children > roots.size())
                throw std::out_of_range("numbers of children must make whole trees");
            uint64_t production = mix(label + golden), subtree = mix(label + second);
            uint64_t size = 1, inner = children > 0;
            for (uint64_t k = 0; k < children; ++k) {
                const size_t c = roots.back();
                roots.pop_back();
                production = mix(production * third + mix(node[2 * c] + golden));
                subtree = mix(subtree * third + found[4 * c + 1]);
                size += found[4 * c + 2];
                inner += found[4 * c + 3];
            }
            production -= production == nothing;
            found[4 * v] = children > 0 ? production : nothing;
            found[4 * v + 1] = mix(subtree + children);
            found[4 * v + 2] = size;
            found[4 * v + 3] = inner;
            roots.push_back(v);
        }
        if (roots.size() > 1) throw std::out_of_range("numbers of children must make whole trees");
    }
}

// Trees whose nodes are rows (key, children, nodes of the subtree, place); all that leads to an
// address is checked here.
struct TreeList {
    const int64_t* starts;
    const uint64_t* nodes;
    size_t count;
    std::vector<size_t> rank;  // of each node among those of its key

    TreeList(const List<const int64_t>& ends, const Table<const uint64_t>& values)
        : starts(ends.data()), nodes(values.data()), rank(values.shape(0), nothing) {
        check_aligned(ends, values);
        wants(values.shape(1) == 4, "nodes must be (N, 4)");
        check_starts(ends, values.shape(0));
        count = ends.shape(0) - 1;
        for (size_t t = 0; t < count; ++t) check(t);
    }
    size_t size(size_t t) const { return size_t(starts[t + 1] - starts[t]); }

 private:
    void check(size_t t) {
        const size_t n = size(t), first = size_t(starts[t]);
        const uint64_t* v = nodes + 4 * first;
        for (size_t i = 0; i < n; ++i) {
            size_t next = i + 1, end = 0;
            bool whole = v[4 * i + 2] >= 1 && v[4 * i + 2] <= n - i;
            if (whole) end = i + size_t(v[4 * i + 2]);
            for (uint64_t k = 0; whole && k < v[4 * i + 1]; ++k) {
                whole = next < end && v[4 * next + 2] >= 1 && v[4 * next + 2] <= end - next;
                if (whole) next += size_t(v[4 * next + 2]);
            }
            if (!whole || next != end)
                throw std::out_of_range("sizes and numbers of children must make whole trees");
        }
        size_t same = 0;
        for (size_t i = 0; i < n; ++i) {
            const uint64_t at = v[4 * i + 3];
            if (at >= n || rank[first + at] != nothing)
                throw std::out_of_range("places must be a permutation of the nodes of a tree");
            const uint64_t key = v[4 * at], before = i ? v[4 * v[4 * (i - 1) + 3]] : 0;
            if (i && key < before) throw std::out_of_range("keys must ascend in the order of places");
            same = i && key == before ? same + 1 : 0;
            rank[first + at] = same;
        }
    }
};

// A number of any size, m 2^e.
struct Wide {
    double m = 0;
    int64_t e = 0;
    Wide(double value = 0) : m(value) { settle(); }
    Wide(double mantissa, int64_t exponent) : m(mantissa), e(exponent) { settle(); }
    Wide operator*(const Wide& b) const { return {m * b.m, e + b.e}; }
    Wide operator+(const Wide& b) const {
        if (m == 0 || b.m == 0) return m == 0 ? b : *this;
        const Wide &large = e > b.e ? *this : b, &small = e > b.e ? b : *this;
        const int64_t shift = large.e - small.e;
        return shift > 100 ? large : Wide(large.m + std::ldexp(small.m, int(-shift)), large.e);
    }

 private:
    void settle() {
        if (m == 0) {
            e = 0;
            return;
        }
        int shift;
        m = std::frexp(m, &shift);
        e += shift;
    }
};

struct Terms {
    bool partial;
    double decay, depth;
};

// The sum over pairs of nodes that are alike of Delta, from the last nodes on.
template <class Number>
class Pairs {
 public:
    Pairs(const TreeList& x, const TreeList& z, const Terms& given) : X(x), Z(z), terms(given) {}

    Number sum(size_t i, size_t j) {
        xs = size_t(X.starts[i]);
        zs = size_t(Z.starts[j]);
        a = X.nodes + 4 * xs;
        b = Z.nodes + 4 * zs;
        const size_t n = X.size(i), m = Z.size(j), pairs = match(n, m);
        if (pairs > most_pairs)
            throw std::length_error(
                "trees of " + std::to_string(n) + " and " + std::to_string(m) + " nodes have " +
                std::to_string(pairs) + " pairs of nodes that are alike, and " +
                std::to_string(most_pairs) + " are allowed: leave out the largest trees, or use "
                "Subtree, which takes no pairs.");
        if (delta.size() < pairs) delta.resize(pairs);
        Number total(0);
        for (size_t u = n; u-- > 0;) {
            for (size_t r = 0; r < group[u].count; ++r) {
                const size_t v = size_t(b[4 * (group[u].first + r) + 3]);
                const Number value = terms.partial ? partial(u, v) : subset(u, v);
                delta[group[u].at + r] = value;
                total = total + value;
            }
        }
        return total;
    }

 private:
    struct Group {
        size_t first = 0, count = 0, at = 0;  // places in z, and where their values stand
    };
    const TreeList &X, &Z;
    Terms terms;
    size_t xs = 0, zs = 0;
    const uint64_t *a = nullptr, *b = nullptr;
    std::vector<Group> group;
    std::vector<Number> delta, row;
    std::vector<size_t> left, right;

    // The nodes of z that each node of x is like; how many pairs there are.
    size_t match(size_t n, size_t m) {
        group.assign(n, Group{});
        size_t total = 0;
        for (size_t i = 0, j = 0; i < n && j < m;) {
            const uint64_t key = a[4 * a[4 * i + 3]], other = b[4 * b[4 * j + 3]];
            if (key == nothing && !terms.partial) break;
            if (key < other) {
                ++i;
            } else if (key > other) {
                ++j;
            } else {
                size_t end = j;
                while (end < m && b[4 * b[4 * end + 3]] == key) ++end;
                for (; i < n && a[4 * a[4 * i + 3]] == key; ++i) {
                    group[a[4 * i + 3]] = {j, end - j, total};
                    total += end - j;
                }
                j = end;
            }
        }
        return total;
    }

    // Delta of two children, 0 where they are not alike.
    Number known(size_t u, size_t v) const {
        const bool alike = a[4 * u] == b[4 * v] && group[u].count > 0;
        return alike ? delta[group[u].at + Z.rank[zs + v]] : Number(0);
    }

    Number subset(size_t u, size_t v) const {
        Number product(terms.decay);
        size_t c = u + 1, d = v + 1;
        const uint64_t children = std::min(a[4 * u + 1], b[4 * v + 1]);
        for (uint64_t k = 0; k < children; ++k) {
            product = product * (Number(1) + known(c, d));
            c += size_t(a[4 * c + 2]);
            d += size_t(b[4 * d + 2]);
        }
        return product;
    }

    void children(const uint64_t* nodes, size_t v, std::vector<size_t>& found) const {
        found.clear();
        for (uint64_t k = 0, c = v + 1; k < nodes[4 * v + 1]; ++k, c += nodes[4 * c + 2])
            found.push_back(size_t(c));
    }

    // S(k, l) is the sum over sequences that end at the children k and l: alike (1 + decay² D(k - 1,
    // l - 1)), where D sums S before, with a factor decay for each place between.
    Number partial(size_t u, size_t v) {
        const Number g(terms.decay), square(terms.decay * terms.decay);
        Number total(0);
        if (a[4 * u + 1] > 0 && b[4 * v + 1] > 0) {
            children(a, u, left);
            children(b, v, right);
            row.assign(right.size() + 1, Number(0));  // row[l + 1] = D(k - 1, l)
            for (const size_t c : left) {
                Number before = row[0], run(0);
                for (size_t l = 0; l < right.size(); ++l) {
                    const Number s = known(c, right[l]) * (Number(1) + square * before);
                    total = total + s;
                    run = s + g * run;
                    before = row[l + 1];
                    row[l + 1] = run + g * before;
                }
            }
        }
        return Number(terms.depth) * square * (Number(1) + total);
    }
};

// m 2^e <- the sums of all pairs of trees. With `upper` only j >= i is computed, and with `own` only
// j = i, in one column.
void tree_sums(List<const int64_t> x_starts, Table<const uint64_t> x_nodes,
               List<const int64_t> z_starts, Table<const uint64_t> z_nodes, bool partial,
               double decay, double depth, bool upper, bool own, Table<double> m, Table<int64_t> e) {
    check_aligned(m, e);
    const TreeList X(x_starts, x_nodes), Z(z_starts, z_nodes);
    const size_t width = own ? 1 : Z.count;
    wants(m.shape(0) == X.count && m.shape(1) == width, "m must be (n, m)");
    wants(e.shape(0) == X.count && e.shape(1) == width, "e must be (n, m)");
    wants(!own || X.count == Z.count, "own values need the same trees on both sides");
    double* mantissas = m.data();
    int64_t* exponents = e.data();
    nb::gil_scoped_release release;
    const Terms terms{partial, decay, depth};
    Pairs<double> plain(X, Z, terms);
    Pairs<Wide> wide(X, Z, terms);
    for (size_t i = 0; i < X.count; ++i) {
        for (size_t j = own || upper ? i : 0; j < (own ? i + 1 : width); ++j) {
            const size_t at = i * width + (own ? 0 : j);
            mantissas[at] = plain.sum(i, j);
            exponents[at] = 0;
            if (!std::isfinite(mantissas[at])) {
                const Wide value = wide.sum(i, j);
                mantissas[at] = value.m;
                exponents[at] = value.e;
            }
        }
    }
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("tree_nodes", tree_nodes, nb::arg("starts").noconvert(), nb::arg("values").noconvert(),
          nb::arg("out").noconvert());
    m.def("tree_sums", tree_sums, nb::arg("x_starts").noconvert(), nb::arg("x_nodes").noconvert(),
          nb::arg("z_starts").noconvert(), nb::arg("z_nodes").noconvert(), nb::arg("partial"),
          nb::arg("decay"), nb::arg("depth"), nb::arg("upper"), nb::arg("own"),
          nb::arg("m").noconvert(), nb::arg("e").noconvert());
}

}  // namespace mercer
