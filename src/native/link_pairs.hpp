// Pairs of records: blocks that find them, patterns of their levels, classes, and clusters; called by
// link/candidates.py, link/model.py and link/pairs.py through bind_link.cpp, which checks all numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "link_levels.hpp"

namespace mercer::link {

// --- blocks of records --------------------------------------------------------------------------

struct Entry {
    uint64_t key;
    uint32_t row;
};

inline void sort_by_key(std::vector<Entry>& a) {  // stable: rows of a key ascend
    std::vector<Entry> b(a.size());
    for (int shift = 16; shift < 64; shift += 12) {
        std::vector<size_t> at(4097, 0);
        for (const Entry& e : a) ++at[(e.key >> shift & 4095) + 1];
        for (size_t k = 0; k < 4096; ++k) at[k + 1] += at[k];
        for (const Entry& e : a) b[at[e.key >> shift & 4095]++] = e;
        a.swap(b);
    }
}

struct BlockView {  // a code of each record, and for each code so many parts, -1 where there are fewer
    const int32_t* codes;
    const int32_t* parts;
    size_t width;  // 0: no view
};

// Pairs of records that share a part of x and, if y has a width, one of y, as bind_link.cpp says of a
// pass; of `parts` of the keys, a power of 2, one is looked at. Writes up to `room` of them, and returns
// how many there are.
inline int64_t pairs_of_blocks(const BlockView& x, const BlockView& y, size_t n, size_t first, size_t cap,
                               uint64_t parts, uint64_t* out, size_t room, uint8_t* seen) {
    std::vector<Entry> a;
    const uint64_t mask = parts - 1;
    const auto add = [&](uint64_t key, size_t row) {
        if (!(key & mask)) a.push_back({key, static_cast<uint32_t>(row)});
    };
    for (size_t i = 0; i < n; ++i) {
        const int32_t code = x.codes[i], other = y.width ? y.codes[i] : 0;
        if (code < 0 || other < 0) continue;
        for (size_t p = 0; p < x.width; ++p) {
            const int32_t v = x.parts[static_cast<size_t>(code) * x.width + p];
            if (v < 0) continue;
            const uint64_t key = mix(static_cast<uint64_t>(v) + 1);
            if (!y.width) add(key, i);
            for (size_t q = 0; q < y.width; ++q) {
                const int32_t w = y.parts[static_cast<size_t>(other) * y.width + q];
                if (w >= 0) add(mix(key + static_cast<uint64_t>(w) * 0x9e3779b97f4a7c15u), i);
            }
        }
    }
    sort_by_key(a);
    int64_t pairs = 0;
    const auto found = [&](const Entry& l, const Entry& r) {
        if (l.row == r.row) return;  // two keys of a record may share a hash
        if (pairs < static_cast<int64_t>(room)) out[pairs] = static_cast<uint64_t>(l.row) << 32 | r.row;
        ++pairs;
    };
    for (size_t s = 0, e; s < a.size(); s = e) {
        for (e = s + 1; e < a.size() && a[e].key >> 16 == a[s].key >> 16;) ++e;
        const bool small = e - s <= cap;
        for (size_t t = s; t < e; ++t) seen[a[t].row] |= small ? 3 : 1;
        if (!small) continue;
        size_t m = s;
        while (first > 0 && m < e && a[m].row < first) ++m;
        for (size_t p = s; p < (first > 0 ? m : e); ++p)
            for (size_t q = first > 0 ? m : p + 1; q < e; ++q) found(a[p], a[q]);
    }
    return pairs;
}

// --- patterns of levels, and the expectation step ---------------------------------------------------

// place (n,): the number of the pattern of each row of `all` (n, d); returns a row of each pattern.
inline std::vector<int64_t> patterns_of(const uint8_t* all, size_t n, size_t d, int32_t* place) {
    std::vector<int64_t> firsts;
    size_t size = 1024;
    std::vector<int32_t> table(size, -1);
    const auto hash = [&](size_t row) {
        return static_cast<size_t>(hash_bytes(reinterpret_cast<const char*>(all + row * d), d));
    };
    for (size_t i = 0; i < n; ++i) {
        size_t at = hash(i) & (size - 1);
        while (table[at] >= 0 &&
               std::memcmp(all + static_cast<size_t>(firsts[static_cast<size_t>(table[at])]) * d,
                           all + i * d, d) != 0)
            at = (at + 1) & (size - 1);
        if (table[at] < 0) {
            table[at] = static_cast<int32_t>(firsts.size());
            firsts.push_back(static_cast<int64_t>(i));
        }
        place[i] = table[at];
        if (2 * firsts.size() > size) {
            size *= 4;
            table.assign(size, -1);
            for (size_t k = 0; k < firsts.size(); ++k) {
                size_t to = hash(static_cast<size_t>(firsts[k])) & (size - 1);
                while (table[to] >= 0) to = (to + 1) & (size - 1);
                table[to] = static_cast<int32_t>(k);
            }
        }
    }
    return firsts;
}

// post (P, c): the probability of each class for each pattern (P, d), from the logarithms of its share
// and of the frequencies, table (c, d, 8). total (c, d, 8): the frequencies, by post times counts.
inline void expected_classes(const uint8_t* levels, const double* counts, const double* shares,
                             const double* table, size_t P, size_t d, size_t c, double* all,
                             double* total) {
    std::fill(total, total + c * d * 8, 0.0);
    for (size_t i = 0; i < P; ++i) {
        const uint8_t* level = levels + i * d;
        double* p = all + i * c;
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j < c; ++j) {
            double value = shares[j];
            for (size_t k = 0; k < d; ++k) value += table[(j * d + k) * 8 + level[k]];
            p[j] = value;
            top = std::max(top, value);
        }
        for (size_t j = 0; j < c; ++j) sum += p[j] = std::exp(p[j] - top);
        for (size_t j = 0; j < c; ++j) {
            p[j] /= sum;
            const double weight = p[j] * counts[i];
            for (size_t k = 0; k < d; ++k) total[(j * d + k) * 8 + level[k]] += weight;
        }
    }
}

