// Edit distances of a pattern to the texts in the lanes, and common subsequences of the patterns in
// the lanes and a text (see edit.hpp).
//
// Myers, "A fast bit-vector algorithm for approximate string matching", 1999; Hyyrö, "A bit-vector
// algorithm for computing Levenshtein and Damerau edit distances", 2003 (with exchanged
// neighbours), and "Bit-parallel LCS-length computation revisited", 2004; Wagner & Fischer, "The
// string-to-string correction problem", 1974 (with costs).
#include "loops.hpp"
#include "words.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Vector = Words::Vector;
using Carry = Words::Carry;

constexpr size_t vectors = 2;  // of texts, whose chains of instructions do not wait for each other
constexpr size_t lanes = vectors * Words::width;

// What a block leaves to the next one in each column: whether the distance along its last row grows
// or falls by 1, and whether an exchange may begin in the last row (of `osa`).
template <bool Exchange>
struct Column {
    Carry up[vectors], down[vectors];
};
template <>
struct Column<true> {
    Carry up[vectors], down[vectors], exchange[vectors];
};

template <size_t N>
struct Size {
    static constexpr size_t value = N;
};

// The words of one block: where the distance grows or falls from row to row, and for `osa` where
// the previous column was reached without cost, and where it had the text's symbol.
struct Block {
    Vector up[vectors], down[vectors], free[vectors], equal[vectors];
};

template <bool Exchange>
inline void step(Block& b, size_t v, Vector equal, Column<Exchange>& column) {
    const Carry up = column.up[v], down = column.down[v];
    const Vector x = Words::with_bit(equal, down);
    const Vector sum = Words::plus(Words::both(x, b.up[v]), b.up[v]);
    // where the diagonal step into a cell costs nothing
    Vector free = Words::either(Words::differ_or(sum, b.up[v], x), b.down[v]);
    if constexpr (Exchange) {
        const Vector begun = Words::without(equal, b.free[v]);
        const Vector moved = Words::with_bit(Words::twice(begun), column.exchange[v]);
        column.exchange[v] = Words::last_bit(begun);
        free = Words::either(free, Words::both(moved, b.equal[v]));
        b.free[v] = free;
        b.equal[v] = equal;
    }
    Vector right_up = Words::or_neither(b.down[v], free, b.up[v]);
    Vector right_down = Words::both(b.up[v], free);
    column.up[v] = Words::last_bit(right_up);
    column.down[v] = Words::last_bit(right_down);
    right_up = Words::with_bit(Words::twice(right_up), up);
    right_down = Words::with_bit(Words::twice(right_down), down);
    b.up[v] = Words::or_neither(right_down, free, right_up);
    b.down[v] = Words::both(right_up, free);
}

// The first column of a block: cells further to the left are more than `limit` from the diagonal.
inline size_t first_column(size_t block, size_t skipped, size_t limit) {
    const size_t row = 64 * block;
    return row > limit + skipped ? row - skipped - limit : 0;
}

