// Python bindings of edit.cpp: the distances of all pairs of two lists of strings, or of listed pairs.
// The strings of one list are put side by side, as texts or as patterns, and meet each string of the
// other one. All numbers that could lead to a wrong address are checked first.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class Code>
const EditLoops<Code>& edit_loops();
template <>
const EditLoops<uint8_t>& edit_loops<uint8_t>() { return loops->edit8; }
template <>
const EditLoops<int32_t>& edit_loops<int32_t>() { return loops->edit32; }

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

enum Variant { levenshtein, osa, common };

// String i is values[starts[i]] .. values[starts[i + 1] - 1].
template <class Symbol>
struct StringList {
    using Code = Symbol;
    const Code* values;
    const int64_t* starts;
    size_t count;

    StringList(const List<const Code>& v, const List<const int64_t>& s, int64_t alphabet)
        : values(v.data()), starts(s.data()), count(s.shape(0) - 1) {
        if (s.shape(0) < 1) throw std::invalid_argument("starts must have n + 1 entries");
        bool right = starts[0] >= 0 && starts[count] <= static_cast<int64_t>(v.shape(0));
        for (size_t i = 0; i < count; ++i) right = right && starts[i] <= starts[i + 1];
        if (!right) throw std::out_of_range("starts must ascend and stay within values");
        for (int64_t k = starts[0]; k < starts[count]; ++k)
            if (values[k] < 0 || values[k] >= alphabet)
                throw std::out_of_range("values must be in 0 .. alphabet - 1");
    }
    const Code* at(size_t i) const { return values + starts[i]; }
    size_t length(size_t i) const { return static_cast<size_t>(starts[i + 1] - starts[i]); }
    size_t longest() const {
        size_t most = 0;
        for (size_t i = 0; i < count; ++i) most = std::max(most, length(i));
        return most;
    }
};

// Strings of a list whose numbers are every second one of `rows`, as in a list of pairs. Numbers and
// strings are checked here, so that a call checks none but those that it reads.
template <class Symbol>
struct PickedStrings {
    using Code = Symbol;
    const Code* values;
    const int64_t *starts, *rows;
    size_t count;

    void check(size_t strings, size_t total, int64_t alphabet) const {
        for (size_t k = 0; k < count; ++k) {
            const int64_t row = rows[2 * k];
            if (row < 0 || row >= static_cast<int64_t>(strings))
                throw std::out_of_range("pairs must hold numbers of strings");
            const int64_t begin = starts[row], end = starts[row + 1];
            if (begin < 0 || begin > end || end > static_cast<int64_t>(total))
                throw std::out_of_range("starts must ascend and stay within values");
            for (int64_t i = begin; i < end; ++i)
                if (values[i] < 0 || values[i] >= alphabet)
                    throw std::out_of_range("values must be in 0 .. alphabet - 1");
        }
    }
    const Code* at(size_t k) const { return values + starts[rows[2 * k]]; }
    size_t length(size_t k) const {
        return static_cast<size_t>(starts[rows[2 * k] + 1] - starts[rows[2 * k]]);
    }
    size_t longest() const {
        size_t most = 0;
        for (size_t k = 0; k < count; ++k) most = std::max(most, length(k));
        return most;
    }
};

// Strings by their lengths.
template <class Strings>
std::vector<size_t> by_length(const Strings& X) {
    std::vector<size_t> order(X.count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return X.length(a) < X.length(b); });
    return order;
}

// The texts of a list in groups of similar lengths. Lanes that are left over have no symbols.
template <class Code>
struct Groups {
    size_t lanes, longest = 0;
    std::vector<size_t> order, first;  // texts by length; where the codes of each group begin
    std::vector<Code> codes;
    std::vector<int64_t> lengths;

    template <class Strings>
    Groups(const Strings& Z, size_t lanes) : lanes(lanes), order(by_length(Z)) {
        const size_t groups = (Z.count + lanes - 1) / lanes;
        lengths.assign(groups * lanes, 0);
        first.assign(groups + 1, 0);
        for (size_t k = 0; k < Z.count; ++k) lengths[k] = static_cast<int64_t>(Z.length(order[k]));
        for (size_t g = 0; g < groups; ++g) first[g + 1] = first[g] + lanes * columns(g);
        if (groups) longest = columns(groups - 1);
        codes.assign(first[groups], 0);
        for (size_t k = 0; k < Z.count; ++k) {
            const Code* text = Z.at(order[k]);
            Code* lane = codes.data() + first[k / lanes] + k % lanes;
            for (size_t j = 0; j < Z.length(order[k]); ++j) lane[j * lanes] = text[j];
        }
    }
    size_t count() const { return first.size() - 1; }
    size_t columns(size_t g) const {
        int64_t most = 0;
        for (size_t l = 0; l < lanes; ++l) most = std::max(most, lengths[g * lanes + l]);
        return static_cast<size_t>(most);
    }
};

