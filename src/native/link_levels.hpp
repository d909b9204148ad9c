// How two values of a record agree, called by link/kinds.py through bind_link.cpp: names by Jaro and
// Winkler's similarity, digits and dates by edits, texts by their words. Nothing is checked here.
//
// Texts are symbols one after another, of one byte or of four, and the places where each of them
// starts. Levels: 0 they differ ... 4 nearly equal, 5 equal, 7 one is missing (6 is of Python).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "text_hash.hpp"

namespace mercer::link {

constexpr uint8_t equal_level = 5, missing_level = 7;

inline uint64_t mix(uint64_t x) {  // the last steps of SplitMix64
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

template <class Symbol>
struct Text {
    const Symbol* at;
    int64_t size;
};

template <class Symbol>
struct Texts {
    const Symbol* symbols;
    const int64_t* starts;
    Text<Symbol> operator[](size_t i) const { return {symbols + starts[i], starts[i + 1] - starts[i]}; }
};

// The hash of a run: the same whatever the width of the symbols.
template <class Symbol>
uint64_t hash_run(const Symbol* at, int64_t n) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; ++i) h = (h ^ at[i]) * 1099511628211u;
    return mix(h);
}

// --- names, digits and dates ----------------------------------------------------------------------

// One bit for each symbol, modulo 64: a bit of one text alone is a symbol that the other one lacks.
template <class Symbol>
uint64_t bits_of(Text<Symbol> s) {
    uint64_t bits = 0;
    for (int64_t i = 0; i < s.size; ++i) bits |= uint64_t(1) << (s.at[i] & 63);
    return bits;
}

inline int ones(uint64_t x) { return std::popcount(x); }

// Whether one edit makes them equal: a symbol more, less or another one, or two neighbours exchanged.
template <class Symbol>
bool one_edit(Text<Symbol> s, Text<Symbol> t) {
    if (s.size > t.size) std::swap(s, t);
    if (t.size - s.size > 1) return false;
    int64_t p = 0, q = 0;
    while (p < s.size && s.at[p] == t.at[p]) ++p;
    while (q < s.size - p && s.at[s.size - 1 - q] == t.at[t.size - 1 - q]) ++q;
    const int64_t a = s.size - p - q, b = t.size - p - q;
    return b <= 1 || (a == 2 && b == 2 && s.at[p] == t.at[p + 1] && s.at[p + 1] == t.at[p]);
}

// Edits (optimal string alignment) up to 2; 3 stands for more. Cells further than 2 from the diagonal
// cost more.
template <class Symbol>
int edits(Text<Symbol> s, Text<Symbol> t) {
    const int64_t n = s.size, m = t.size;
    if (std::abs(n - m) > 2) return 3;
    constexpr int width = 7, middle = 3, far = 9;  // cell j of row i stands at j - i + 3
    int rows[3][width];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    std::fill(before, before + width, far);
    for (int k = 0; k < width; ++k) above[k] = k >= middle && k <= 5 ? k - middle : far;
    for (int64_t i = 1; i <= n; ++i) {
        int least = far;
        std::fill(row, row + width, far);
        for (int k = 1; k <= 5; ++k) {
            const int64_t j = i + k - middle;
            if (j < 0 || j > m) continue;
            if (j == 0) {
                row[k] = static_cast<int>(std::min<int64_t>(i, far));
            } else {
                int v = above[k] + (s.at[i - 1] != t.at[j - 1]);
                v = std::min({v, above[k + 1] + 1, row[k - 1] + 1});
                if (i > 1 && j > 1 && s.at[i - 1] == t.at[j - 2] && s.at[i - 2] == t.at[j - 1])
                    v = std::min(v, before[k] + 1);
                row[k] = std::min(v, far);
            }
            least = std::min(least, row[k]);
        }
        if (least > 2 && *std::min_element(above, above + width) > 1) return 3;
        std::swap(before, above);
        std::swap(above, row);
    }
    return std::min(above[m - n + middle], 3);
}