// Distances by Ukkonen's band: cells outside count as more than they are, which is more than the
// limit. `score` is the distance at the left end of the last row of a block; it goes down through
// the next block, at most 64 more, and right along the last row of that one.
template <bool Exchange, bool Bounded, size_t Symbols, class Code>
void edit(const EditPattern& p, const EditTexts<Code>& texts, int64_t limit, void* work,
          int64_t* out) {
    Column<Exchange>* columns = static_cast<Column<Exchange>*>(work);
    const size_t m = texts.longest;
    for (size_t j = 0; j < m; ++j)
        for (size_t v = 0; v < vectors; ++v) {
            columns[j].up[v] = Words::every();
            columns[j].down[v] = Words::none();
            if constexpr (Exchange) columns[j].exchange[v] = Words::none();
        }
    Vector score[vectors], length[vectors];
    for (size_t v = 0; v < vectors; ++v) {
        score[v] = Words::all(uint64_t(0) - p.skipped);
        length[v] = Words::load(texts.lengths + v * Words::width);
    }
    const size_t reach = Bounded ? size_t(limit) : 0;
    for (size_t w = 0; w < p.count; ++w) {
        const Lookup<Code, Symbols> lookup(p.blocks + w * p.alphabet);
        Block b;
        for (size_t v = 0; v < vectors; ++v) {
            b.up[v] = Words::all(w == 0 ? ~uint64_t(0) << p.skipped : ~uint64_t(0));
            b.down[v] = b.free[v] = b.equal[v] = Words::all(0);
            score[v] = Words::plus(score[v], Words::all(64));
        }
        const bool last = w + 1 == p.count;
        size_t j = Bounded ? first_column(w, p.skipped, reach) : 0, end = m, next = last ? m : 0;
        if (Bounded) {
            const size_t right = 64 * (w + 1) - p.skipped + reach;
            end = right < m ? right : m;
            if (!last) next = first_column(w + 1, p.skipped, reach);
            next = next < end ? next : end;
            j = j < end ? j : end;
        }
        Vector least[vectors], here[vectors];
        for (; j < next; ++j)  // the score moves along
            for (size_t v = 0; v < vectors; ++v) {
                step<Exchange>(b, v, lookup(texts.codes + j * lanes + v * Words::width), columns[j]);
                const Carry inside = Words::above(length[v], Words::all(j));
                score[v] = Words::plus_bit(score[v], Words::both(columns[j].up[v], inside));
                score[v] = Words::minus_bit(score[v], Words::both(columns[j].down[v], inside));
            }
        for (size_t v = 0; v < vectors; ++v) least[v] = here[v] = score[v];
        for (; j < end; ++j)
            for (size_t v = 0; v < vectors; ++v) {
                step<Exchange>(b, v, lookup(texts.codes + j * lanes + v * Words::width), columns[j]);
                if constexpr (Bounded) {
                    here[v] = Words::plus_bit(here[v], columns[j].up[v]);
                    here[v] = Words::minus_bit(here[v], columns[j].down[v]);
                    least[v] = Words::least(least[v], here[v]);
                }
            }
        if constexpr (Bounded) {  // no cell of this row is within the limit: none below is
            bool near = false;
            for (size_t v = 0; v < vectors; ++v)
                near |= Words::any(Words::above(Words::all(uint64_t(limit) + 1), least[v]));
            if (!near) {
                for (size_t l = 0; l < lanes; ++l) out[l] = limit + 1;
                return;
            }
        }
    }
    for (size_t v = 0; v < vectors; ++v) Words::store(out + v * Words::width, score[v]);
}

template <class T>
constexpr size_t short_lanes = lanes * sizeof(uint64_t) / sizeof(T);

// The words of a short pattern's table that the lanes' symbols name: by loads, or by permutations of
// a table that as many registers hold.
template <class T, class Code, size_t Registers>
struct ShortLookup {
    const T* table;
    explicit ShortLookup(const T* words) : table(words) {}
    void operator()(const Code* codes, T* equal) const {
        for (size_t l = 0; l < short_lanes<T>; ++l) equal[l] = table[codes[l]];
    }
};
#if defined(__AVX512BW__)
inline __m512i permuted(__m512i low, __m512i index, __m512i high, uint16_t) {
    return _mm512_permutex2var_epi16(low, index, high);
}
inline __m512i permuted(__m512i low, __m512i index, __m512i high, uint32_t) {
    return _mm512_permutex2var_epi32(low, index, high);
}
inline __m512i indices(const uint8_t* codes, uint16_t) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)codes));
}
inline __m512i indices(const uint8_t* codes, uint32_t) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)codes));
}
inline __m512i upper_or(__m512i low, __m512i index, __m512i high, uint16_t) {
    return _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(index, _mm512_set1_epi16(64)), high);
}
inline __m512i upper_or(__m512i low, __m512i index, __m512i high, uint32_t) {
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), high);
}
template <class T, size_t Registers>
struct HeldLookup {
    static constexpr size_t width = 64 / sizeof(T);
    __m512i part[Registers];
    explicit HeldLookup(const T* words) {
        for (size_t p = 0; p < Registers; ++p) part[p] = _mm512_loadu_si512(words + p * width);
    }
    void operator()(const uint8_t* codes, T* equal) const {
        for (size_t l = 0; l < short_lanes<T>; l += width) {
            const __m512i index = indices(codes + l, T());
            __m512i found = permuted(part[0], index, part[1], T());
            if constexpr (Registers == 4)
                found = upper_or(found, index, permuted(part[2], index, part[3], T()), T());
            _mm512_storeu_si512(equal + l, found);
        }
    }
};
template <class T>
struct ShortLookup<T, uint8_t, 2> : HeldLookup<T, 2> {
    using HeldLookup<T, 2>::HeldLookup;
};
template <class T>
struct ShortLookup<T, uint8_t, 4> : HeldLookup<T, 4> {
    using HeldLookup<T, 4>::HeldLookup;
};
constexpr bool held_tables = true;
#else
constexpr bool held_tables = false;
#endif