// The table of one pattern after the other, in the same memory.
template <class Code>
struct Pattern {
    size_t alphabet;
    std::vector<uint64_t> blocks;

    explicit Pattern(size_t symbols)
        : alphabet(symbols <= 8 ? 8 : symbols <= 16 ? 16 : symbols <= 32 ? 32 : symbols) {}
    EditPattern of(const Code* symbols, size_t n) {
        const size_t count = (n + 63) / 64, skipped = 64 * count - n;
        if (blocks.size() < count * alphabet) blocks.resize(count * alphabet, 0);
        for (size_t i = 0; i < n; ++i) {
            const size_t row = i + skipped;
            blocks[row / 64 * alphabet + static_cast<size_t>(symbols[i])] |= uint64_t(1) << row % 64;
        }
        return {blocks.data(), alphabet, count, skipped};
    }
    void clear(const Code* symbols, size_t n) {
        const size_t skipped = 64 * ((n + 63) / 64) - n;
        for (size_t i = 0; i < n; ++i)
            blocks[(i + skipped) / 64 * alphabet + static_cast<size_t>(symbols[i])] = 0;
    }
};

// Tables of patterns, which are empty between two patterns, and so serve one call after the other.
template <class Code>
struct EditTables {
    std::vector<uint16_t> bits16;
    std::vector<uint32_t> bits32;
    Pattern<Code> blocks;
    std::vector<int32_t> rows;  // of symbols that a group of patterns names

    explicit EditTables(size_t alphabet) : blocks(alphabet) {}
    std::vector<uint16_t>& of(uint16_t) { return bits16; }
    std::vector<uint32_t>& of(uint32_t) { return bits32; }
};

// The lists of a call. With `same`, X and Z are one list, and the distances are symmetric: one half
// is computed, and a pattern meets the groups of texts that are as long as it is or longer.
template <class Strings>
struct EditCall {
    using Code = typename Strings::Code;
    const Strings &X, &Z;
    EditTables<Code>& tables;
    std::vector<size_t> order;  // of X
    size_t alphabet;
    Variant variant;
    int64_t limit;
    bool same;
    double* out;

    // The patterns order[begin] .. order[end - 1]: begin_with(symbols, n) makes the table of one,
    // run(group, found) compares it with a group of texts, and end_with(symbols, n) clears it.
    template <class Found, class Begin, class Run, class End>
    void compare(size_t begin, size_t end, size_t lanes, const Begin& begin_with, const Run& run,
                 const End& end_with) const {
        const Groups<Code> texts(Z, lanes);
        const size_t m = Z.count, *columns = texts.order.data();
        std::vector<Found> found(lanes);
        std::vector<double> values(texts.count() * lanes);  // in the order of the texts
        for (size_t k = begin; k < end; ++k) {
            const size_t i = order[k], n = X.length(i), first = same ? k / lanes : 0;
            begin_with(X.at(i), n);
            for (size_t g = first; g < texts.count(); ++g) {
                const int64_t* lengths = texts.lengths.data() + g * lanes;
                const EditTexts<Code> group{texts.codes.data() + texts.first[g], lengths,
                                            (texts.first[g + 1] - texts.first[g]) / lanes};
                const auto gap = [&](size_t l) {
                    return std::abs(static_cast<int64_t>(n) - lengths[l]);
                };
                bool near = limit < 0;
                for (size_t l = 0; l < lanes && !near; ++l) near = gap(l) <= limit;
                if (near)
                    run(group, found.data());
                else  // by their lengths alone
                    for (size_t l = 0; l < lanes; ++l) found[l] = static_cast<Found>(gap(l));
                for (size_t l = 0; l < lanes; ++l)
                    values[g * lanes + l] = static_cast<double>(found[l]);
            }
            double* row = out + i * m;
            for (size_t t = first * lanes; t < m; ++t) row[columns[t]] = values[t];
            if (same)
                for (size_t t = first * lanes; t < m; ++t) out[columns[t] * m + i] = values[t];
            end_with(X.at(i), n);
        }
    }

