// Branch and bound in a tree of boxes (see kd_tree.hpp). The distance from a query to a box is the
// sum over features of how far the query is outside of it, so that one term changes from a node to
// its children (Arya & Mount, "Algorithms for fast vector quantization", DCC 1993). It is computed
// in double; all rows of a leaf are estimated at once, as in row_search.cpp.
#include "exact_rows.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t sampled = 128;  // rows of a node that tell the spread of its features

// --- build ---------------------------------------------------------------------------------------

template <class T>
inline void swap_rows(T* keys, int64_t* order, ptrdiff_t i, ptrdiff_t j) {
    const T key = keys[i];
    const int64_t id = order[i];
    keys[i] = keys[j];
    order[i] = order[j];
    keys[j] = key;
    order[j] = id;
}

// Exchanges rows so that the keys before place `middle` are at most those from it on (Hoare's
// "find", Communications of the ACM 4, 1961). Equal keys are exchanged, which keeps halves even.
template <class T>
void divide(T* keys, int64_t* order, size_t n, size_t middle) {
    using Place = ptrdiff_t;
    Place low = 0, high = static_cast<Place>(n) - 1;
    const Place wanted = static_cast<Place>(middle);
    uint32_t random = 1;
    while (low < high) {
        T drawn[3];
        for (T& key : drawn) {
            random = random * 1664525u + 1013904223u;
            key = keys[low + static_cast<Place>((static_cast<uint64_t>(random) *
                                                 static_cast<uint64_t>(high - low + 1)) >> 32)];
        }
        const T least = drawn[0] < drawn[1] ? drawn[0] : drawn[1];
        const T most = drawn[0] < drawn[1] ? drawn[1] : drawn[0];
        const T pivot = drawn[2] > most ? most : drawn[2] < least ? least : drawn[2];
        Place i = low, j = high;
        while (i <= j) {
            while (keys[i] < pivot) ++i;
            while (keys[j] > pivot) --j;
            if (i <= j) swap_rows(keys, order, i++, j--);
        }
        if (j < wanted) low = i;
        if (wanted < i) high = j;
    }
}

// Ascending, by a heap.
inline void sort_ids(int64_t* ids, size_t n) {
    const auto sift = [ids](size_t p, size_t size) {
        const int64_t id = ids[p];
        for (size_t child; (child = 2 * p + 1) < size; p = child) {
            if (child + 1 < size && ids[child + 1] > ids[child]) ++child;
            if (ids[child] <= id) break;
            ids[p] = ids[child];
            ids[child] = id;
        }
    };
    for (size_t p = n / 2; p-- > 0;) sift(p, n);
    for (size_t last = n; last-- > 1;) {
        const int64_t largest = ids[0];
        ids[0] = ids[last];
        ids[last] = largest;
        sift(0, last);
    }
}

inline float above(float x) { return nextafterf(x, INFINITY); }
inline double above(double x) { return nextafter(x, INFINITY); }

template <class T>
struct Builder {
    const T* X;
    const double* scale;
    size_t n, d;
    int64_t* order;
    int32_t* features;
    T* bounds;
    T* keys;

