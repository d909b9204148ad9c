// Loops of learners/density and search/spanning.py: parts of a spanning tree that is being built, the
// tree of clusters that it gives, and medoids.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T, size_t axes>
using Tensor = nb::ndarray<T, nb::ndim<axes>, nb::c_contig, nb::device::cpu>;
using Ids = Tensor<const int64_t, 1>;
using Numbers = Tensor<const double, 1>;

// The root of x in a forest, whose paths become shorter.
int64_t root_of(int64_t* up, int64_t x) {
    while (up[x] != x) x = up[x] = up[up[x]];
    return x;
}

template <class Rows>
void check_rows(const Rows& rows, size_t n) {
    for (size_t i = 0; i < rows.size(); ++i)
        wants(rows.data()[i] >= 0 && static_cast<size_t>(rows.data()[i]) < n,
              "rows must be in 0, ..., n - 1");
}

// The best edges of all rows among those to the neighbours that are known (see Reach in
// row_search.hpp). An edge that has come to lie within a part is forgotten; first (n) is where the
// list of a row may leave its part.
void reach_listed(Tensor<const double, 2> near, Tensor<const int64_t, 2> near_ids, Numbers core,
                  Ids part, Tensor<int64_t, 1> first, Tensor<double, 1> lengths,
                  Tensor<int64_t, 1> ids, Tensor<double, 1> limits) {
    const size_t n = near.shape(0), k = near.shape(1);
    wants(near_ids.shape(0) == n && near_ids.shape(1) == k && core.shape(0) == n &&
              part.shape(0) == n && first.shape(0) == n && lengths.shape(0) == n &&
              ids.shape(0) == n && limits.shape(0) == n,
          "shapes must be near and near_ids (n, k), and (n,)");
    check_rows(part, n);
    check_rows(near_ids, n);
    for (size_t i = 0; i < n; ++i)
        wants(first.data()[i] >= 0 && ids.data()[i] < static_cast<int64_t>(n),
              "first must be >= 0, and ids must be below n");
    const int64_t* in = part.data();
    for (size_t i = 0; i < n; ++i) {
        const double* far = near.data() + i * k;
        const int64_t* rows = near_ids.data() + i * k;
        double& best = lengths.data()[i];
        int64_t& other = ids.data()[i];
        if (other >= 0 && in[other] == in[i]) {
            best = std::numeric_limits<double>::infinity();
            other = -1;
        }
        size_t j = static_cast<size_t>(first.data()[i]);
        while (j < k && in[rows[j]] == in[i]) ++j;
        first.data()[i] = static_cast<int64_t>(j);
        for (; j < k && far[j] < best; ++j) {
            if (in[rows[j]] == in[i]) continue;
            const double length = std::max({far[j], core.data()[i], core.data()[rows[j]]});
            if (length < best) {
                best = length;
                other = rows[j];
            }
        }
        double& limit = limits.data()[in[i]];
        limit = std::min(limit, best);
    }
}

// Joins the parts of the ends of each edge, unless they are one; tells which edges did. part (n) is
// the root of each row.
void join_parts(Ids a, Ids b, Tensor<int64_t, 1> part, Tensor<bool, 1> joins) {
    const size_t n = part.shape(0), edges = a.shape(0);
    wants(b.shape(0) == edges && joins.shape(0) == edges, "a, b and joins must have one length");
    check_rows(a, n);
    check_rows(b, n);
    int64_t* up = part.data();
    for (size_t i = 0; i < n; ++i)
        wants(up[i] >= 0 && up[i] <= static_cast<int64_t>(i), "parts must be at most their rows");
    for (size_t e = 0; e < edges; ++e) {
        const int64_t x = root_of(up, a.data()[e]), y = root_of(up, b.data()[e]);
        joins.data()[e] = x != y;
        up[std::max(x, y)] = std::min(x, y);
    }
    for (size_t i = 0; i < n; ++i) up[i] = up[up[i]];  // roots come before their rows
}

// The condensed tree (Campello et al. 2013, section 3) of a spanning tree whose edges ascend by their
// length. Edges of one length join several parts at once, so that the result does not depend on the
// order of the rows. home and fell (n): the cluster that each row was in last, and the density 1 /
// length at which it left. above, birth and size (n): of the clusters, of which the root is the first,
// and each comes after the one that it is part of. Returns their number.
size_t condense(Ids a, Ids b, Numbers lengths, int64_t least, Tensor<int64_t, 1> home,
                Tensor<double, 1> fell, Tensor<int64_t, 1> above, Tensor<double, 1> birth,
                Tensor<int64_t, 1> sizes) {
    const size_t n = home.shape(0), inner = lengths.shape(0), nodes = n + inner;
    wants(n == inner + 1 && a.shape(0) == inner && b.shape(0) == inner && fell.shape(0) == n &&
              above.shape(0) == n && birth.shape(0) == n && sizes.shape(0) == n && least > 1,
          "shapes must be a, b, lengths (n - 1,), and (n,), and least must be > 1");
    check_rows(a, n);
    check_rows(b, n);
    const double* h = lengths.data();
    // the binary tree of merges: node v >= n is the merge by edge v - n
    std::vector<int64_t> up(n), name(n), size(nodes, 1), parent(nodes, -1);
    std::iota(up.begin(), up.end(), 0);
    std::iota(name.begin(), name.end(), 0);
    for (size_t e = 0; e < inner; ++e) {
        const int64_t x = root_of(up.data(), a.data()[e]), y = root_of(up.data(), b.data()[e]);
        wants(x != y, "a and b must be the edges of a tree");
        parent[name[x]] = parent[name[y]] = static_cast<int64_t>(n + e);
        size[n + e] = size[name[x]] + size[name[y]];
        up[y] = x;
        name[x] = static_cast<int64_t>(n + e);
    }
    // whether a node is a part of a merge, and no part of a merge of several parts
    const auto apart = [&](size_t v) { return v < n || h[v - n] != h[parent[v] - n]; };
    std::vector<size_t> top(nodes), large(nodes, 0);
    for (size_t v = nodes; v-- > n;)
        top[v] = v == nodes - 1 || apart(v) ? v : top[parent[v]];
    for (size_t v = 0; v + 1 < nodes; ++v)
        if (apart(v) && size[v] >= least) ++large[top[parent[v]]];
    std::vector<int64_t> in(nodes, 0);
    std::vector<double> left(nodes, -1);  // the density at which the rows of a node left, if they did
    size_t clusters = 1;
    above.data()[0] = -1;
    birth.data()[0] = 0;
    sizes.data()[0] = static_cast<int64_t>(n);
    for (size_t v = nodes - 1; v-- > 0;) {
        const size_t p = static_cast<size_t>(parent[v]);
        in[v] = in[p];
        left[v] = left[p];
        if (left[v] >= 0 || !apart(v)) continue;
        const double density = 1 / h[p - n];
        if (size[v] < least) {
            left[v] = density;
        } else if (large[top[p]] > 1) {
            above.data()[clusters] = in[p];
            birth.data()[clusters] = density;
            sizes.data()[clusters] = size[v];
            in[v] = static_cast<int64_t>(clusters++);
        }
    }
    for (size_t i = 0; i < n; ++i) {
        home.data()[i] = in[i];
        fell.data()[i] = std::max(left[i], 0.0);
    }
    return clusters;
}