    // Patterns whose rows are the bits of a narrow word T.
    template <class T>
    void compare_short(size_t begin, size_t end, const ShortEdits<Code, T>& edits) const {
        if (begin == end) return;
        std::vector<T>& table = tables.of(T());
        table.resize(std::max(alphabet, ShortPattern<T>::most_held), 0);
        ShortPattern<T> pattern{table.data(), alphabet, 0};
        const auto loop = variant == osa ? edits.osa : edits.levenshtein;
        compare<T>(
            begin, end, edits.lanes,
            [&](const Code* symbols, size_t n) {
                pattern.rows = n;
                for (size_t r = 0; r < n; ++r)
                    table[static_cast<size_t>(symbols[r])] |= T(T(1) << (8 * sizeof(T) - n + r));
            },
            [&](const EditTexts<Code>& group, T* found) { loop(pattern, group, found); },
            [&](const Code* symbols, size_t n) {
                for (size_t r = 0; r < n; ++r) table[static_cast<size_t>(symbols[r])] = 0;
            });
    }

    void compare_long(size_t begin, size_t end, const EditLoops<Code>& edit) const {
        if (begin == end) return;
        std::vector<unsigned char> bytes(edit.work_bytes * Z.longest() + 64);
        void* work = bytes.data();
        size_t room = bytes.size();
        std::align(64, room - 63, work, room);
        Pattern<Code>& table = tables.blocks;
        EditPattern pattern{};
        const auto loop = variant == osa ? edit.osa : edit.levenshtein;
        compare<int64_t>(
            begin, end, edit.lanes,
            [&](const Code* symbols, size_t n) { pattern = table.of(symbols, n); },
            [&](const EditTexts<Code>& group, int64_t* found) {
                loop(pattern, group, limit, work, found);
            },
            [&](const Code* symbols, size_t n) { table.clear(symbols, n); });
    }
};

constexpr size_t longest_counted = 60000;  // symbols of a text that 16 bits count, and a pattern's

template <class Strings>
void edit_distances(const Strings& X, const Strings& Z, EditTables<typename Strings::Code>& tables,
                    size_t alphabet, Variant variant, int64_t limit, bool same, double* out) {
    const EditCall<Strings> call{X, Z, tables, by_length(X), alphabet, variant, limit, same, out};
    const auto up_to = [&](size_t n) {
        const auto above = [&](size_t most, size_t i) { return most < X.length(i); };
        return static_cast<size_t>(
            std::upper_bound(call.order.begin(), call.order.end(), n, above) - call.order.begin());
    };
    const size_t of16 = Z.longest() <= longest_counted ? up_to(16) : 0, of32 = std::max(of16, up_to(32));
    const auto& edit = edit_loops<typename Strings::Code>();
    call.compare_short(0, of16, edit.bits16);
    call.compare_short(of16, of32, edit.bits32);
    call.compare_long(of32, X.count, edit);
}

// The strings of a list in groups of similar lengths, as the patterns in the lanes; one group after
// the other in the same memory.
template <class Strings>
class PatternGroups {
  public:
    using Code = typename Strings::Code;

    PatternGroups(const Strings& X, size_t alphabet, size_t lanes, std::vector<int32_t>& rows)
        : strings(X), lanes(lanes), order(by_length(X)), rows(rows) {
        rows.resize(alphabet, 0);
    }
    ~PatternGroups() { forget(); }
    // Strings order[first], order[first + 1] ... as many as there are lanes.
    EditPatterns from(size_t first) {
        const size_t end = std::min(first + lanes, order.size());
        const size_t count = (strings.length(order[end - 1]) + 63) / 64;
        forget();
        const auto each = [&](const auto& f) {
            for (size_t k = first; k < end; ++k)
                for (size_t i = 0; i < strings.length(order[k]); ++i)
                    f(k - first, i, strings.at(order[k])[i]);
        };
        each([&](size_t, size_t, Code c) {
            int32_t& row = rows[static_cast<size_t>(c)];
            if (row) return;
            named.push_back(c);
            row = static_cast<int32_t>(named.size());
        });
        equal.assign((named.size() + 1) * count * lanes, 0);
        each([&](size_t l, size_t i, Code c) {
            const size_t row = static_cast<size_t>(rows[static_cast<size_t>(c)]);
            equal[(row * count + i / 64) * lanes + l] |= uint64_t(1) << i % 64;
        });
        return {equal.data(), rows.data(), count};
    }

