// What the searches among rows of numbers share (see row_search.hpp and kd_tree.hpp): the exact
// distance of one pair, bounds for its estimates, and the lists of the nearest rows. Everything is
// static: see the rule in loops.hpp.
//
// A search estimates distances in the precision T of the rows, many at a time. An estimate only
// rules rows out: with a bound on its error, no row is lost. The distance of a row that is left is
// summed in double, always in the same order, and rounded to T once. Rows are compared by that
// number, then by their index, so that every search gives the same neighbours to the last bit.
#pragma once
#include <math.h>

#include "log.hpp"
#include "loops.hpp"
#include "pack.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

template <class T>
struct Precision;
template <>
struct Precision<float> {
    static constexpr double unit = 5.9604644775390625e-8, least = 1.17549435e-38, subnormal = 1.5e-45;
};
template <>
struct Precision<double> {
    static constexpr double unit = 1.1102230246251565e-16, least = 2.2250738585072014e-308,
                            subnormal = 5e-324;
};

// --- the sum over features, w f(|x - z|), which is a power of the distance -----------------------

// f(gap) for gap >= 0.
template <int kind>
inline double term_of(double gap, double p) {
    if constexpr (kind == row_norm::squares) return gap * gap;
    if constexpr (kind == row_norm::different) return gap != 0;
    if constexpr (kind == row_norm::half) return sqrt(gap);
    if constexpr (kind == row_norm::three_halves) return gap * sqrt(gap);
    if constexpr (kind == row_norm::cubes) return gap * gap * gap;
    if constexpr (kind == row_norm::fourths) return gap * gap * (gap * gap);
    if constexpr (kind == row_norm::power) return pow(gap, p);
    return gap;
}

// The distance from the sum, and the sum from the distance.
inline double root_of(double sum, const RowNorm& norm) {
    if (norm.exponent == 1) return sum;
    return norm.exponent == 2 ? sqrt(sum) : pow(sum, 1 / norm.exponent);
}
inline double power_of(double distance, const RowNorm& norm) {
    if (norm.exponent == 1) return distance;
    return norm.exponent == 2 ? distance * distance : pow(distance, norm.exponent);
}

constexpr size_t eight = 8;