// Jaro's and Winkler's similarity of the first 64 symbols (Winkler 1990, with a scale of 0.1), or 0
// where it is below `least`.
template <class Symbol>
double jaro_winkler(Text<Symbol> s, Text<Symbol> t, uint64_t s_bits, uint64_t t_bits, double least) {
    const bool whole = s.size <= 64 && t.size <= 64;
    s.size = std::min<int64_t>(s.size, 64);
    t.size = std::min<int64_t>(t.size, 64);
    if (s.size == 0 || t.size == 0) return s.size == t.size;
    // of equal lengths the earlier text is first, so that the similarity is symmetric
    const bool later = s.size == t.size && std::lexicographical_compare(t.at, t.at + t.size, s.at, s.at + s.size);
    if (s.size > t.size || later) {
        std::swap(s, t);
        std::swap(s_bits, t_bits);
    }
    const int n = static_cast<int>(s.size), m = static_cast<int>(t.size);
    int p = 0;
    while (p < 4 && p < n && s.at[p] == t.at[p]) ++p;
    if (whole) {  // symbols that the other text lacks are not common
        const int most = std::min(n - ones(s_bits & ~t_bits), m - ones(t_bits & ~s_bits));
        const double jaro = (double(most) / n + double(most) / m + 1) / 3;
        if (most <= 0 || jaro + 0.1 * p * (1 - jaro) < least) return 0;
    }
    const int reach = std::max(m / 2 - 1, 0);
    uint64_t used = 0, hit = 0;
    for (int i = 0; i < n; ++i) {
        const int low = std::max(0, i - reach), high = std::min(m - 1, i + reach);
        for (int j = low; j <= high; ++j)
            if (t.at[j] == s.at[i] && !(used >> j & 1)) {
                used |= uint64_t(1) << j;
                hit |= uint64_t(1) << i;
                break;
            }
    }
    const int common = ones(hit);
    if (!common) return 0;
    int moved = 0;
    for (uint64_t h = hit, u = used; h; h &= h - 1, u &= u - 1)
        moved += s.at[lowest_bit(h)] != t.at[lowest_bit(u)];
    const double jaro =
        (double(common) / n + double(common) / m + (common - moved / 2) / double(common)) / 3;
    return jaro > 0.7 ? jaro + 0.1 * p * (1 - jaro) : jaro;
}

template <class Symbol>
bool begins(Text<Symbol> s, Text<Symbol> t) {
    const int64_t n = std::min(s.size, t.size);
    return n >= 1 && s.size != t.size && std::equal(s.at, s.at + n, t.at);
}

template <class Symbol>
uint8_t name_level(Text<Symbol> s, Text<Symbol> t, uint64_t s_bits, uint64_t t_bits) {
    if (s.size >= 3 && t.size >= 3 && one_edit(s, t)) return 4;
    if (begins(s, t)) return 3;
    const double like = jaro_winkler(s, t, s_bits, t_bits, 0.6);
    return like >= 0.92 ? 4 : like >= 0.85 ? 3 : like >= 0.75 ? 2 : like >= 0.6 ? 1 : 0;
}

template <class Symbol>
uint8_t digits_level(Text<Symbol> s, Text<Symbol> t, uint64_t s_bits, uint64_t t_bits) {
    if (ones(s_bits & ~t_bits) > 2 || ones(t_bits & ~s_bits) > 2) return 0;
    const int64_t longest = std::max(s.size, t.size);
    if (one_edit(s, t)) return longest >= 3 ? 4 : 1;
    return edits(s, t) == 2 && longest >= 6 ? 3 : 0;
}

// Dates are yyyymmdd.
template <class Symbol>
uint8_t date_level(Text<Symbol> s, Text<Symbol> t, uint64_t, uint64_t) {
    if (s.size != 8 || t.size != 8) return one_edit(s, t) ? 4 : 0;
    if (one_edit(s, t)) return 4;
    const auto part = [&](int a, int b, int length) { return std::equal(s.at + a, s.at + a + length, t.at + b); };
    const bool year = part(0, 0, 4), month = part(4, 4, 2), day = part(6, 6, 2);
    if (year && part(4, 6, 2) && part(6, 4, 2)) return 4;
    if (year + month + day == 2) return 3;
    return edits(s, t) == 2 ? 2 : year ? 1 : 0;
}