// FasterPAM (Schubert & Rousseeuw, Information Systems 101, 2021): each row in turn takes the place of
// the medoid that it is best exchanged for, if the sum of the distances to the nearest medoid falls. It
// ends when no row does, or after `most` passes. D (n, n) is symmetric. Returns how many rows were
// looked at.
size_t faster_pam(Tensor<const double, 2> D, Tensor<int64_t, 1> medoids, size_t most) {
    const size_t n = D.shape(0), k = medoids.shape(0);
    wants(D.shape(1) == n && k >= 2 && k <= n, "D must be (n, n), and medoids (k,), 2 <= k <= n");
    check_rows(medoids, n);
    int64_t* chosen = medoids.data();
    std::vector<char> taken(n, 0);
    for (size_t m = 0; m < k; ++m) {
        wants(!taken[chosen[m]], "medoids must differ");
        taken[chosen[m]] = 1;
    }
    nb::gil_scoped_release release;
    struct Near {
        double first, second;  // the distances to the nearest two medoids
        size_t place, other;   // and which they are
    };
    std::vector<Near> near(n);
    std::vector<double> removal(k), change(k);  // of the sum, if a medoid is removed
    double total = 0;
    const auto meet = [](Near& mine, double far, size_t m) {
        if (far < mine.first)
            mine = {far, mine.first, m, mine.place};
        else if (far < mine.second)
            mine.second = far, mine.other = m;
    };
    const auto assign = [&](size_t i) {
        near[i] = {INFINITY, INFINITY, 0, 0};
        for (size_t m = 0; m < k; ++m) meet(near[i], D.data()[chosen[m] * n + i], m);
    };
    const auto sum = [&] {
        total = 0;
        std::fill(removal.begin(), removal.end(), 0.0);
        for (const Near& mine : near) {
            total += mine.first;
            removal[mine.place] += mine.second - mine.first;
        }
    };
    for (size_t i = 0; i < n; ++i) assign(i);
    sum();
    size_t looked = 0;
    for (size_t x = 0, since = 0; since < n && looked < most * n; x = (x + 1) % n, ++looked, ++since) {
        if (taken[x]) continue;
        const double* far = D.data() + x * n;
        std::copy(removal.begin(), removal.end(), change.begin());
        double shared = 0;  // of the sum, whichever medoid is removed
        for (size_t i = 0; i < n; ++i) {
            const Near& mine = near[i];
            if (far[i] < mine.first) {
                shared += far[i] - mine.first;
                change[mine.place] += mine.first - mine.second;
            } else if (far[i] < mine.second) {
                change[mine.place] += far[i] - mine.second;
            }
        }
        const size_t m = std::min_element(change.begin(), change.end()) - change.begin();
        if (!(change[m] + shared < -1e-12 * total)) continue;  // less is rounding
        taken[chosen[m]] = 0;
        taken[x] = 1;
        chosen[m] = static_cast<int64_t>(x);
        for (size_t i = 0; i < n; ++i) {
            if (near[i].place == m || near[i].other == m)
                assign(i);
            else
                meet(near[i], far[i], m);
        }
        sum();
        since = 0;
    }
    return looked;
}

}  // namespace

void bind_density(nb::module_& m) {
    m.def("reach_listed", reach_listed, nb::arg("near").noconvert(), nb::arg("near_ids").noconvert(),
          nb::arg("core"), nb::arg("part"), nb::arg("first").noconvert(),
          nb::arg("lengths").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("limits").noconvert());
    m.def("faster_pam", faster_pam, nb::arg("D").noconvert(), nb::arg("medoids").noconvert(),
          nb::arg("most"));
    m.def("join_parts", join_parts, nb::arg("a"), nb::arg("b"), nb::arg("part").noconvert(),
          nb::arg("joins").noconvert());
    m.def("condense", condense, nb::arg("a"), nb::arg("b"), nb::arg("lengths"), nb::arg("least"),
          nb::arg("home").noconvert(), nb::arg("fell").noconvert(), nb::arg("above").noconvert(),
          nb::arg("birth").noconvert(), nb::arg("sizes").noconvert());
}

}  // namespace mercer
