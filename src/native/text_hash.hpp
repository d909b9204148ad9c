// Hashes of texts, and their words; used by bind_texts.cpp. The hashes are the same on every machine
// and in every process.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define MERCER_SSE2 1
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace mercer {
namespace {

constexpr uint64_t secret[4] = {0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u,
                                0x589965cc75374cc3u};

// The two halves of a product of 128 bits, folded.
inline uint64_t folded(uint64_t a, uint64_t b) {
#if defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    const uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#elif defined(_MSC_VER)
    return (a * b) ^ __umulh(a, b);
#else
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#endif
}

inline uint64_t load8(const char* p) {
    uint64_t x;
    std::memcpy(&x, p, 8);
    return x;
}
// The first n <= 16 bytes as two numbers, with zeros behind them.
struct Pair {
    uint64_t a, b;
};
inline Pair copied16(const char* p, size_t n) {
    char bytes[16] = {};
    std::memcpy(bytes, p, n);
    return {load8(bytes), load8(bytes + 8)};
}
#if MERCER_SSE2 && !defined(__SANITIZE_ADDRESS__)
alignas(16) constexpr unsigned char ones_then_zeros[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
// Reads 16 bytes whatever n is, without a branch on it, where they lie on one page of memory.
inline Pair loaded16(const char* p, size_t n) {
    if ((reinterpret_cast<uintptr_t>(p) & 4095) > 4096 - 16) return copied16(p, n);
    const __m128i x = _mm_and_si128(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(ones_then_zeros + 16 - n)));
    Pair pair;
    std::memcpy(&pair, &x, 16);
    return pair;
}
#else
inline Pair loaded16(const char* p, size_t n) { return copied16(p, n); }
#endif

// 64 bits of a text, mixed as wyhash does (Wang Yi, "wyhash", public domain).
inline uint64_t hash_bytes(const char* p, size_t n) {
    uint64_t seed = secret[0];
    size_t left = n;
    for (; left > 16; left -= 16, p += 16)
        seed = folded(load8(p) ^ secret[1], load8(p + 8) ^ seed);
    const Pair rest = loaded16(p, left);
    return folded(secret[1] ^ n, folded(rest.a ^ secret[2], rest.b ^ seed));
}

// Bit i says whether byte i of 64 is in the class: a blank (at most 0x20), or one certain byte.
struct Blanks {
#if MERCER_SSE2
    __m128i space = _mm_set1_epi8(0x20);
    __m128i is(__m128i x) const { return _mm_cmpeq_epi8(_mm_min_epu8(x, space), x); }
#endif
    bool is(unsigned char x) const { return x <= 0x20; }
    static constexpr char filler = ' ';
};
struct Continues {  // a character of UTF-8 that began before
#if MERCER_SSE2
    __m128i least = _mm_set1_epi8(-64);
    __m128i is(__m128i x) const { return _mm_cmplt_epi8(x, least); }
#endif
    bool is(unsigned char x) const { return (x & 0xc0) == 0x80; }
};
struct Mark {
    char byte, filler;
#if MERCER_SSE2
    __m128i all;
    explicit Mark(char b) : byte(b), filler(b), all(_mm_set1_epi8(b)) {}
    __m128i is(__m128i x) const { return _mm_cmpeq_epi8(x, all); }
#else
    explicit Mark(char b) : byte(b), filler(b) {}
#endif
    bool is(unsigned char x) const { return x == static_cast<unsigned char>(byte); }
};

template <class Class>
uint64_t mask_of_64(const Class& c, const char* p) {
    uint64_t mask = 0;
#if MERCER_SSE2
    for (int k = 0; k < 4; ++k) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * k));
        mask |= uint64_t(static_cast<uint32_t>(_mm_movemask_epi8(c.is(x)))) << (16 * k);
    }
#else
    for (int k = 0; k < 64; ++k)
        mask |= uint64_t(c.is(static_cast<unsigned char>(p[k]))) << k;
#endif
    return mask;
}

// How many characters a text in UTF-8 has.
inline size_t count_characters(const char* p, size_t n) {
    size_t count = n, k = 0;
    const Continues continues;
    for (; k + 64 <= n; k += 64)
        count -= static_cast<size_t>(std::popcount(mask_of_64(continues, p + k)));
    for (; k < n; ++k) count -= continues.is(static_cast<unsigned char>(p[k]));
    return count;
}

inline int lowest_bit(uint64_t x) {
#if defined(_MSC_VER)
    unsigned long at;
    _BitScanForward64(&at, x);
    return static_cast<int>(at);
#else
    return __builtin_ctzll(x);
#endif
}

// Calls f(begin, length) for each longest run of bytes that are not in the class.
template <class Class, class F>
void for_each_run(const Class& c, const char* p, size_t n, const F& f) {
    char rest[64];
    uint64_t before = 1;  // whether the byte before is in the class
    const char* begin = p;
    for (size_t at = 0; at <= n; at += 64) {  // one block beyond the end, so that the last run ends
        const char* block = p + at;
        if (at + 64 > n) {
            std::memset(rest, c.filler, 64);
            if (at < n) std::memcpy(rest, p + at, n - at);
            block = rest;
        }
        const uint64_t in = mask_of_64(c, block);
        uint64_t changes = in ^ (in << 1 | before);
        before = in >> 63;
        bool inside = (changes & (~changes + 1) & in) != 0;  // the first change ends a run
        while (changes) {
            const char* place = p + at + lowest_bit(changes);
            changes &= changes - 1;
            if (inside)
                f(begin, static_cast<size_t>(place - begin));
            else
                begin = place;
            inside = !inside;
        }
    }
}

}  // namespace
}  // namespace mercer