    const Strings& strings;
    size_t lanes;
    std::vector<size_t> order;  // strings by length

  private:
    void forget() {
        for (const Code c : named) rows[static_cast<size_t>(c)] = 0;
        named.clear();
    }

    std::vector<int32_t>& rows;
    std::vector<Code> named;  // symbols of the group
    std::vector<uint64_t> equal;
};

// The lengths of the longest common subsequences. The longer list becomes the patterns. With `same`
// a group of them meets the strings that are as long as they are or longer.
template <class Strings>
void common_lengths(const Strings& X, const Strings& Z, EditTables<typename Strings::Code>& tables,
                    size_t alphabet, bool same, double* out) {
    const auto& edit = edit_loops<typename Strings::Code>();
    const bool swapped = X.count < Z.count;
    const Strings& texts = swapped ? X : Z;
    PatternGroups<Strings> groups(swapped ? Z : X, alphabet, edit.patterns, tables.rows);
    std::vector<int64_t> carries(texts.longest() * edit.patterns), found(edit.patterns);
    for (size_t first = 0; first < groups.order.size(); first += edit.patterns) {
        const EditPatterns patterns = groups.from(first);
        const size_t filled = std::min(edit.patterns, groups.order.size() - first);
        for (size_t k = same ? first : 0; k < texts.count; ++k) {
            const size_t t = same ? groups.order[k] : k;
            edit.common(patterns, {texts.at(t), texts.length(t)}, carries.data(), found.data());
            for (size_t l = 0; l < filled; ++l) {
                const size_t p = groups.order[first + l];
                const size_t i = swapped ? t : p, j = swapped ? p : t;
                out[i * Z.count + j] = static_cast<double>(found[l]);
                if (same) out[j * Z.count + i] = static_cast<double>(found[l]);
            }
        }
    }
}

// As `edit_distances`, with costs.
template <class Code>
void weighted_edit_distances(const StringList<Code>& X, const StringList<Code>& Z,
                             const EditCosts& costs, bool same, double* out) {
    const EditLoops<Code>& edit = edit_loops<Code>();
    const Groups<Code> texts(Z, edit.lanes);
    const std::vector<double> codes(texts.codes.begin(), texts.codes.end());
    std::vector<double> row((texts.longest + 1) * edit.lanes), found(edit.lanes), pattern;
    for (size_t k = 0; k < X.count; ++k) {
        const size_t i = same ? texts.order[k] : k;
        pattern.assign(X.at(i), X.at(i) + X.length(i));
        for (size_t g = same ? k / edit.lanes : 0; g < texts.count(); ++g) {
            const EditColumns group{codes.data() + texts.first[g],
                                    texts.lengths.data() + g * edit.lanes,
                                    (texts.first[g + 1] - texts.first[g]) / edit.lanes};
            edit.weighted(pattern.data(), pattern.size(), group, costs, row.data(), found.data());
            const size_t filled = std::min(edit.lanes, Z.count - g * edit.lanes);
            for (size_t l = 0; l < filled; ++l) {
                const size_t j = texts.order[g * edit.lanes + l];
                out[i * Z.count + j] = found[l];
                if (same) out[j * Z.count + i] = found[l];
            }
        }
    }
}

// The logarithms of sums over local alignments.
void local_alignments(const StringList<uint8_t>& X, const StringList<uint8_t>& Z,
                      const AlignmentFactors& factors, bool same, double* out) {
    const AlignmentLoops& loop = loops->alignments;
    const Groups<uint8_t> texts(Z, loop.lanes);
    std::vector<double> work(3 * (texts.longest + 1) * loop.lanes), sums(loop.lanes);
    std::vector<int64_t> times(loop.lanes);
    for (size_t k = 0; k < X.count; ++k) {
        const size_t i = same ? texts.order[k] : k;
        for (size_t g = same ? k / loop.lanes : 0; g < texts.count(); ++g) {
            loop.sums(X.at(i), X.length(i), texts.codes.data() + texts.first[g],
                      (texts.first[g + 1] - texts.first[g]) / loop.lanes, factors, work.data(),
                      sums.data(), times.data());
            const size_t filled = std::min(loop.lanes, Z.count - g * loop.lanes);
            for (size_t l = 0; l < filled; ++l) {
                const size_t j = texts.order[g * loop.lanes + l];
                const double value = std::log(sums[l]) + double(times[l]) * std::log(1e150);
                out[i * Z.count + j] = value;
                if (same) out[j * Z.count + i] = value;
            }
        }
    }
}

