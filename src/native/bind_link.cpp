// Records that are the same thing: the loops over lists of pairs and over blocks of records, called by
// link/. They wait for memory and gain nothing from wider vectors, so that they stand here once. All
// numbers that could lead to a wrong address are checked first.
//
// Texts are symbols one after another, of one byte or of four, and the places where each of them
// starts. Levels: 0 they differ ... 4 nearly equal, 5 equal, 7 one is missing (6 is of Python).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "utf8.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr uint8_t equal = 5, missing = 7;
constexpr size_t most_rows = size_t(1) << 31;

inline uint64_t mix(uint64_t x) {  // the last steps of SplitMix64
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void check_starts(const int64_t* starts, size_t count, size_t total) {
    wants(count >= 1 && starts[0] >= 0 && starts[count - 1] <= static_cast<int64_t>(total),
          "starts must stay within the list");
    for (size_t i = 0; i + 1 < count; ++i) wants(starts[i] <= starts[i + 1], "starts must ascend");
}

// Codes of values: -1 where there is none.
void check_codes(const int32_t* codes, size_t n, size_t values) {
    for (size_t i = 0; i < n; ++i)
        wants(codes[i] >= -1 && codes[i] < static_cast<int64_t>(values),
              "codes must be numbers of values, or -1");
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

// --- words and runs of symbols ------------------------------------------------------------------

enum Class : uint8_t { none = 0, letter = 1, digit = 2, alone = 3 };  // alone: a word by itself

// The hash of a run: the same whatever the width of the symbols.
template <class Symbol>
uint64_t hash_run(const Symbol* at, int64_t n) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; ++i) h = (h ^ at[i]) * 1099511628211u;
    return mix(h);
}

// The words of texts: longest runs of letters, longest runs of digits, and symbols that are words.
// Returns their hashes, where they begin, their lengths, and the first word of each text.
template <class Symbol>
nb::tuple words(List<const Symbol> symbols, List<const int64_t> starts, List<const uint8_t> classes) {
    check_aligned(symbols, starts, classes);
    std::vector<uint64_t> hashes;
    std::vector<int64_t> begins, firsts;
    std::vector<int32_t> lengths;
    {
        nb::gil_scoped_release release;
        const size_t n = starts.shape(0) - 1, limit = classes.shape(0);
        check_starts(starts.data(), starts.shape(0), symbols.shape(0));
        const Symbol* s = symbols.data();
        const uint8_t* of = classes.data();
        for (size_t i = 0; i < n; ++i) {
            firsts.push_back(static_cast<int64_t>(hashes.size()));
            const int64_t end = starts.data()[i + 1];
            for (int64_t k = starts.data()[i]; k < end;) {
                wants(s[k] < limit, "classes must have an entry for each symbol");
                const uint8_t kind = of[s[k]];
                const int64_t begin = k++;
                if (kind == none) continue;
                while (kind != alone && k < end && s[k] < limit && of[s[k]] == kind) ++k;
                const int64_t length = std::min<int64_t>(k - begin, INT32_MAX);
                hashes.push_back(hash_run(s + begin, length));
                begins.push_back(begin);
                lengths.push_back(static_cast<int32_t>(length));
            }
        }
        firsts.push_back(static_cast<int64_t>(hashes.size()));
    }
    return nb::make_tuple(as_array(std::move(hashes)), as_array(std::move(begins)),
                          as_array(std::move(lengths)), as_array(std::move(firsts)));
}