// --- clusters -------------------------------------------------------------------------------------

// Average link: the two clusters with the largest mean weight are joined, as long as it is above 0; a
// pair that is not listed weighs `absent` < 0, so that only clusters with a listed pair can be joined.
// labels (n,): the least record of each one's cluster. Of equal means the least records are first.
inline void join_by_average(const int64_t* left, const int64_t* right, const double* weights,
                            size_t count, double absent, int64_t* labels, size_t n) {
    // the sum over listed pairs of what they weigh more than an absent one
    std::vector<std::unordered_map<size_t, double>> near(n);
    std::vector<double> size(n, 1.0);
    using Step = std::tuple<double, size_t, size_t>;
    struct Later {
        bool operator()(const Step& a, const Step& b) const {
            if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
            return std::tie(std::get<1>(a), std::get<2>(a)) > std::tie(std::get<1>(b), std::get<2>(b));
        }
    };
    std::priority_queue<Step, std::vector<Step>, Later> steps;
    const auto mean = [&](size_t p, size_t q) { return near[p][q] / (size[p] * size[q]) + absent; };
    const auto push = [&](size_t p, size_t q) {
        const double value = mean(p, q);
        if (value > 0) steps.emplace(value, std::min(p, q), std::max(p, q));
    };
    for (size_t e = 0; e < count; ++e) {
        const size_t p = static_cast<size_t>(left[e]), q = static_cast<size_t>(right[e]);
        if (p != q) near[p][q] = near[q][p] = weights[e] - absent;
    }
    for (size_t p = 0; p < n; ++p) {
        labels[p] = static_cast<int64_t>(p);
        for (const auto& other : near[p])
            if (p < other.first) push(p, other.first);
    }
    while (!steps.empty()) {
        const auto [value, p, q] = steps.top();
        steps.pop();
        if (size[p] == 0 || size[q] == 0 || !near[p].count(q) || mean(p, q) != value) continue;
        labels[q] = static_cast<int64_t>(p);  // p < q
        near[p].erase(q);
        for (const auto& [k, sum] : near[q]) {
            if (k == p) continue;
            near[k].erase(q);
            near[p][k] += sum;
            near[k][p] = near[p][k];
        }
        size[p] += size[q];
        size[q] = 0;
        near[q].clear();
        for (const auto& other : near[p]) push(p, other.first);
    }
    for (size_t i = 0; i < n; ++i)  // the one that was joined to is a smaller number
        labels[i] = labels[static_cast<size_t>(labels[i])];
}

}  // namespace mercer::link