// The same columns as in `step`, of one block, in loops that compilers make vectors of.
template <bool Exchange, size_t Registers, class T, class Code>
void short_edit(const ShortPattern<T>& p, const EditTexts<Code>& texts, T* out) {
    constexpr size_t L = short_lanes<T>;
    constexpr int last = 8 * sizeof(T) - 1;
    const ShortLookup<T, Code, Registers> lookup(p.equal);
    T up[L], down[L], freed[L], met[L], score[L], length[L], equal[L];
    size_t shortest = texts.longest;
    for (size_t l = 0; l < L; ++l) {
        up[l] = p.rows > 0 ? T(T(~T(0)) << (last + 1 - int(p.rows))) : T(0);
        down[l] = freed[l] = met[l] = 0;
        score[l] = T(p.rows);
        length[l] = T(texts.lengths[l]);
        shortest = length[l] < shortest ? length[l] : shortest;
    }
    const auto columns = [&](size_t begin, size_t end, auto inside) {
        for (size_t j = begin; j < end; ++j) {
            lookup(texts.codes + j * L, equal);
            for (size_t l = 0; l < L; ++l) {
                const T e = equal[l], u = up[l], d = down[l];
                T free = T((T((e & u) + u) ^ u) | e | d);
                if constexpr (Exchange) {
                    const T begun = T(e & T(~freed[l]));
                    free = T(free | (T(begun << 1) & met[l]));
                    freed[l] = free;
                    met[l] = e;
                }
                const T rise = T(d | T(~T(free | u))), fall = T(u & free);
                const T counts = inside(T(j), length[l]);
                score[l] = T(score[l] + (T(rise >> last) & counts) - (T(fall >> last) & counts));
                const T risen = T(T(rise << 1) | 1), fallen = T(fall << 1);
                up[l] = T(fallen | T(~T(free | risen)));
                down[l] = T(risen & free);
            }
        }
    };
    columns(0, shortest, [](T, T) { return T(1); });
    columns(shortest, texts.longest, [](T j, T end) { return T(j < end); });
    for (size_t l = 0; l < L; ++l) out[l] = score[l];
}

template <bool Exchange, class T, class Code>
void short_distances(const ShortPattern<T>& p, const EditTexts<Code>& texts, T* out) {
    constexpr size_t most = ShortPattern<T>::most_held;
    if constexpr (held_tables && sizeof(Code) == 1) {
        if (p.alphabet <= most / 2) return short_edit<Exchange, 2>(p, texts, out);
        if (p.alphabet <= most) return short_edit<Exchange, 4>(p, texts, out);
    }
    short_edit<Exchange, 0>(p, texts, out);
}

template <class T, class Code>
constexpr ShortEdits<Code, T> short_edits = {short_lanes<T>, short_distances<false, T, Code>,
                                             short_distances<true, T, Code>};

inline int64_t count_bits(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<int64_t>(x * 0x0101010101010101u >> 56);
}

constexpr size_t most_blocks = 8;  // of the patterns, whose words stay in registers

// Adds to `out` the rows of B blocks in which the longest common subsequence grows: the bits of S
// that are 0 in the end. `Chained`: there are more blocks, and `carries` holds what these leave to
// the next ones, for each symbol of the text.
template <size_t B, bool Chained, class Code>
void grow(const EditPatterns& p, size_t block, const EditText<Code>& text, int64_t* carries,
          int64_t* out) {
    constexpr size_t width = Words::width;
    const int64_t* bits = reinterpret_cast<const int64_t*>(p.equal) + block * width;
    const size_t stride = p.count * width;
    Vector S[B];
    for (size_t b = 0; b < B; ++b) S[b] = Words::all(~uint64_t(0));
    for (size_t j = 0; j < text.length; ++j) {
        const int64_t* equal = bits + static_cast<size_t>(p.rows[text.codes[j]]) * stride;
        Vector carry = Chained ? Words::load(carries + j * width) : Words::all(0);
        for (size_t b = 0; b < B; ++b) {
            const Vector s = S[b], shared = Words::both(s, Words::load(equal + b * width));
            const Vector sum = Words::plus(Words::plus(s, shared), carry);
            carry = Words::highest_bit(Words::or_without(shared, s, sum));
            S[b] = Words::or_without(sum, s, shared);
        }
        if (Chained) Words::store(carries + j * width, carry);
    }
    for (size_t b = 0; b < B; ++b) {
        int64_t words[width];
        Words::store(words, S[b]);
        for (size_t l = 0; l < width; ++l) out[l] += count_bits(~static_cast<uint64_t>(words[l]));
    }
}

