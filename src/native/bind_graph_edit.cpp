// The edit distance of labelled graphs, for distances/graphs.py: depth-first branch and bound over
// the maps of nodes, with a bound from an assignment. It exists once, because it gains nothing from
// wider vectors. All numbers that could lead to a wrong address are checked first.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "bind_labelled_graphs.hpp"

namespace mercer {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double ROUNDING = 1e-12;  // sums of the same costs in another order

struct EditCosts {
    double node, edge, relabel, relink;  // relink: the cheaper of relabelling, and deleting and inserting
};

// One graph as a matrix: edges[u n + v] is 0 without an edge, else 1 + the number of its label.
struct EditGraph {
    size_t n;
    const uint64_t* labels;
    std::vector<uint32_t> edges;

    uint32_t at(size_t u, size_t v) const { return edges[u * n + v]; }
};

// The edges of graph g, whose labels are their places in `names`, in ascending order.
EditGraph edit_graph(const LabelledGraphs& X, size_t g, const std::vector<uint64_t>& names) {
    const size_t first = static_cast<size_t>(X.nodes[g]);
    const size_t n = static_cast<size_t>(X.nodes[g + 1]) - first;
    EditGraph out{n, X.labels + first, std::vector<uint32_t>(n * n, 0)};
    for (size_t u = 0; u < n; ++u)
        for (int64_t e = X.rows[first + u]; e < X.rows[first + u + 1]; ++e) {
            size_t mark = 0;
            if (X.marks != nullptr)
                mark = static_cast<size_t>(
                    std::lower_bound(names.begin(), names.end(), X.marks[e]) - names.begin());
            out.edges[u * n + static_cast<size_t>(X.to[e])] = static_cast<uint32_t>(1 + mark);
        }
    return out;
}

void add_names(const LabelledGraphs& X, size_t g, std::vector<uint64_t>& names) {
    if (X.marks == nullptr) return;
    const int64_t *begin = X.rows + X.nodes[g], *end = X.rows + X.nodes[g + 1];
    names.insert(names.end(), X.marks + *begin, X.marks + *end);
}

// Asks Python now and then whether to go on: `ask` raises if not. A search of large graphs would else
// hold Ctrl-C back until its end.
class Pause {
  public:
    explicit Pause(const nb::callable& ask) : ask_(ask) {}

    // After work of so many operations, which take a nanosecond or two each.
    void after(size_t operations) {
        done_ += operations;
        if (done_ < BETWEEN) return;
        done_ = 0;
        nb::gil_scoped_acquire acquire;
        ask_();
    }

  private:
    static constexpr size_t BETWEEN = 50'000'000;
    const nb::callable& ask_;
    size_t done_ = 0;
};

// The least sum of cost[u, place[u]] for r <= s rows of different places. The method of Kuhn and
// Munkres with potentials, one augmenting path for each row.
class Assignment {
  public:
    Assignment(size_t most, Pause& pause)
        : pause_(pause), row_(most + 1), from_(most + 1), u_(most + 1), v_(most + 1), least_(most + 1), seen_(most + 1) {}

    void solve(const double* cost, size_t r, size_t s, size_t* place) {
        std::fill(u_.begin(), u_.begin() + static_cast<ptrdiff_t>(r + 1), 0);
        std::fill(v_.begin(), v_.begin() + static_cast<ptrdiff_t>(s + 1), 0);
        std::fill(row_.begin(), row_.begin() + static_cast<ptrdiff_t>(s + 1), 0);
        for (size_t i = 1; i <= r; ++i) {
            std::fill(least_.begin(), least_.begin() + static_cast<ptrdiff_t>(s + 1), INF);
            std::fill(seen_.begin(), seen_.begin() + static_cast<ptrdiff_t>(s + 1), char(0));
            row_[0] = i;
            size_t at = 0;
            do {
                seen_[at] = 1;
                const size_t own = row_[at];
                double step = INF;
                size_t next = 0;
                for (size_t j = 1; j <= s; ++j) {
                    if (seen_[j]) continue;
                    const double reduced = cost[(own - 1) * s + j - 1] - u_[own] - v_[j];
                    if (reduced < least_[j]) {
                        least_[j] = reduced;
                        from_[j] = at;
                    }
                    if (next == 0 || least_[j] < step) {
                        step = least_[j];
                        next = j;
                    }
                }
                for (size_t j = 0; j <= s; ++j) {
                    if (seen_[j]) {
                        u_[row_[j]] += step;
                        v_[j] -= step;
                    } else {
                        least_[j] -= step;
                    }
                }
                at = next;
                pause_.after(2 * s);
            } while (row_[at] != 0);
            while (at != 0) {
                row_[at] = row_[from_[at]];
                at = from_[at];
            }
        }
        for (size_t j = 1; j <= s; ++j)
            if (row_[j] != 0) place[row_[j] - 1] = j - 1;
    }