    size_t widest(size_t begin, size_t end) const {
        const size_t step = (end - begin) / sampled + 1;
        size_t best = 0;
        double most = -1;
        for (size_t j = 0; j < d; ++j) {
            T low = X[order[begin] * d + j], high = low;
            for (size_t i = begin; i < end; i += step) {
                const T x = X[order[i] * d + j];
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
            const double spread = scale[j] * (static_cast<double>(high) - static_cast<double>(low));
            if (spread > most) {
                most = spread;
                best = j;
            }
        }
        return best;
    }

    bool all_equal(size_t begin, size_t end) const {
        const T* first = X + order[begin] * d;
        for (size_t i = begin + 1; i < end; ++i) {
            const T* x = X + order[i] * d;
            for (size_t j = 0; j < d; ++j)
                if (x[j] != first[j]) return false;
        }
        return true;
    }

    // A node of equal rows, in the order of their indices, is told by bounds that cross.
    void build_equal(size_t node, size_t count, size_t begin, size_t end) const {
        sort_ids(order + begin, end - begin);
        const T x = X[order[begin] * d];
        for (size_t i = node; i + 1 < node + count; ++i) {
            features[i] = 0;
            bounds[2 * i] = static_cast<T>(INFINITY) == x ? x : above(x);
            bounds[2 * i + 1] = x;
        }
    }

    void build(size_t node, size_t a, size_t b) const {
        if (b - a < 2) return;
        const size_t middle = (a + b) / 2, begin = a * kd_leaf_rows, half = middle * kd_leaf_rows;
        const size_t end = b * kd_leaf_rows < n ? b * kd_leaf_rows : n;
        const size_t feature = widest(begin, end);
        if (X[order[begin] * d + feature] == X[order[end - 1] * d + feature] && all_equal(begin, end))
            return build_equal(node, b - a, begin, end);
        for (size_t i = begin; i < end; ++i) keys[i] = X[order[i] * d + feature];
        divide(keys + begin, order + begin, end - begin, half - begin);
        T left = keys[begin], right = keys[half];
        for (size_t i = begin; i < half; ++i) left = keys[i] > left ? keys[i] : left;
        for (size_t i = half; i < end; ++i) right = keys[i] < right ? keys[i] : right;
        features[node] = static_cast<int32_t>(feature);
        bounds[2 * node] = left;
        bounds[2 * node + 1] = right;
        build(node + 1, a, middle);
        build(node + (middle - a), middle, b);
    }
};

template <class T>
void build(const T* X, const double* scale, size_t n, size_t d, int64_t* order, int32_t* features,
           T* bounds, T* keys) {
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
    const Builder<T> builder{X, scale, n, d, order, features, bounds, keys};
    builder.build(0, 0, (n + kd_leaf_rows - 1) / kd_leaf_rows);
}

template <class T>
void leaves(const KdTree<T>& tree, const T* Q, size_t n, size_t d, int64_t* leaf) {
    for (size_t i = 0; i < n; ++i) {
        size_t node = 0, a = 0, b = tree.leaves;
        while (b - a > 1) {
            const size_t middle = (a + b) / 2;
            const T x = Q[i * d + static_cast<size_t>(tree.features[node])];
            const T* bound = tree.bounds + 2 * node;
            if (x - bound[0] < bound[1] - x) {
                b = middle;
                ++node;
            } else {
                node += middle - a;
                a = middle;
            }
        }
        leaf[i] = static_cast<int64_t>(a);
    }
}

// --- search --------------------------------------------------------------------------------------

template <class T, int kind, class Keep>
struct Visitor {
    const KdTree<T>& tree;
    const RowQueries<T>& queries;
    Keep& keep;
    double* outside;  // how far the query is outside of the box of this node, by feature
    const EstimateBound<T> bound;
    size_t i;
    const T* q;
    double limit;
    T estimate;
    size_t visited;

    double term(size_t feature, double gap) const {
        return static_cast<double>(queries.w[feature]) * term_of<kind>(gap, queries.norm.p);
    }

    void set_limit(double most) {
        limit = most;
        estimate = queries.safe ? bound.above(limit) : static_cast<T>(INFINITY);
    }

    // With few features, exact distances of a whole leaf take no longer than those of its near rows;
    // the operations and their order are those of exact_sum.
    void short_leaf(size_t a) {
        using P = Pack<T>;
        ++visited;
        const size_t d = queries.d, begin = a * kd_leaf_rows;
        const T* rows = tree.rows + begin * d;
        double sums[kd_leaf_rows] = {};
        for (size_t j = 0; j < d; ++j) {
            const double x = static_cast<double>(q[j]), w = static_cast<double>(queries.w[j]);
            const T* column = rows + j * kd_leaf_rows;
            for (size_t l = 0; l < kd_leaf_rows; ++l) {
                const double t = x - static_cast<double>(column[l]);
                const double value = w * term_of<kind>(t < 0 ? -t : t, 0);
                if constexpr (kind == row_norm::largest)
                    sums[l] = value > sums[l] ? value : sums[l];
                else
                    sums[l] += value;
            }
        }
        T distances[kd_leaf_rows];
        for (size_t l = 0; l < kd_leaf_rows; ++l)
            distances[l] = static_cast<T>(kind == row_norm::squares ? sqrt(sums[l]) : sums[l]);
        uint32_t near = 0;
        const P farthest = P::all(keep.farthest(i));
        for (size_t r = 0; r < kd_leaf_rows / P::width; ++r)
            near |= P::not_above(P::load(distances + r * P::width), farthest) << (r * P::width);
        offer_near(near, begin, [&](size_t l) { return distances[l]; });
    }