// The same for a number of blocks that is known at run time.
template <bool Chained, class Code, size_t B = most_blocks>
void grow_some(size_t count, const EditPatterns& p, size_t block, const EditText<Code>& text,
               int64_t* carries, int64_t* out) {
    if (count == B) return grow<B, Chained>(p, block, text, carries, out);
    if constexpr (B > 1) grow_some<Chained, Code, B - 1>(count, p, block, text, carries, out);
}

template <class Code>
void common(const EditPatterns& p, const EditText<Code>& text, int64_t* carries, int64_t* out) {
    for (size_t l = 0; l < Words::width; ++l) out[l] = 0;
    if (p.count <= most_blocks) return grow_some<false>(p.count, p, 0, text, carries, out);
    for (size_t k = 0; k < text.length * Words::width; ++k) carries[k] = 0;
    for (size_t w = 0; w < p.count; w += most_blocks) {
        const size_t left = p.count - w;
        grow_some<true>(left < most_blocks ? left : most_blocks, p, w, text, carries, out);
    }
}

// The distance by the loop for tables of this size and for this limit.
template <bool Exchange, size_t Symbols, class Code>
void within(const EditPattern& p, const EditTexts<Code>& texts, int64_t limit, void* work,
            int64_t* out) {
    const size_t n = 64 * p.count - p.skipped, longer = n > texts.longest ? n : texts.longest;
    if (limit >= 0 && size_t(limit) < longer)
        edit<Exchange, true, Symbols>(p, texts, limit, work, out);
    else
        edit<Exchange, false, Symbols>(p, texts, limit, work, out);
    for (size_t l = 0; l < lanes; ++l) {  // the end of a long text may be outside the band
        const int64_t gap = int64_t(n) - texts.lengths[l], least = gap < 0 ? -gap : gap;
        if (out[l] < least) out[l] = least;
    }
}

// Calls f with the size of tables that registers hold, or with 0 for all others.
template <class Code, class F>
void by_size(const EditPattern& p, const F& f) {
    if constexpr (sizeof(Code) == 1 && small_tables) {
        if (p.alphabet == 8) return f(Size<8>());
        if (p.alphabet == 16) return f(Size<16>());
        if (p.alphabet == 32) return f(Size<32>());
    }
    f(Size<0>());
}

template <bool Exchange, class Code>
void distances(const EditPattern& p, const EditTexts<Code>& texts, int64_t limit, void* work,
               int64_t* out) {
    by_size<Code>(p, [&](auto size) {
        within<Exchange, decltype(size)::value>(p, texts, limit, work, out);
    });
}

// The table's rows one after the other (Wagner & Fischer 1974), for all lanes at once. All numbers
// are doubles, codes too, so that compilers make vectors of these loops.
template <bool Classes>
void least_costs(const double* pattern, size_t n, const EditColumns& texts, const EditCosts& costs,
                 double* row, double* out) {
    const size_t m = texts.longest;
    const double gap = costs.gap;
    for (size_t l = 0; l < lanes; ++l) row[l] = 0;
    for (size_t k = lanes; k < (m + 1) * lanes; ++k) row[k] = row[k - lanes] + gap;
    for (size_t i = 0; i < n; ++i) {
        const double symbol = pattern[i];
        const double* replace = costs.replace + size_t(costs.classes[size_t(symbol)]) * costs.count;
        double diagonal[lanes], left[lanes], cost[lanes];
        for (size_t l = 0; l < lanes; ++l) {
            diagonal[l] = row[l];
            left[l] = row[l] = row[l] + gap;
            cost[l] = replace[0];
        }
        for (size_t j = 0; j < m; ++j) {
            const double* __restrict codes = texts.codes + j * lanes;
            double* __restrict cells = row + (j + 1) * lanes;
            if constexpr (Classes)
                for (size_t l = 0; l < lanes; ++l) cost[l] = replace[costs.classes[size_t(codes[l])]];
            for (size_t l = 0; l < lanes; ++l) {
                const double replaced = diagonal[l] + (codes[l] == symbol ? 0 : cost[l]);
                const double up = cells[l], shorter = (up < left[l] ? up : left[l]) + gap;
                diagonal[l] = up;
                cells[l] = left[l] = replaced < shorter ? replaced : shorter;
            }
        }
    }
    for (size_t l = 0; l < lanes; ++l) out[l] = row[size_t(texts.lengths[l]) * lanes + l];
}