  private:
    Pause& pause_;
    std::vector<size_t> row_, from_;
    std::vector<double> u_, v_, least_;
    std::vector<char> seen_;
};

// All maps of the nodes of x to nodes of z or to nothing, as a tree: its k-th level decides about the
// k-th node. A part of the tree is left out if no map in it can be cheaper than the best one so far.
class Search {
  public:
    Search(const EditGraph& x, const EditGraph& z, const EditCosts& costs, bool directed, size_t marks,
           uint64_t steps, double limit, Pause& pause)
        : x_(x), z_(z), c_(costs), directed_(directed), marks_(std::max<size_t>(marks, 1)), left_(steps),
          limit_(limit), pause_(pause), order_(x.n), map_(x.n, z.n), best_map_(x.n), used_(z.n, 0),
          assignment_(std::max(x.n, z.n), pause), place_(std::max(x.n, z.n)), cost_(x.n * z.n),
          delete_(x.n), insert_(z.n), x_ends_(2 * x.n * marks_), z_ends_(2 * z.n * marks_),
          x_degrees_(2 * x.n), z_degrees_(2 * z.n) {
        // nodes with many edges to those before them come first, so that costs are known early
        std::vector<char> chosen(x.n, 0);
        for (size_t k = 0; k < x.n; ++k) {
            size_t best = x.n, most = 0;
            for (size_t u = 0; u < x.n; ++u) {
                if (chosen[u]) continue;
                size_t ends = 1;
                for (size_t p = 0; p < x.n; ++p)
                    if (x.at(u, p) || x.at(p, u)) ends += chosen[p] ? x.n + 1 : 1;
                if (ends > most) {
                    most = ends;
                    best = u;
                }
            }
            order_[k] = best;
            chosen[best] = 1;
            pause_.after(x.n * x.n);
        }
    }

    // The best cost that was found, and a number that no map is below.
    void run(double& lower, double& upper) {
        expand(0, 0, 0);
        upper = best_;
        lower = std::min(best_, open_);
    }

  private:
    double changed(uint32_t a, uint32_t b) const {
        return a == b ? 0 : (a == 0 || b == 0) ? c_.edge : c_.relink;
    }
    double swapped(size_t u, size_t v) const {
        return (x_.labels[u] == z_.labels[v] ? 0 : c_.relabel) + changed(x_.at(u, u), z_.at(v, v));
    }
    // What edges between u and p cost, and those between v and q that they become.
    double between(size_t u, size_t p, size_t v, size_t q) const {
        const double one = changed(x_.at(u, p), z_.at(v, q));
        return directed_ ? one + changed(x_.at(p, u), z_.at(q, v)) : one;
    }
    double edges(const EditGraph& g, size_t u, size_t p) const {
        return c_.edge * ((g.at(u, p) != 0) + (directed_ && g.at(p, u) != 0));
    }

    double price(const std::vector<size_t>& map) {
        double total = 0;
        std::vector<char> used(z_.n, 0);
        for (size_t u = 0; u < x_.n; ++u) {
            const size_t v = map[u];
            if (v < z_.n) used[v] = 1;
            total += v < z_.n ? swapped(u, v) : c_.node + c_.edge * (x_.at(u, u) != 0);
            for (size_t p = 0; p < u; ++p)
                total += v < z_.n && map[p] < z_.n ? between(u, p, v, map[p]) : edges(x_, u, p);
            pause_.after(u + z_.n);
        }
        for (size_t v = 0; v < z_.n; ++v)
            for (size_t q = 0; q <= v; ++q) {
                if (used[v] && used[q]) continue;
                total += q == v ? c_.node + c_.edge * (z_.at(v, v) != 0) : edges(z_, v, q);
            }
        return total;
    }

    void offer(const std::vector<size_t>& map) {
        best_ = std::min(best_, price(map));
    }
    bool hopeless(double least) const {
        return least >= best_ * (1 - ROUNDING) || least > limit_ * (1 + ROUNDING);
    }