    // Offers the rows of a leaf whose bits are set.
    template <class Distance>
    void offer_near(uint32_t near, size_t begin, Distance distance) {
        const size_t count = tree.n - begin;
        if (count < kd_leaf_rows) near &= (uint32_t(1) << count) - 1;
        if (near == 0) return;
        for (; near != 0; near &= near - 1) {
            const size_t l = lowest_bit(near);
            const int64_t id = tree.order[begin + l];
            if (id >= 0 && id != queries.own[i] && keep.wants(i, id)) keep.offer(i, id, distance(l));
        }
        if (Keep::shrinks) set_limit(keep.limit(i));
    }

    void leaf(size_t a) {
        using P = Pack<T>;
        constexpr bool quick = kind == row_norm::squares || kind == row_norm::absolute ||
                               kind == row_norm::largest;
        if (quick && queries.d < eight) return short_leaf(a);
        constexpr size_t packs = kd_leaf_rows / P::width;
        ++visited;
        const size_t d = queries.d, begin = a * kd_leaf_rows;
        const T* rows = tree.rows + begin * d;
        uint32_t near = 0;
        if constexpr (kind == row_norm::power) {
            T sums[kd_leaf_rows] = {};
            const T p = static_cast<T>(queries.norm.p);
            for (size_t j = 0; j < d; ++j) {
                const T* x = rows + j * kd_leaf_rows;
                for (size_t l = 0; l < kd_leaf_rows; ++l)
                    sums[l] += queries.w[j] * estimated_power(q[j] < x[l] ? x[l] - q[j] : q[j] - x[l], p);
            }
            for (size_t l = 0; l < kd_leaf_rows; ++l)
                near |= static_cast<uint32_t>(!(sums[l] > estimate)) << l;
        } else {
            P sums[packs];
            for (size_t r = 0; r < packs; ++r) sums[r] = P::all(0);
            for (size_t j = 0; j < d; ++j) {
                const P x = P::all(q[j]), w = P::all(queries.w[j]);
#pragma GCC unroll 4
                for (size_t r = 0; r < packs; ++r)
                    sums[r] = plus_term<kind>(sums[r], P::load(rows + j * kd_leaf_rows + r * P::width),
                                              x, w);
            }
            for (size_t r = 0; r < packs; ++r)
                near |= P::not_above(sums[r], P::all(estimate)) << (r * P::width);
        }
        offer_near(near, begin, [&](size_t l) {
            return exact_distance<T>(
                exact_sum<kind>(q, rows + l, kd_leaf_rows, queries.w, d, queries.norm.p),
                queries.norm);
        });
    }

    // All have the distance of the first, and those of larger indices come after it.
    void equal_rows(size_t a, size_t b) {
        ++visited;
        const size_t d = queries.d, begin = a * kd_leaf_rows;
        const size_t end = b * kd_leaf_rows < tree.n ? b * kd_leaf_rows : tree.n;
        const T distance = exact_distance<T>(
            exact_sum<kind>(q, tree.rows + begin * d, kd_leaf_rows, queries.w, d, queries.norm.p),
            queries.norm);
        for (size_t l = begin; l < end; ++l) {
            const int64_t id = tree.order[l];
            if (id < 0 || id == queries.own[i] || !keep.wants(i, id)) continue;
            if (!keep.offer(i, id, distance)) break;
        }
        if (Keep::shrinks) set_limit(keep.limit(i));
    }

    void child(size_t node, size_t a, size_t b, size_t feature, double gap, double distance) {
        const double before = outside[feature];
        if (gap <= before) return visit(node, a, b, distance);
        const double term_now = term(feature, gap);
        if constexpr (kind == row_norm::largest)
            distance = term_now > distance ? term_now : distance;
        else
            distance = distance - term(feature, before) + term_now;
        if (distance * (1 - 1e-11) > limit) return;  // rounding does not rule rows out
        outside[feature] = gap;
        visit(node, a, b, distance);
        outside[feature] = before;
    }