// --- texts by their words, and sets -----------------------------------------------------------------

template <class Symbol>
struct Words {
    const int32_t* words;    // ascending within each value
    const int64_t* starts;   // of each value
    const float* weights;    // of each word
    Texts<Symbol> spelled;
    const uint8_t* numbers;  // whether a word is made of digits
};

constexpr size_t unmatched = 64;  // words of a text that are compared with those of the other one

// How much of a word stands in another one: spelled a little differently, its beginning, or an initial.
template <class Symbol>
double alike(const Words<Symbol>& of, int32_t x, int32_t y) {
    if (of.numbers[x] || of.numbers[y]) return 0;  // another number is another thing
    const Text<Symbol> s = of.spelled[static_cast<size_t>(x)], t = of.spelled[static_cast<size_t>(y)];
    const int64_t n = std::min(s.size, t.size);
    if (n >= 4 && one_edit(s, t)) return 0.9;
    if (!begins(s, t)) return 0;
    return n == 1 ? 0.5 : n >= 3 ? 0.8 : 0;
}

// Dice's index of the words, each with its weight, and the share of the smaller one in the other.
template <class Symbol>
uint8_t words_level(const Words<Symbol>& of, int32_t a, int32_t b) {
    const int32_t *x = of.words + of.starts[a], *x_end = of.words + of.starts[a + 1];
    const int32_t *y = of.words + of.starts[b], *y_end = of.words + of.starts[b + 1];
    double mine = 0, theirs = 0, shared = 0;
    int32_t only_x[unmatched], only_y[unmatched];
    size_t nx = 0, ny = 0;
    while (x < x_end || y < y_end) {
        if (y == y_end || (x < x_end && *x < *y)) {
            mine += of.weights[*x];
            if (nx < unmatched) only_x[nx++] = *x;
            ++x;
        } else if (x == x_end || *y < *x) {
            theirs += of.weights[*y];
            if (ny < unmatched) only_y[ny++] = *y;
            ++y;
        } else {
            const double w = of.weights[*x];
            mine += w, theirs += w, shared += w;
            ++x, ++y;
        }
    }
    if (mine <= 0 || theirs <= 0) return 0;
    for (size_t i = 0; i < nx; ++i) {  // each with the one that is most like it
        double most = 0;
        size_t best = 0;
        for (size_t j = 0; j < ny; ++j) {
            if (only_y[j] < 0) continue;
            const double share = alike(of, only_x[i], only_y[j]) *
                                 std::min(of.weights[only_x[i]], of.weights[only_y[j]]);
            if (share > most) most = share, best = j;
        }
        if (most > 0) shared += most, only_y[best] = -1;
    }
    const double dice = 2 * shared / (mine + theirs), inside = shared / std::min(mine, theirs);
    if (dice >= 0.85) return 4;
    if (dice >= 0.65 || inside >= 0.9) return 3;
    if (dice >= 0.4 || inside >= 0.6) return 2;
    return dice >= 0.2;
}

// Sets: one within the other 4, some in common 2, none 0.
template <class Symbol>
uint8_t set_level(const Words<Symbol>& of, int32_t a, int32_t b) {
    const int32_t *x = of.words + of.starts[a], *x_end = of.words + of.starts[a + 1];
    const int32_t *y = of.words + of.starts[b], *y_end = of.words + of.starts[b + 1];
    const int64_t sizes = (x_end - x) + (y_end - y), least = std::min(x_end - x, y_end - y);
    int64_t both = 0;
    while (x < x_end && y < y_end) {
        const int32_t first = *x, second = *y;
        both += first == second;
        x += first <= second;
        y += second <= first;
    }
    if (!both) return sizes ? 0 : 4;
    return both == least ? 4 : 2;
}

}  // namespace mercer::link