    // How often each label is on edges between `nodes`: outgoing ones, and incoming ones if directed.
    void count(const EditGraph& g, const std::vector<size_t>& nodes, std::vector<uint32_t>& ends,
               std::vector<uint32_t>& degrees) const {
        const size_t sides = directed_ ? 2 : 1;
        for (const size_t u : nodes)
            for (size_t side = 0; side < sides; ++side) {
                uint32_t* counts = ends.data() + (2 * u + side) * marks_;
                std::fill(counts, counts + marks_, 0u);
                uint32_t degree = 0;
                for (const size_t p : nodes) {
                    const uint32_t mark = u == p ? 0 : side == 0 ? g.at(u, p) : g.at(p, u);
                    if (mark == 0) continue;
                    ++counts[mark - 1];
                    ++degree;
                }
                degrees[2 * u + side] = degree;
            }
    }
    // Half of what edges at u and v cost at least if their other ends are not decided: each edge has
    // two ends.
    double half_ends(size_t u, size_t v) const {
        double total = 0;
        for (size_t side = 0; side < (directed_ ? 2u : 1u); ++side) {
            const uint32_t *a = x_ends_.data() + (2 * u + side) * marks_,
                           *b = z_ends_.data() + (2 * v + side) * marks_;
            const uint32_t p = x_degrees_[2 * u + side], q = z_degrees_[2 * v + side];
            uint32_t common = 0;
            for (size_t mark = 0; mark < marks_; ++mark) common += std::min(a[mark], b[mark]);
            total += c_.edge * (std::max(p, q) - std::min(p, q)) + c_.relink * (std::min(p, q) - common);
        }
        return total / 2;
    }
    double half_degree(const std::vector<uint32_t>& degrees, size_t u) const {
        return c_.edge * (degrees[2 * u] + (directed_ ? degrees[2 * u + 1] : 0)) / 2;
    }

    // `spent`: what the first k nodes cost. `least`: no map below this place costs less.
    void expand(size_t k, double spent, double least) {
        if (left_ == 0) {
            open_ = std::min(open_, least);
            return;
        }
        --left_;
        std::vector<size_t> rest(order_.begin() + static_cast<ptrdiff_t>(k), order_.end()), free;
        for (size_t v = 0; v < z_.n; ++v)
            if (!used_[v]) free.push_back(v);
        const size_t r = rest.size(), s = free.size();
        count(x_, rest, x_ends_, x_degrees_);
        count(z_, free, z_ends_, z_degrees_);
        double base = spent;
        std::vector<double> own(s + 1), all(s + 1);  // of the next node: what is spent now
        for (size_t i = 0; i < r; ++i) {
            double sum = c_.node + c_.edge * (x_.at(rest[i], rest[i]) != 0);
            for (size_t p = 0; p < k; ++p) sum += edges(x_, rest[i], order_[p]);
            if (i == 0) own[s] = sum;
            delete_[i] = sum + half_degree(x_degrees_, rest[i]);
            base += delete_[i];
        }
        for (size_t j = 0; j < s; ++j) {
            double sum = c_.node + c_.edge * (z_.at(free[j], free[j]) != 0);
            for (size_t v = 0; v < z_.n; ++v)
                if (used_[v]) sum += edges(z_, free[j], v);
            insert_[j] = sum + half_degree(z_degrees_, free[j]);
            base += insert_[j];
        }
        const bool wide = r <= s;  // fewer rows than columns
        for (size_t i = 0; i < r; ++i) {
            pause_.after(s * (k + 2 * marks_));
            for (size_t j = 0; j < s; ++j) {
                double sum = swapped(rest[i], free[j]);
                for (size_t p = 0; p < k; ++p) {
                    const size_t u = order_[p], v = map_[u];
                    // edges of z to nodes that no node became are counted with those of z
                    sum += v < z_.n ? between(rest[i], u, free[j], v) : edges(x_, rest[i], u);
                }
                if (i == 0) own[j] = sum;
                const double gain = sum + half_ends(rest[i], free[j]) - delete_[i] - insert_[j];
                if (i == 0) all[j] = gain;
                cost_[wide ? i * s + j : j * r + i] = std::min(gain, 0.0);
            }
        }
        const size_t few = std::min(r, s);
        if (few > 0) assignment_.solve(cost_.data(), few, std::max(r, s), place_.data());
        best_map_ = map_;
        for (const size_t u : rest) best_map_[u] = z_.n;
        double bound = base;
        for (size_t i = 0; i < few; ++i) {
            const double gain = cost_[i * std::max(r, s) + place_[i]];
            bound += gain;
            if (gain < 0) best_map_[rest[wide ? i : place_[i]]] = free[wide ? place_[i] : i];
        }
        bound = std::max(bound, least);
        offer(best_map_);
        if (r == 0 || hopeless(bound)) return;

        // the most promising choices for the next node first, to be deleted among them
        std::vector<size_t> choices(s + 1);
        std::iota(choices.begin(), choices.end(), size_t(0));
        std::stable_sort(choices.begin(), choices.end(),
                         [&](size_t a, size_t b) { return all[a] < all[b]; });
        for (const size_t j : choices) {
            if (hopeless(bound)) return;
            const bool deleted = j == s;
            map_[rest[0]] = deleted ? z_.n : free[j];
            if (!deleted) used_[free[j]] = 1;
            expand(k + 1, spent + own[j], bound);
            if (!deleted) used_[free[j]] = 0;
        }
        map_[rest[0]] = z_.n;
    }