void weighted(const double* pattern, size_t n, const EditColumns& texts, const EditCosts& costs,
              double* row, double* out) {
    (costs.count > 1 ? least_costs<true> : least_costs<false>)(pattern, n, texts, costs, row, out);
}

constexpr double large = 1e150;

// Saigo et al. 2004, section 3.1: row by row, for all lanes at once. A cell has the sums over the
// alignments that end there with a pair, with a symbol of the pattern in a gap, and all together;
// of a row of the pattern what ends with a symbol of the text in a gap is known from the left.
void alignment_sums(const uint8_t* pattern, size_t n, const uint8_t* texts, size_t longest,
                    const AlignmentFactors& factors, double* work, double* sums, int64_t* times) {
    const size_t size = (longest + 1) * lanes;
    double* __restrict pairs = work;
    double* __restrict gaps = work + size;
    double* __restrict whole = work + 2 * size;
    for (size_t k = 0; k < 3 * size; ++k) work[k] = 0;
    double unit[lanes], total[lanes];
    for (size_t l = 0; l < lanes; ++l) {
        unit[l] = 1;
        total[l] = 0;
        times[l] = 0;
    }
    const double open = factors.open, extend = factors.extend;
    for (size_t i = 0; i < n; ++i) {
        const double* row = factors.pairs + size_t(pattern[i]) * factors.symbols;
        double diagonal[lanes] = {}, left[lanes] = {}, left_gap[lanes] = {}, most[lanes] = {};
        for (size_t j = lanes; j < size; j += lanes) {
            double factor[lanes];
            for (size_t l = 0; l < lanes; ++l) factor[l] = row[texts[j - lanes + l]];
            for (size_t l = 0; l < lanes; ++l) {
                const double pair = factor[l] * (unit[l] + diagonal[l]);
                const double gap = open * pairs[j + l] + extend * gaps[j + l];
                left_gap[l] = open * left[l] + extend * left_gap[l];
                left[l] = pair + gap;
                diagonal[l] = whole[j + l];
                pairs[j + l] = pair;
                gaps[j + l] = gap;
                whole[j + l] = left[l] + left_gap[l];
                total[l] += pair;
                most[l] = most[l] < whole[j + l] ? whole[j + l] : most[l];
            }
        }
        for (size_t l = 0; l < lanes; ++l) {
            if (most[l] < large && total[l] < large) continue;
            for (size_t k = l; k < 3 * size; k += lanes) work[k] /= large;
            unit[l] /= large;
            total[l] /= large;
            ++times[l];
        }
    }
    for (size_t l = 0; l < lanes; ++l) sums[l] = unit[l] + total[l];
}

}  // namespace

extern const AlignmentLoops alignments;
constinit const AlignmentLoops alignments = {lanes, alignment_sums};
extern const EditLoops<uint8_t> edit8;
extern const EditLoops<int32_t> edit32;
constinit const EditLoops<uint8_t> edit8 = {
    lanes, sizeof(Column<true>), distances<false, uint8_t>, distances<true, uint8_t>,
    short_edits<uint16_t, uint8_t>, short_edits<uint32_t, uint8_t>, Words::width, common<uint8_t>, weighted};
constinit const EditLoops<int32_t> edit32 = {
    lanes, sizeof(Column<true>), distances<false, int32_t>, distances<true, int32_t>,
    short_edits<uint16_t, int32_t>, short_edits<uint32_t, int32_t>, Words::width, common<int32_t>, weighted};

}  // namespace MERCER_ISA
}  // namespace mercer