// Runs of q letters, digits and words by themselves, of each text without what stands between them; of
// a shorter text the whole of it. Returns their hashes, and the first of each text.
template <class Symbol>
nb::tuple runs(List<const Symbol> symbols, List<const int64_t> starts, List<const uint8_t> classes,
               int64_t q) {
    wants(q >= 1, "q must be at least 1");
    check_aligned(symbols, starts, classes);
    std::vector<uint64_t> hashes;
    std::vector<int64_t> firsts;
    {
        nb::gil_scoped_release release;
        const size_t n = starts.shape(0) - 1, limit = classes.shape(0);
        check_starts(starts.data(), starts.shape(0), symbols.shape(0));
        const Symbol* s = symbols.data();
        std::vector<Symbol> kept;
        for (size_t i = 0; i < n; ++i) {
            firsts.push_back(static_cast<int64_t>(hashes.size()));
            kept.clear();
            for (int64_t k = starts.data()[i]; k < starts.data()[i + 1]; ++k) {
                wants(s[k] < limit, "classes must have an entry for each symbol");
                if (classes.data()[s[k]] != none) kept.push_back(s[k]);
            }
            const int64_t size = static_cast<int64_t>(kept.size());
            for (int64_t k = 0; k + q <= size; ++k) hashes.push_back(hash_run(kept.data() + k, q));
            if (size > 0 && size < q) hashes.push_back(hash_run(kept.data(), size));
        }
        firsts.push_back(static_cast<int64_t>(hashes.size()));
    }
    return nb::make_tuple(as_array(std::move(hashes)), as_array(std::move(firsts)));
}

// out (texts, keep): of each text the parts that the fewest records have, but two at least, as numbers
// of 31 bits; -1 where there are fewer. A part of one record alone finds nobody.
void rare_parts(List<const uint64_t> parts, List<const int64_t> starts, List<const int64_t> records,
                Matrix<int32_t> out) {
    const size_t n = out.shape(0), keep = out.shape(1);
    wants(starts.shape(0) == n + 1 && records.shape(0) == n,
          "starts must have one number more than out has rows, and records as many");
    check_aligned(parts, starts, records, out);
    nb::gil_scoped_release release;
    check_starts(starts.data(), n + 1, parts.shape(0));
    int bits = 10;
    while (bits < 24 && (size_t(1) << bits) < 4 * parts.shape(0)) ++bits;
    std::vector<int64_t> count(size_t(1) << bits, 0);
    const uint64_t* all = parts.data();
    std::vector<uint64_t> own;
    const auto distinct = [&](size_t i) {
        own.assign(all + starts.data()[i], all + starts.data()[i + 1]);
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
    };
    const auto place = [&](uint64_t part) { return part >> (64 - bits); };
    for (size_t i = 0; i < n; ++i) {
        distinct(i);
        for (const uint64_t part : own) count[place(part)] += records.data()[i];
    }
    for (size_t i = 0; i < n; ++i) {
        distinct(i);
        own.erase(std::remove_if(own.begin(), own.end(),
                                 [&](uint64_t part) { return count[place(part)] < 2; }),
                  own.end());
        const size_t found = std::min(own.size(), keep);
        std::partial_sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(found), own.end(),
                          [&](uint64_t x, uint64_t y) {
                              const int64_t a = count[place(x)], b = count[place(y)];
                              return a != b ? a < b : x < y;
                          });
        for (size_t k = 0; k < keep; ++k)
            out.data()[i * keep + k] = k < found ? static_cast<int32_t>(own[k] >> 33) : -1;
    }
}

// --- blocks of records --------------------------------------------------------------------------

struct Entry {
    uint64_t key;
    uint32_t row;
};

void sort_by_key(std::vector<Entry>& a) {  // stable: rows of a key ascend
    std::vector<Entry> b(a.size());
    for (int shift = 16; shift < 64; shift += 12) {
        std::vector<size_t> at(4097, 0);
        for (const Entry& e : a) ++at[(e.key >> shift & 4095) + 1];
        for (size_t k = 0; k < 4096; ++k) at[k + 1] += at[k];
        for (const Entry& e : a) b[at[e.key >> shift & 4095]++] = e;
        a.swap(b);
    }
}

