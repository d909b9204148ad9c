// Records that are the same thing: link_levels.hpp and link_pairs.hpp, bound for link/. Their loops wait
// for memory and gain nothing from wider vectors, so that they stand here once. All numbers that could
// lead to a wrong address are checked first.
#include <algorithm>
#include <cmath>
#include <vector>

#include "link_pairs.hpp"
#include "utf8.hpp"

namespace mercer {
namespace {

using namespace link;

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr size_t most_rows = size_t(1) << 31;

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

// --- words and runs of symbols ------------------------------------------------------------------

enum Class : uint8_t { none = 0, letter = 1, digit = 2, alone = 3 };  // alone: a word by itself

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
        std::vector<uint8_t> seen(n, 0);
        const BlockView one{x.data(), x_parts.data(), kx}, two{y.data(), y_parts.data(), ky};
        pairs = pairs_of_blocks(one, two, n, static_cast<size_t>(first), static_cast<size_t>(cap),
                                static_cast<uint64_t>(parts), out.data(), out.shape(0), seen.data());
        size_t known = 0, good = 0;
        for (const uint8_t one : seen) known += one > 0, good += one == 3;
        std::copy_n(seen.begin(), told.shape(0), told.data());
        share = known ? static_cast<double>(good) / static_cast<double>(known) : 0;
    }
    return nb::make_tuple(pairs * parts, share);
}

// --- levels of names, digits and dates ------------------------------------------------------------

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
            out.data()[i] = missing_level;
        else if (x == y)
            out.data()[i] = equal_level;
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
            out.data()[i] = missing_level;
        else if (x == y)
            out.data()[i] = equal_level;
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
        firsts = patterns_of(levels.data(), n, d, place.data());
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
    for (size_t i = 0; i < P * d; ++i) wants(levels.data()[i] < 8, "levels must be below 8");
    expected_classes(levels.data(), counts.data(), shares.data(), logs.data(), P, d, c, post.data(),
                     sums.data());
}

// --- clusters -------------------------------------------------------------------------------------

void check_pairs(List<const int64_t>& left, List<const int64_t>& right, size_t n, size_t m) {
    wants(left.shape(0) == right.shape(0), "both lists must have an entry for each pair");
    for (size_t i = 0; i < left.shape(0); ++i)
        wants(left.data()[i] >= 0 && static_cast<size_t>(left.data()[i]) < n && right.data()[i] >= 0 &&
                  static_cast<size_t>(right.data()[i]) < m,
              "pairs must be numbers of records");
}

void average_link(List<const int64_t> left, List<const int64_t> right, List<const double> weights,
                  double absent, List<int64_t> labels) {
    const size_t n = labels.shape(0);
    wants(absent < 0, "absent must be below 0");
    wants(weights.shape(0) == left.shape(0), "weights must have a number for each pair");
    check_aligned(left, right, weights, labels);
    nb::gil_scoped_release release;
    check_pairs(left, right, n, n);
    for (size_t e = 0; e < left.shape(0); ++e)
        wants(std::isfinite(weights.data()[e]), "weights must be finite");
    join_by_average(left.data(), right.data(), weights.data(), left.shape(0), absent, labels.data(), n);
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
