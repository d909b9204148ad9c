// Words of 64 bits in the lanes of vectors, for each instruction set; edit.cpp computes with them.
// A Carry has one bit for each lane: a mask where there are masks, otherwise 0 or 1 in each word.
// Everything is static: see the rule in loops.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mercer {
namespace MERCER_ISA {
namespace {

#if defined(__AVX512F__)

struct Words {
    static constexpr size_t width = 8;
    using Vector = __m512i;
    using Carry = __mmask8;

    static Vector all(uint64_t x) { return _mm512_set1_epi64((int64_t)x); }
    static Vector load(const int64_t* x) { return _mm512_loadu_si512(x); }
    static void store(int64_t* x, Vector a) { _mm512_storeu_si512(x, a); }
    static Carry every() { return 0xff; }
    static Carry none() { return 0; }
    static Carry both(Carry a, Carry b) { return a & b; }
    static bool any(Carry a) { return a != 0; }
    static Carry last_bit(Vector a) { return _mm512_movepi64_mask(a); }
    static Carry above(Vector a, Vector b) { return _mm512_cmpgt_epi64_mask(a, b); }
    static Vector least(Vector a, Vector b) { return _mm512_min_epi64(a, b); }
    static Vector plus(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
    static Vector plus_bit(Vector a, Carry c) { return _mm512_mask_add_epi64(a, c, a, all(1)); }
    static Vector minus_bit(Vector a, Carry c) { return _mm512_mask_sub_epi64(a, c, a, all(1)); }
    // a | 1 where there is a carry.
    static Vector with_bit(Vector a, Carry c) { return _mm512_mask_or_epi64(a, c, a, all(1)); }
    static Vector twice(Vector a) { return _mm512_add_epi64(a, a); }
    static Vector both(Vector a, Vector b) { return _mm512_and_si512(a, b); }
    static Vector either(Vector a, Vector b) { return _mm512_or_si512(a, b); }
    static Vector without(Vector a, Vector b) { return _mm512_andnot_si512(b, a); }  // a & ~b
    static Vector highest_bit(Vector a) { return _mm512_srli_epi64(a, 63); }
    // a | (b & ~c), (a ^ b) | c, and a | ~(b | c): one instruction each.
    static Vector or_without(Vector a, Vector b, Vector c) {
        return _mm512_ternarylogic_epi64(a, b, c, 0xf4);
    }
    static Vector differ_or(Vector a, Vector b, Vector c) {
        return _mm512_ternarylogic_epi64(a, b, c, 0xbe);
    }
    static Vector or_neither(Vector a, Vector b, Vector c) {
        return _mm512_ternarylogic_epi64(a, b, c, 0xf1);
    }
};

// The words of a block's table that the lanes' symbols name. Tables of up to 32 words are held in
// registers.
template <class Code, size_t Symbols>
struct Lookup {
    Words::Vector part[Symbols > 0 ? Symbols / 8 : 1];
    const uint64_t* table;
    explicit Lookup(const uint64_t* words) : table(words) {
        for (size_t p = 0; p < Symbols / 8; ++p) part[p] = _mm512_loadu_si512(words + 8 * p);
    }
    Words::Vector operator()(const uint8_t* codes) const {
        if constexpr (Symbols == 0) {
            return loaded(codes);
        } else {
            const __m512i index = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)codes));
            if constexpr (Symbols == 8) {
                return _mm512_permutexvar_epi64(index, part[0]);
            } else if constexpr (Symbols == 16) {
                return _mm512_permutex2var_epi64(part[0], index, part[1]);
            } else {
                const __m512i low = _mm512_permutex2var_epi64(part[0], index, part[1]);
                const __m512i high = _mm512_permutex2var_epi64(part[2], index, part[3]);
                const __mmask8 upper = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
                return _mm512_mask_mov_epi64(low, upper, high);
            }
        }
    }
    Words::Vector operator()(const int32_t* codes) const { return loaded(codes); }
    // Eight loads: measured faster than a gather.
    Words::Vector loaded(const Code* c) const {
        return _mm512_set_epi64((int64_t)table[c[7]], (int64_t)table[c[6]], (int64_t)table[c[5]],
                                (int64_t)table[c[4]], (int64_t)table[c[3]], (int64_t)table[c[2]],
                                (int64_t)table[c[1]], (int64_t)table[c[0]]);
    }
};
constexpr bool small_tables = true;

#elif defined(__AVX2__)