// One pass: pairs of records that share a part of view x and, if y has columns, one of view y. A view
// is a code of each record and, for each code, some parts, -1 where there are fewer. With first > 0 the
// pairs are of a record before `first` and one from there on. Blocks of more than `cap` records are
// left out. `out` takes as many pairs as it has room for, (left << 32) + right; of `parts` of the keys,
// a power of 2, one is looked at. Returns the number of pairs, times `parts`, and the share of the
// records with a key that have one in a small enough block. `seen` (n), if it is not empty, says of
// each record whether it has a key (1), also in a small enough block (3).
nb::tuple block_pairs(List<const int32_t> x, Matrix<const int32_t> x_parts, List<const int32_t> y,
                      Matrix<const int32_t> y_parts, int64_t first, int64_t cap, int64_t parts,
                      List<uint64_t> out, List<uint8_t> told) {
    const size_t n = x.shape(0), kx = x_parts.shape(1), ky = y_parts.shape(1);
    wants(n < most_rows, "there must be fewer than 2^31 records");
    wants(ky == 0 || y.shape(0) == n, "both views must have a code for each record");
    wants(first >= 0 && first <= static_cast<int64_t>(n), "first must be a number of records");
    wants(cap >= 1, "cap must be at least 1");
    wants(parts >= 1 && (parts & (parts - 1)) == 0, "parts must be a power of 2");
    wants(told.shape(0) == 0 || told.shape(0) == n, "seen must have a place for each record");
    check_aligned(x, x_parts, y, y_parts, out, told);
    int64_t pairs = 0;
    double share = 0;
    {
        nb::gil_scoped_release release;
        check_codes(x.data(), n, x_parts.shape(0));
        if (ky) check_codes(y.data(), n, y_parts.shape(0));
        std::vector<Entry> a;
        const uint64_t mask = static_cast<uint64_t>(parts) - 1;
        const auto add = [&](uint64_t key, size_t row) {
            if (!(key & mask)) a.push_back({key, static_cast<uint32_t>(row)});
        };
        for (size_t i = 0; i < n; ++i) {
            const int32_t code = x.data()[i], other = ky ? y.data()[i] : 0;
            if (code < 0 || other < 0) continue;
            for (size_t p = 0; p < kx; ++p) {
                const int32_t v = x_parts.data()[static_cast<size_t>(code) * kx + p];
                if (v < 0) continue;
                const uint64_t key = mix(static_cast<uint64_t>(v) + 1);
                if (!ky) add(key, i);
                for (size_t q = 0; q < ky; ++q) {
                    const int32_t w = y_parts.data()[static_cast<size_t>(other) * ky + q];
                    if (w >= 0) add(mix(key + static_cast<uint64_t>(w) * 0x9e3779b97f4a7c15u), i);
                }
            }
        }
        sort_by_key(a);
        std::vector<uint8_t> seen(n, 0);
        uint64_t* to = out.data();
        const int64_t room = static_cast<int64_t>(out.shape(0));
        const auto found = [&](const Entry& l, const Entry& r) {
            if (l.row == r.row) return;  // two keys of a record may share a hash
            if (pairs < room) to[pairs] = static_cast<uint64_t>(l.row) << 32 | r.row;
            ++pairs;
        };
        for (size_t s = 0, e; s < a.size(); s = e) {
            for (e = s + 1; e < a.size() && a[e].key >> 16 == a[s].key >> 16;) ++e;
            const bool small = e - s <= static_cast<size_t>(cap);
            for (size_t t = s; t < e; ++t) seen[a[t].row] |= small ? 3 : 1;
            if (!small) continue;
            size_t m = s;
            while (first > 0 && m < e && a[m].row < first) ++m;
            for (size_t p = s; p < (first > 0 ? m : e); ++p)
                for (size_t q = first > 0 ? m : p + 1; q < e; ++q) found(a[p], a[q]);
        }
        size_t known = 0, good = 0;
        for (const uint8_t one : seen) known += one > 0, good += one == 3;
        std::copy_n(seen.begin(), told.shape(0), told.data());
        share = known ? static_cast<double>(good) / static_cast<double>(known) : 0;
    }
    return nb::make_tuple(pairs * parts, share);
}

// --- levels of names, digits and dates ------------------------------------------------------------

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

template <class Symbol>
using Level = uint8_t (*)(Text<Symbol>, Text<Symbol>, uint64_t, uint64_t);