    void visit(size_t node, size_t a, size_t b, double distance) {
        if (distance * (1 - 1e-11) > limit) return;
        if (keep.skips(i, b - a == 1 ? tree.leaves - 1 + a : node)) return;
        if (b - a == 1) return leaf(a);
        if (tree.bounds[2 * node] > tree.bounds[2 * node + 1]) return equal_rows(a, b);
        const size_t middle = (a + b) / 2, feature = static_cast<size_t>(tree.features[node]);
        const double x = static_cast<double>(q[feature]);
        const double left = x - static_cast<double>(tree.bounds[2 * node]);
        const double right = static_cast<double>(tree.bounds[2 * node + 1]) - x;
        if (left < right) {
            child(node + 1, a, middle, feature, left, distance);
            child(node + (middle - a), middle, b, feature, right, distance);
        } else {
            child(node + (middle - a), middle, b, feature, right, distance);
            child(node + 1, a, middle, feature, left, distance);
        }
    }

    void search() {
        for (i = 0; i < queries.n; ++i) {
            q = queries.Q + i * queries.d;
            keep.begin(i);
            set_limit(keep.limit(i));
            double distance = 0;
            for (size_t j = 0; j < queries.d; ++j) {
                const double x = static_cast<double>(q[j]);
                const double below = static_cast<double>(tree.box[j]) - x;
                const double above = x - static_cast<double>(tree.box[queries.d + j]);
                const double gap = below > above ? below : above;
                outside[j] = gap > 0 ? gap : 0;
                if (!(gap > 0)) continue;
                const double far = term(j, gap);
                if constexpr (kind == row_norm::largest) distance = far > distance ? far : distance;
                else distance += far;
            }
            visit(0, 0, tree.leaves, distance);
            keep.end(i);
        }
    }
};

template <class T, int kind, class Keep>
size_t search_as(const KdTree<T>& tree, const RowQueries<T>& queries, Keep& keep, double* work) {
    Visitor<T, kind, Keep> visitor{
        tree, queries, keep, work,
        EstimateBound<T>(queries.d, heaviest_of(queries.w, queries.d), queries.norm),
        0, nullptr, 0, 0, 0};
    visitor.search();
    return visitor.visited;
}

template <class T, class Keep>
size_t search(const KdTree<T>& tree, const RowQueries<T>& queries, Keep& keep, double* work) {
    switch (queries.norm.kind) {
        case row_norm::squares: return search_as<T, row_norm::squares>(tree, queries, keep, work);
        case row_norm::absolute: return search_as<T, row_norm::absolute>(tree, queries, keep, work);
        case row_norm::largest: return search_as<T, row_norm::largest>(tree, queries, keep, work);
        case row_norm::three_halves:
            return search_as<T, row_norm::three_halves>(tree, queries, keep, work);
        case row_norm::cubes: return search_as<T, row_norm::cubes>(tree, queries, keep, work);
        case row_norm::fourths: return search_as<T, row_norm::fourths>(tree, queries, keep, work);
        default: return search_as<T, row_norm::power>(tree, queries, keep, work);
    }
}

template <class T>
size_t nearest(const KdTree<T>& tree, const RowQueries<T>& queries, T* distances, int64_t* ids,
               size_t k, double* work) {
    NearestRows<T> keep{distances, ids, k, queries.norm};
    return search(tree, queries, keep, work);
}

template <class T>
size_t within(const KdTree<T>& tree, const RowQueries<T>& queries, double radius,
              int64_t* queries_found, int64_t* ids, T* distances, size_t capacity, double* work) {
    RowsWithin<T> keep{radius, queries_found, ids, distances, capacity, 0, queries.norm};
    search(tree, queries, keep, work);
    return keep.found;
}

template <class T>
void reach(const KdTree<T>& tree, const RowQueries<T>& queries, const Reach<T>& edges, double* work) {
    ReachRows<T> keep{edges, queries.own, queries.norm};
    search(tree, queries, keep, work);
}

}  // namespace

extern const KdTreeLoops<float> kd_tree32;
extern const KdTreeLoops<double> kd_tree64;
constinit const KdTreeLoops<float> kd_tree32 = {build<float>, leaves<float>, nearest<float>,
                                                within<float>, reach<float>};
constinit const KdTreeLoops<double> kd_tree64 = {build<double>, leaves<double>, nearest<double>,
                                                 within<double>, reach<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