inline void check_lists(bool same, const void* x, const void* z, const void* x_starts,
                        const void* z_starts, size_t n, size_t m, const Table& out) {
    if (n != out.shape(0) + 1 || m != out.shape(1) + 1)
        throw std::invalid_argument("shapes must be starts (n + 1,), (m + 1,), out (n, m)");
    if (same && (x != z || x_starts != z_starts))
        throw std::invalid_argument("same: both lists must be the same arrays");
}

template <class Code>
void bind_edit_as(nb::module_& m) {
    const auto distances = [](List<const Code> x, List<const int64_t> x_starts, List<const Code> z,
                              List<const int64_t> z_starts, int64_t alphabet, int variant,
                              int64_t limit, bool same, Table out) {
        check_aligned(x, x_starts, z, z_starts, out);
        if (alphabet < 1 || alphabet > (1 << 24) || variant < levenshtein || variant > common)
            throw std::invalid_argument("alphabet must be in 1 .. 2^24, variant in 0 .. 2");
        check_lists(same, x.data(), z.data(), x_starts.data(), z_starts.data(), x_starts.shape(0),
                    z_starts.shape(0), out);
        const StringList<Code> X(x, x_starts, alphabet), Z(z, z_starts, alphabet);
        double* values = out.data();
        const size_t symbols = static_cast<size_t>(alphabet);
        nb::gil_scoped_release release;
        EditTables<Code> tables(symbols);
        if (variant == common)
            common_lengths(X, Z, tables, symbols, same, values);
        else
            edit_distances(X, Z, tables, symbols, static_cast<Variant>(variant), limit, same, values);
    };
    m.def("edit_distances", distances, nb::arg("x").noconvert(), nb::arg("x_starts"),
          nb::arg("z").noconvert(), nb::arg("z_starts"), nb::arg("alphabet"), nb::arg("variant"),
          nb::arg("limit"), nb::arg("same"), nb::arg("out").noconvert());
    // Pairs of one string of x that follow each other share its table, and the largest of their limits.
    const auto of_pairs = [](List<const Code> x, List<const int64_t> x_starts, List<const Code> z,
                             List<const int64_t> z_starts, int64_t alphabet, int variant,
                             nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig> pairs,
                             List<const int64_t> limits, List<double> out) {
        check_aligned(x, x_starts, z, z_starts, pairs, limits, out);
        wants(alphabet >= 1 && alphabet <= (1 << 24) && variant >= levenshtein && variant <= common,
              "alphabet must be in 1 .. 2^24, variant in 0 .. 2");
        const size_t count = pairs.shape(0), symbols = static_cast<size_t>(alphabet);
        wants(x_starts.shape(0) > 0 && z_starts.shape(0) > 0, "starts must have n + 1 entries");
        wants(pairs.shape(1) == 2 && limits.shape(0) == count && out.shape(0) == count,
              "shapes must be pairs (k, 2), limits (k,), out (k,)");
        const int64_t *both = pairs.data(), *most = limits.data();
        const PickedStrings<Code> X{x.data(), x_starts.data(), both, 1};
        const PickedStrings<Code> Z{z.data(), z_starts.data(), both + 1, 1};
        const size_t n = x_starts.shape(0) - 1, m = z_starts.shape(0) - 1;
        const size_t totals[] = {x.shape(0), z.shape(0)};
        double* values = out.data();
        nb::gil_scoped_release release;
        EditTables<Code> tables(symbols);
        for (size_t first = 0, end = 0; first < count; first = end) {
            int64_t limit = 0;
            for (; end < count && both[2 * end] == both[2 * first]; ++end)
                limit = std::max(limit, most[end]);
            PickedStrings<Code> pattern = X, texts = Z;
            pattern.rows += 2 * first;
            texts.rows += 2 * first;
            texts.count = end - first;
            pattern.check(n, totals[0], alphabet);
            texts.check(m, totals[1], alphabet);
            if (variant == common)
                common_lengths(pattern, texts, tables, symbols, false, values + first);
            else
                edit_distances(pattern, texts, tables, symbols, static_cast<Variant>(variant), limit,
                               false, values + first);
        }
    };
    m.def("edit_pairs", of_pairs, nb::arg("x").noconvert(), nb::arg("x_starts"),
          nb::arg("z").noconvert(), nb::arg("z_starts"), nb::arg("alphabet"), nb::arg("variant"),
          nb::arg("pairs").noconvert(), nb::arg("limits"), nb::arg("out").noconvert());
    const auto weighted = [](List<const Code> x, List<const int64_t> x_starts, List<const Code> z,
                             List<const int64_t> z_starts, double gap, List<const int32_t> classes,
                             nb::ndarray<const double, nb::ndim<2>, nb::c_contig> replace,
                             bool same, Table out) {
        check_aligned(x, x_starts, z, z_starts, classes, replace, out);
        check_lists(same, x.data(), z.data(), x_starts.data(), z_starts.data(), x_starts.shape(0),
                    z_starts.shape(0), out);
        const size_t count = replace.shape(0);
        if (count < 1 || replace.shape(1) != count)
            throw std::invalid_argument("replace must be square, of one class at least");
        for (size_t k = 0; k < classes.shape(0); ++k)
            if (classes.data()[k] < 0 || static_cast<size_t>(classes.data()[k]) >= count)
                throw std::out_of_range("classes must be in 0 .. the size of replace - 1");
        const int64_t alphabet = static_cast<int64_t>(classes.shape(0));
        const StringList<Code> X(x, x_starts, alphabet), Z(z, z_starts, alphabet);
        const EditCosts costs{gap, replace.data(), classes.data(), count};
        double* values = out.data();
        nb::gil_scoped_release release;
        weighted_edit_distances(X, Z, costs, same, values);
    };
    m.def("weighted_edit_distances", weighted, nb::arg("x").noconvert(), nb::arg("x_starts"),
          nb::arg("z").noconvert(), nb::arg("z_starts"), nb::arg("gap"),
          nb::arg("classes").noconvert(), nb::arg("replace").noconvert(), nb::arg("same"),
          nb::arg("out").noconvert());
}

}  // namespace