// The sum of one pair. Eight sums side by side, so that every instruction set adds in the same
// order. Feature j of x is at x[j * stride].
template <int kind, class T>
inline double exact_sum(const T* q, const T* x, size_t stride, const T* w, size_t d, double p) {
    const auto term = [&](size_t j) {
        const double t = static_cast<double>(q[j]) - static_cast<double>(x[j * stride]);
        return static_cast<double>(w[j]) * term_of<kind>(t < 0 ? -t : t, p);
    };
    if constexpr (kind == row_norm::largest) {
        double most = 0;
        for (size_t j = 0; j < d; ++j) most = term(j) > most ? term(j) : most;
        return most;
    }
    double sum = 0;
    size_t j = 0;
    if (d >= eight) {
        double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (; j + 8 <= d; j += 8)
            for (size_t l = 0; l < 8; ++l) sums[l] += term(j + l);
        sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
              ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    for (; j < d; ++j) sum += term(j);
    return sum;
}

template <class T>
inline T exact_distance(double sum, const RowNorm& norm) { return static_cast<T>(root_of(sum, norm)); }

// The largest sum whose distance may be rounded to `distance`.
template <class T>
inline double sum_limit(double distance, const RowNorm& norm) {
    constexpr double unit = Precision<T>::unit;
    const double most = distance * (1 + 4 * unit) + Precision<T>::subnormal;
    return power_of(most, norm) * (1 + (norm.exponent + 8) * 1e-15) + 5e-324;
}

// --- estimates of the sum in T -------------------------------------------------------------------

// The sum with one more feature of a pack of rows; powers have a loop of their own.
template <int kind, class T>
inline Pack<T> plus_term(Pack<T> sum, Pack<T> x, Pack<T> q, Pack<T> w) {
    using P = Pack<T>;
    if constexpr (kind == row_norm::different) return P::plus(sum, P::kept_unless_equal(x, q, w));
    const P t = P::minus(x, q);
    if constexpr (kind == row_norm::squares) return P::times_plus(P::times(w, t), t, sum);
    const P gap = P::absolute(t);
    if constexpr (kind == row_norm::absolute) return P::times_plus(w, gap, sum);
    if constexpr (kind == row_norm::largest) return P::largest(sum, P::times(w, gap));
    if constexpr (kind == row_norm::half) return P::times_plus(w, P::root(gap), sum);
    if constexpr (kind == row_norm::three_halves)
        return P::times_plus(P::times(w, gap), P::root(gap), sum);
    // from left to right, so that no partial product overflows if the whole does not
    const P first = P::times(P::times(w, gap), gap);
    if constexpr (kind == row_norm::cubes) return P::times_plus(first, gap, sum);
    if constexpr (kind == row_norm::fourths) return P::times_plus(P::times(first, gap), gap, sum);
    return sum;
}

template <class T>
inline T estimated_power(T gap, T p) {
    const bool regular = (gap > 0) & (gap - gap == 0);
    const T power = exp_one(p * log_one(gap));
    return regular ? power : gap;  // 0, infinity and NaN do not change
}

// No estimate of a sum that is at most `limit` is larger than above(limit).
template <class T>
struct EstimateBound {
    double factor, more;

    EstimateBound(size_t d, double heaviest, const RowNorm& norm) {
        const double terms = static_cast<double>(d) + 16;
        double relative = terms * Precision<T>::unit, absolute = terms * Precision<T>::least;
        if (norm.kind == row_norm::power) {  // log is multiplied by p, and exp by that: see log.hpp
            relative += 8 * (100 + 10 * sizeof(T) * sizeof(T)) * norm.p * Precision<T>::unit;
            absolute += terms * heaviest * pow(Precision<T>::least, norm.p);
        }
        factor = (1 + 2 * relative) * (1 + 2 * Precision<T>::unit);
        more = 2 * absolute * (1 + heaviest);
    }
    T above(double limit) const {
        const double most = limit * factor + more;
        return most < 3e38 || sizeof(T) == 8 ? static_cast<T>(most) : static_cast<T>(INFINITY);
    }
};

template <class T>
inline double heaviest_of(const T* w, size_t d) {
    double most = 0;
    for (size_t j = 0; j < d; ++j)
        most = static_cast<double>(w[j]) > most ? static_cast<double>(w[j]) : most;
    return most;
}

// --- what is kept of the rows of one query -------------------------------------------------------

// Whether (d, i) comes after (e, j): it is farther, or equally far with a larger index.
template <class T>
inline bool after(T d, int64_t i, T e, int64_t j) { return d > e || (d == e && i > j); }

// A heap of k rows, of which the first is the one that comes last.
template <class T>
inline void sift_down(T* distances, int64_t* ids, size_t k, T d, int64_t id) {
    size_t p = 0;
    for (;;) {
        size_t child = 2 * p + 1;
        if (child >= k) break;
        if (child + 1 < k &&
            after(distances[child + 1], ids[child + 1], distances[child], ids[child]))
            ++child;
        if (!after(distances[child], ids[child], d, id)) break;
        distances[p] = distances[child];
        ids[p] = ids[child];
        p = child;
    }
    distances[p] = d;
    ids[p] = id;
}

// The nearest rows of query i.
template <class T>
struct NearestRows {
    T* distances;  // (n, k)
    int64_t* ids;
    size_t k;
    const RowNorm norm;

    static constexpr bool shrinks = true;

    // Short lists are kept in order, which is faster than a heap that is put in order at the end.
    bool in_order() const { return k <= 32; }
    size_t last(size_t i) const { return i * k + (in_order() ? k - 1 : 0); }
    void begin(size_t i) const {
        for (size_t p = 0; p < k; ++p) {
            distances[i * k + p] = static_cast<T>(INFINITY);
            ids[i * k + p] = INT64_MAX;
        }
    }
    double limit(size_t i) const {
        return sum_limit<T>(static_cast<double>(distances[last(i)]), norm);
    }
    T farthest(size_t i) const { return distances[last(i)]; }
    // Whether the row is among the nearest now.
    bool offer(size_t i, int64_t id, T d) const {
        if (!after(distances[last(i)], ids[last(i)], d, id)) return false;
        T* kept = distances + i * k;
        int64_t* kept_ids = ids + i * k;
        if (!in_order()) {
            sift_down(kept, kept_ids, k, d, id);
            return true;
        }
        size_t p = k - 1;
        for (; p > 0 && after(kept[p - 1], kept_ids[p - 1], d, id); --p) {
            kept[p] = kept[p - 1];
            kept_ids[p] = kept_ids[p - 1];
        }
        kept[p] = d;
        kept_ids[p] = id;
        return true;
    }
    void end(size_t i) const {
        if (in_order()) return;
        T* d = distances + i * k;
        int64_t* id = ids + i * k;
        for (size_t last = k; last-- > 1;) {
            const T far = d[0];
            const int64_t far_id = id[0];
            sift_down(d, id, last, d[last], id[last]);
            d[last] = far;
            id[last] = far_id;
        }
    }
    bool wants(size_t, int64_t) const { return true; }
    bool skips(size_t, size_t) const { return false; }
};

// All rows within a radius. Those beyond the capacity are counted, but not written.
template <class T>
struct RowsWithin {
    double radius;
    int64_t* queries;
    int64_t* ids;
    T* distances;
    size_t capacity;
    size_t found = 0;
    const RowNorm norm;

    static constexpr bool shrinks = false;

    void begin(size_t) const {}
    double limit(size_t) const { return sum_limit<T>(radius, norm); }
    T farthest(size_t) const { return static_cast<T>(INFINITY); }
    bool offer(size_t i, int64_t id, T d) {
        if (static_cast<double>(d) > radius) return false;
        if (found < capacity) {
            queries[found] = static_cast<int64_t>(i);
            ids[found] = id;
            distances[found] = d;
        }
        ++found;
        return true;
    }
    void end(size_t) const {}
    bool wants(size_t, int64_t) const { return true; }
    bool skips(size_t, size_t) const { return false; }
};

// The shortest edge of each query to a row of another part (see Reach).
template <class T>
struct ReachRows {
    const Reach<T>& edges;
    const int64_t* own;
    const RowNorm norm;

    static constexpr bool shrinks = true;

    void begin(size_t) const {}
    T farthest(size_t i) const { return edges.limits[edges.part[own[i]]]; }
    double limit(size_t i) const {
        const T most = farthest(i);
        return edges.core[own[i]] < most ? sum_limit<T>(static_cast<double>(most), norm) : -1;
    }
    // Whether a row may be of use, before its distance is computed.
    bool wants(size_t i, int64_t id) const {
        return edges.part[id] != edges.part[own[i]] && edges.core[id] < farthest(i);
    }
    bool offer(size_t i, int64_t id, T d) const {
        const int64_t row = own[i], part = edges.part[row];
        const T least = edges.core[row] > edges.core[id] ? edges.core[row] : edges.core[id];
        const T length = d > least ? d : least;
        if (length < edges.limits[part]) {
            edges.limits[part] = edges.lengths[row] = length;
            edges.ids[row] = id;
        }
        return true;
    }
    void end(size_t) const {}
    // Whether no row of a node of the tree is of use.
    bool skips(size_t i, size_t node) const {
        return edges.whole[node] == edges.part[own[i]] || !(edges.least[node] < farthest(i));
    }
};

}  // namespace
}  // namespace MERCER_ISA
}  // namespace mercer