    const EditGraph &x_, &z_;
    const EditCosts c_;
    const bool directed_;
    const size_t marks_;
    uint64_t left_;
    const double limit_;
    Pause& pause_;
    double best_ = INF, open_ = INF;
    std::vector<size_t> order_, map_, best_map_;
    std::vector<char> used_;
    Assignment assignment_;
    std::vector<size_t> place_;
    std::vector<double> cost_, delete_, insert_;
    std::vector<uint32_t> x_ends_, z_ends_, x_degrees_, z_degrees_;
};

// Whether the search begins at z: the result must not depend on which graph was given first.
bool swaps(const EditGraph& x, const EditGraph& z) {
    if (x.n != z.n) return x.n > z.n;
    if (x.edges != z.edges) return x.edges > z.edges;
    return std::lexicographical_compare(z.labels, z.labels + z.n, x.labels, x.labels + x.n);
}

// lower, upper <- bounds of the distance of graphs i and j, equal where the search ended within `steps`.
// Beyond the limit, upper may be infinite. Only graphs j >= first are compared. `ask` is called now and
// then; what it raises ends the search.
void graph_edits(List<const int64_t> x_nodes, List<const int64_t> x_rows,
                 List<const int32_t> x_neighbours, List<const uint64_t> x_labels,
                 List<const uint64_t> x_marks, List<const int64_t> z_nodes,
                 List<const int64_t> z_rows, List<const int32_t> z_neighbours,
                 List<const uint64_t> z_labels, List<const uint64_t> z_marks, size_t i,
                 size_t first, double node, double edge, double relabel, double relink,
                 bool directed, uint64_t steps, double limit, List<double> lower,
                 List<double> upper, nb::callable ask) {
    check_aligned(lower, upper);
    const LabelledGraphs X(x_nodes, x_rows, x_neighbours, x_labels, x_marks);
    const LabelledGraphs Z(z_nodes, z_rows, z_neighbours, z_labels, z_marks);
    for (const double cost : {node, edge, relabel, relink})
        wants(cost >= 0 && cost <= 1, "costs must be in [0, 1]");
    wants(limit >= 0 && steps >= 1, "limit must be >= 0, and steps >= 1");
    wants(i < X.count, "i must be a graph of X");
    wants(lower.shape(0) == Z.count && upper.shape(0) == Z.count, "lower and upper must be (m,)");
    double *low = lower.data(), *high = upper.data();
    Pause pause(ask);
    nb::gil_scoped_release release;
    const EditCosts costs{node, edge, relabel, std::min(relink, 2 * edge)};
    for (size_t j = first; j < Z.count; ++j) {
        std::vector<uint64_t> names;
        add_names(X, i, names);
        add_names(Z, j, names);
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        const EditGraph x = edit_graph(X, i, names), z = edit_graph(Z, j, names);
        const bool turned = swaps(x, z);
        Search(turned ? z : x, turned ? x : z, costs, directed, names.size(), steps, limit,
               pause)
            .run(low[j], high[j]);
    }
}

}  // namespace

void bind_graph_edit(nb::module_& m) {
    m.def("graph_edits", graph_edits, nb::arg("x_nodes").noconvert(), nb::arg("x_rows").noconvert(),
          nb::arg("x_neighbours").noconvert(), nb::arg("x_labels").noconvert(),
          nb::arg("x_marks").noconvert(), nb::arg("z_nodes").noconvert(),
          nb::arg("z_rows").noconvert(), nb::arg("z_neighbours").noconvert(),
          nb::arg("z_labels").noconvert(), nb::arg("z_marks").noconvert(), nb::arg("i"),
          nb::arg("first"), nb::arg("node"), nb::arg("edge"), nb::arg("relabel"),
          nb::arg("relink"), nb::arg("directed"), nb::arg("steps"), nb::arg("limit"),
          nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("ask"));
}

}  // namespace mercer