template <class Symbol>
void text_levels(Level<Symbol> level, List<const Symbol> symbols, List<const int64_t> starts,
                 List<const uint64_t> bits, List<const int32_t> a, List<const int32_t> b,
                 List<uint8_t> out) {
    const size_t n = out.shape(0), values = starts.shape(0) - 1;
    wants(a.shape(0) == n && b.shape(0) == n, "both lists must have an entry for each pair");
    wants(bits.shape(0) == values, "bits must have a number for each value");
    check_aligned(symbols, starts, bits, a, b, out);
    nb::gil_scoped_release release;
    check_starts(starts.data(), starts.shape(0), symbols.shape(0));
    check_codes(a.data(), n, values);
    check_codes(b.data(), n, values);
    const Texts<Symbol> texts{symbols.data(), starts.data()};
    const uint64_t* marks = bits.data();
    for (size_t i = 0; i < n; ++i) {
        const int32_t x = a.data()[i], y = b.data()[i];
        if (x < 0 || y < 0)
            out.data()[i] = missing;
        else if (x == y)
            out.data()[i] = equal;
        else
            out.data()[i] = level(texts[static_cast<size_t>(x)], texts[static_cast<size_t>(y)],
                                  marks[x], marks[y]);
    }
}

// One number for each text: its bits, or its hash.
template <class Symbol>
void signs(bool bits, List<const Symbol> symbols, List<const int64_t> starts, List<uint64_t> out) {
    wants(starts.shape(0) == out.shape(0) + 1, "starts must have one number more than out");
    check_aligned(symbols, starts, out);
    nb::gil_scoped_release release;
    check_starts(starts.data(), starts.shape(0), symbols.shape(0));
    const Texts<Symbol> texts{symbols.data(), starts.data()};
    for (size_t i = 0; i < out.shape(0); ++i) {
        const Text<Symbol> text = texts[i];
        out.data()[i] = bits ? bits_of(text) : hash_run(text.at, text.size);
    }
}

// --- levels of texts by their words, and of sets --------------------------------------------------

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

template <class Symbol>
void word_levels(bool sets, List<const int32_t> words, List<const int64_t> starts,
                 List<const float> weights, List<const Symbol> symbols, List<const int64_t> spelled,
                 List<const uint8_t> numbers, List<const int32_t> a, List<const int32_t> b,
                 List<uint8_t> out) {
    const size_t n = out.shape(0), values = starts.shape(0) - 1, count = weights.shape(0);
    wants(a.shape(0) == n && b.shape(0) == n, "both lists must have an entry for each pair");
    wants(spelled.shape(0) == count + 1 && numbers.shape(0) == count,
          "there must be a spelling, a weight and a kind of each word");
    check_aligned(words, starts, weights, symbols, spelled, numbers, a, b, out);
    nb::gil_scoped_release release;
    check_starts(starts.data(), starts.shape(0), words.shape(0));
    check_starts(spelled.data(), spelled.shape(0), symbols.shape(0));
    check_codes(a.data(), n, values);
    check_codes(b.data(), n, values);
    for (size_t k = 0; k < words.shape(0); ++k)
        wants(words.data()[k] >= 0 && static_cast<size_t>(words.data()[k]) < count,
              "words must be numbers of words");
    const Words<Symbol> of{words.data(), starts.data(), weights.data(),
                           {symbols.data(), spelled.data()}, numbers.data()};
    for (size_t i = 0; i < n; ++i) {
        const int32_t x = a.data()[i], y = b.data()[i];
        if (x < 0 || y < 0)
            out.data()[i] = missing;
        else if (x == y)
            out.data()[i] = equal;
        else if (sets)
            out.data()[i] = set_level(of, x, y);
        else  // the lesser number is first, so that levels are symmetric
            out.data()[i] = words_level(of, std::min(x, y), std::max(x, y));
    }
}

// --- patterns of levels, and the expectation step -------------------------------------------------

// place (n,): the number of the pattern of each row of levels; returns a row of each pattern.
Numbers<int64_t> patterns(Matrix<const uint8_t> levels, List<int32_t> place) {
    const size_t n = levels.shape(0), d = levels.shape(1);
    wants(place.shape(0) == n && n < most_rows, "place must have an entry for each row of levels");
    check_aligned(levels, place);
    std::vector<int64_t> firsts;
    {
        nb::gil_scoped_release release;
        size_t size = 1024;
        std::vector<int32_t> table(size, -1);
        const uint8_t* all = levels.data();
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
            place.data()[i] = table[at];
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
    }
    return as_array(std::move(firsts));
}