void bind_edit(nb::module_& m) {
    const auto alignments = [](List<const uint8_t> x, List<const int64_t> x_starts,
                               List<const uint8_t> z, List<const int64_t> z_starts,
                               nb::ndarray<const double, nb::ndim<2>, nb::c_contig> pairs,
                               double open, double extend, bool same, Table out) {
        check_aligned(x, x_starts, z, z_starts, pairs, out);
        check_lists(same, x.data(), z.data(), x_starts.data(), z_starts.data(), x_starts.shape(0),
                    z_starts.shape(0), out);
        const size_t symbols = pairs.shape(0);
        wants(symbols > 0 && symbols <= 256 && pairs.shape(1) == symbols,
              "pairs must be square, of 1 to 256 symbols");
        for (size_t k = 0; k < symbols * symbols; ++k)
            wants(pairs.data()[k] >= 0 && pairs.data()[k] <= 1e100 &&
                      (k % symbols || pairs.data()[k] == 0),
                  "pairs must be in 0 .. 1e100, and 0 for the symbol 0");
        wants(open >= 0 && open <= 1 && extend >= 0 && extend <= 1,
              "open and extend must be in 0 .. 1");
        const StringList<uint8_t> X(x, x_starts, static_cast<int64_t>(symbols));
        const StringList<uint8_t> Z(z, z_starts, static_cast<int64_t>(symbols));
        double* values = out.data();
        const AlignmentFactors factors{pairs.data(), symbols, open, extend};
        nb::gil_scoped_release release;
        local_alignments(X, Z, factors, same, values);
    };
    m.def("local_alignments", alignments, nb::arg("x").noconvert(), nb::arg("x_starts"),
          nb::arg("z").noconvert(), nb::arg("z_starts"), nb::arg("pairs").noconvert(),
          nb::arg("open"), nb::arg("extend"), nb::arg("same"), nb::arg("out").noconvert());
    bind_edit_as<uint8_t>(m);
    bind_edit_as<int32_t>(m);
}

}  // namespace mercer