struct Words {
    static constexpr size_t width = 4;
    using Vector = __m256i;
    using Carry = __m256i;

    static Vector all(uint64_t x) { return _mm256_set1_epi64x((int64_t)x); }
    static Vector load(const int64_t* x) { return _mm256_loadu_si256((const __m256i*)x); }
    static void store(int64_t* x, Vector a) { _mm256_storeu_si256((__m256i*)x, a); }
    static Carry every() { return all(1); }
    static Carry none() { return all(0); }
    static bool any(Carry a) { return !_mm256_testz_si256(a, a); }
    static Carry last_bit(Vector a) { return _mm256_srli_epi64(a, 63); }
    static Carry above(Vector a, Vector b) {
        return _mm256_srli_epi64(_mm256_cmpgt_epi64(a, b), 63);
    }
    static Vector least(Vector a, Vector b) {
        return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
    }
    static Vector plus(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
    static Vector plus_bit(Vector a, Carry c) { return _mm256_add_epi64(a, c); }
    static Vector minus_bit(Vector a, Carry c) { return _mm256_sub_epi64(a, c); }
    static Vector with_bit(Vector a, Carry c) { return _mm256_or_si256(a, c); }
    static Vector twice(Vector a) { return _mm256_add_epi64(a, a); }
    static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
    static Vector either(Vector a, Vector b) { return _mm256_or_si256(a, b); }
    static Vector without(Vector a, Vector b) { return _mm256_andnot_si256(b, a); }
    static Vector highest_bit(Vector a) { return _mm256_srli_epi64(a, 63); }
    static Vector or_without(Vector a, Vector b, Vector c) { return either(a, without(b, c)); }
    static Vector differ_or(Vector a, Vector b, Vector c) {
        return _mm256_or_si256(_mm256_xor_si256(a, b), c);
    }
    static Vector or_neither(Vector a, Vector b, Vector c) {
        return _mm256_or_si256(a, _mm256_andnot_si256(_mm256_or_si256(b, c), all(~uint64_t(0))));
    }
};

template <class Code, size_t Symbols>
struct Lookup {
    const uint64_t* table;
    explicit Lookup(const uint64_t* words) : table(words) {}
    Words::Vector operator()(const Code* codes) const {
        return _mm256_set_epi64x((int64_t)table[codes[3]], (int64_t)table[codes[2]],
                                 (int64_t)table[codes[1]], (int64_t)table[codes[0]]);
    }
};
constexpr bool small_tables = false;

#else

struct Words {
    static constexpr size_t width = 1;
    using Vector = uint64_t;
    using Carry = uint64_t;

    static Vector all(uint64_t x) { return x; }
    static Vector load(const int64_t* x) { return (uint64_t)*x; }
    static void store(int64_t* x, Vector a) { *x = (int64_t)a; }
    static Carry every() { return 1; }
    static Carry none() { return 0; }
    static bool any(Carry a) { return a != 0; }
    static Carry last_bit(Vector a) { return a >> 63; }
    static Carry above(Vector a, Vector b) { return (int64_t)a > (int64_t)b; }
    static Vector least(Vector a, Vector b) { return (int64_t)a < (int64_t)b ? a : b; }
    static Vector plus(Vector a, Vector b) { return a + b; }
    static Vector plus_bit(Vector a, Carry c) { return a + c; }
    static Vector minus_bit(Vector a, Carry c) { return a - c; }
    static Vector with_bit(Vector a, Carry c) { return a | c; }
    static Vector twice(Vector a) { return a << 1; }
    static Vector both(Vector a, Vector b) { return a & b; }
    static Vector either(Vector a, Vector b) { return a | b; }
    static Vector without(Vector a, Vector b) { return a & ~b; }
    static Vector highest_bit(Vector a) { return a >> 63; }
    static Vector or_without(Vector a, Vector b, Vector c) { return a | (b & ~c); }
    static Vector differ_or(Vector a, Vector b, Vector c) { return (a ^ b) | c; }
    static Vector or_neither(Vector a, Vector b, Vector c) { return a | ~(b | c); }
};

template <class Code, size_t Symbols>
struct Lookup {
    const uint64_t* table;
    explicit Lookup(const uint64_t* words) : table(words) {}
    Words::Vector operator()(const Code* codes) const { return table[codes[0]]; }
};
constexpr bool small_tables = false;

#endif

}  // namespace
}  // namespace MERCER_ISA
}  // namespace mercer