// post (P, c): the probability of each class for each pattern, from the logarithms of its share and of
// the frequencies (c, d, 8) of the levels. sums (c, d, 8): the frequencies, by post times counts.
void expect(Matrix<const uint8_t> levels, List<const double> counts, List<const double> shares,
            Cube<const double> logs, Matrix<double> post, Cube<double> sums) {
    const size_t P = levels.shape(0), d = levels.shape(1), c = shares.shape(0);
    wants(counts.shape(0) == P && post.shape(0) == P && post.shape(1) == c,
          "counts and post must have a row for each pattern");
    wants(logs.shape(0) == c && logs.shape(1) == d && logs.shape(2) == 8,
          "logs must be (classes, columns, 8)");
    wants(sums.shape(0) == c && sums.shape(1) == d && sums.shape(2) == 8,
          "sums must be (classes, columns, 8)");
    check_aligned(levels, counts, shares, logs, post, sums);
    nb::gil_scoped_release release;
    const double* table = logs.data();
    double *all = post.data(), *total = sums.data();
    std::fill(total, total + c * d * 8, 0.0);
    for (size_t i = 0; i < P; ++i) {
        const uint8_t* level = levels.data() + i * d;
        double* p = all + i * c;
        for (size_t k = 0; k < d; ++k) wants(level[k] < 8, "levels must be below 8");
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j < c; ++j) {
            double value = shares.data()[j];
            for (size_t k = 0; k < d; ++k) value += table[(j * d + k) * 8 + level[k]];
            p[j] = value;
            top = std::max(top, value);
        }
        for (size_t j = 0; j < c; ++j) sum += p[j] = std::exp(p[j] - top);
        for (size_t j = 0; j < c; ++j) {
            p[j] /= sum;
            const double weight = p[j] * counts.data()[i];
            for (size_t k = 0; k < d; ++k) total[(j * d + k) * 8 + level[k]] += weight;
        }
    }
}

// --- clusters -------------------------------------------------------------------------------------

void check_pairs(List<const int64_t>& left, List<const int64_t>& right, size_t n, size_t m) {
    wants(left.shape(0) == right.shape(0), "both lists must have an entry for each pair");
    for (size_t i = 0; i < left.shape(0); ++i)
        wants(left.data()[i] >= 0 && static_cast<size_t>(left.data()[i]) < n && right.data()[i] >= 0 &&
                  static_cast<size_t>(right.data()[i]) < m,
              "pairs must be numbers of records");
}

// Average link: the two clusters with the largest mean weight are joined, as long as it is above 0; a
// pair that is not listed weighs `absent` < 0, so that only clusters with a listed pair can be joined.
// labels (n,): the least record of each one's cluster. Of equal means the least records are first.
void average_link(List<const int64_t> left, List<const int64_t> right, List<const double> weights,
                  double absent, List<int64_t> labels) {
    const size_t n = labels.shape(0);
    wants(absent < 0, "absent must be below 0");
    wants(weights.shape(0) == left.shape(0), "weights must have a number for each pair");
    check_aligned(left, right, weights, labels);
    nb::gil_scoped_release release;
    check_pairs(left, right, n, n);
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
    for (size_t e = 0; e < left.shape(0); ++e) {
        const size_t p = static_cast<size_t>(left.data()[e]), q = static_cast<size_t>(right.data()[e]);
        wants(std::isfinite(weights.data()[e]), "weights must be finite");
        if (p != q) near[p][q] = near[q][p] = weights.data()[e] - absent;
    }
    for (size_t p = 0; p < n; ++p) {
        labels.data()[p] = static_cast<int64_t>(p);
        for (const auto& other : near[p])
            if (p < other.first) push(p, other.first);
    }
    while (!steps.empty()) {
        const auto [value, p, q] = steps.top();
        steps.pop();
        if (size[p] == 0 || size[q] == 0 || !near[p].count(q) || mean(p, q) != value) continue;
        labels.data()[q] = static_cast<int64_t>(p);  // p < q
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
        labels.data()[i] = labels.data()[static_cast<size_t>(labels.data()[i])];
}

// keep (pairs,): one to one, each record in one pair at most; pairs that stand earlier come first.
void one_to_one(List<const int64_t> left, List<const int64_t> right, size_t n, size_t m,
                List<uint8_t> keep) {
    wants(keep.shape(0) == left.shape(0), "keep must have an entry for each pair");
    wants(n < most_rows && m < most_rows, "there must be fewer than 2^31 records");
    check_aligned(left, right, keep);
    nb::gil_scoped_release release;
    check_pairs(left, right, n, m);
    std::vector<uint8_t> mine(n, 0), theirs(m, 0);
    for (size_t i = 0; i < left.shape(0); ++i) {
        uint8_t& l = mine[static_cast<size_t>(left.data()[i])];
        uint8_t& r = theirs[static_cast<size_t>(right.data()[i])];
        keep.data()[i] = !l && !r;
        if (keep.data()[i]) l = r = 1;
    }
}

template <class Symbol>
void define(nb::module_& m) {
    m.def("link_words", words<Symbol>, nb::arg("symbols").noconvert(), nb::arg("starts"),
          nb::arg("classes"));
    m.def("link_runs", runs<Symbol>, nb::arg("symbols").noconvert(), nb::arg("starts"),
          nb::arg("classes"), nb::arg("q"));
    for (const bool bits : {false, true})
        m.def(
            bits ? "link_bits" : "link_hashes",
            [bits](List<const Symbol> symbols, List<const int64_t> starts, List<uint64_t> out) {
                signs<Symbol>(bits, symbols, starts, out);
            },
            nb::arg("symbols").noconvert(), nb::arg("starts"), nb::arg("out").noconvert());
    const std::pair<const char*, Level<Symbol>> levels[] = {
        {"link_names", name_level<Symbol>},
        {"link_digits", digits_level<Symbol>},
        {"link_dates", date_level<Symbol>},
    };
    for (const auto& [name, level] : levels) {
        const Level<Symbol> of = level;
        m.def(
            name,
            [of](List<const Symbol> symbols, List<const int64_t> starts, List<const uint64_t> bits,
                 List<const int32_t> a, List<const int32_t> b, List<uint8_t> out) {
                text_levels<Symbol>(of, symbols, starts, bits, a, b, out);
            },
            nb::arg("symbols").noconvert(), nb::arg("starts"), nb::arg("bits"), nb::arg("a"),
            nb::arg("b"), nb::arg("out").noconvert());
    }
    for (const bool sets : {false, true})
        m.def(
            sets ? "link_sets" : "link_texts",
            [sets](List<const int32_t> words, List<const int64_t> starts, List<const float> weights,
                   List<const Symbol> symbols, List<const int64_t> spelled,
                   List<const uint8_t> numbers, List<const int32_t> a, List<const int32_t> b,
                   List<uint8_t> out) {
                word_levels<Symbol>(sets, words, starts, weights, symbols, spelled, numbers, a, b, out);
            },
            nb::arg("words"), nb::arg("starts"), nb::arg("weights"), nb::arg("symbols").noconvert(),
            nb::arg("spelled"), nb::arg("numbers"), nb::arg("a"), nb::arg("b"),
            nb::arg("out").noconvert());
}

}  // namespace

void bind_link(nb::module_& m) {
    define<uint8_t>(m);
    define<uint32_t>(m);
    m.def("link_rare_parts", rare_parts, nb::arg("parts"), nb::arg("starts"), nb::arg("records"),
          nb::arg("out").noconvert());
    m.def("link_pairs", block_pairs, nb::arg("x"), nb::arg("x_parts").noconvert(), nb::arg("y"),
          nb::arg("y_parts").noconvert(), nb::arg("first"), nb::arg("cap"), nb::arg("parts"),
          nb::arg("out").noconvert(), nb::arg("seen").noconvert());
    m.def("link_patterns", patterns, nb::arg("levels").noconvert(), nb::arg("place").noconvert());
    m.def("link_expect", expect, nb::arg("levels").noconvert(), nb::arg("counts"), nb::arg("shares"),
          nb::arg("logs").noconvert(), nb::arg("post").noconvert(), nb::arg("sums").noconvert());
    m.def("link_average", average_link, nb::arg("left"), nb::arg("right"), nb::arg("weights"),
          nb::arg("absent"), nb::arg("labels").noconvert());
    m.def("link_one_to_one", one_to_one, nb::arg("left"), nb::arg("right"), nb::arg("n"),
          nb::arg("m"), nb::arg("keep").noconvert());
}

}  // namespace mercer
