// Rows of a strip in the lanes of vectors (see subsequences.hpp), for each instruction set: row r
// of a strip of H rows is lane H - 1 - r, so that codes and values ascend with the columns of t.
// Intrinsics are used because compilers make loops with bytes and doubles 3 to 10 times slower.
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

struct Lanes {
    static constexpr size_t width = 8;
    using Vector = __m512d;
    using Match = __mmask8;

    static Vector all(double x) { return _mm512_set1_pd(x); }
    static Vector load(const double* x) { return _mm512_loadu_pd(x); }
    static void store(double* x, Vector a) { _mm512_storeu_pd(x, a); }
    static double first(Vector a) { return _mm512_cvtsd_f64(a); }
    static Vector plus(Vector a, Vector b) { return _mm512_add_pd(a, b); }
    static Vector times(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
    static Vector least(Vector a, Vector b) { return _mm512_min_pd(a, b); }
    static Vector most(Vector a, Vector b) { return _mm512_max_pd(a, b); }
    static Vector times_plus(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
    // a b + c if there is a match, else c.
    static Vector where_plus(Match match, Vector a, Vector b, Vector c) {
        return _mm512_mask3_fmadd_pd(a, b, c, match);
    }
    static Vector where(Match match, Vector a) { return _mm512_maskz_mov_pd(match, a); }
    // The lanes of a from the second one on, then the first lane of b.
    static Vector shifted(Vector a, Vector b) {
        return _mm512_castsi512_pd(
            _mm512_alignr_epi64(_mm512_castpd_si512(b), _mm512_castpd_si512(a), 1));
    }
};

// The codes of V vectors of rows; matches(t, v) compares them with the codes at t, vector by
// vector.
template <class Code, size_t V>
struct Rows;
template <size_t V>
struct Rows<uint8_t, V> {
    __m256i codes;
    explicit Rows(const uint8_t* s) : codes(_mm256_loadu_si256((const __m256i*)s)) {}
    void matches(const uint8_t* t, Lanes::Match* out) const {
        const uint32_t found =
            _mm256_cmpeq_epi8_mask(codes, _mm256_loadu_si256((const __m256i*)t));
        for (size_t v = 0; v < V; ++v) out[v] = (Lanes::Match)(found >> (8 * v));
    }
};
template <size_t V>
struct Rows<int32_t, V> {
    __m256i codes[V];
    explicit Rows(const int32_t* s) {
        for (size_t v = 0; v < V; ++v) codes[v] = _mm256_loadu_si256((const __m256i*)(s + 8 * v));
    }
    void matches(const int32_t* t, Lanes::Match* out) const {
        for (size_t v = 0; v < V; ++v)
            out[v] = _mm256_cmpeq_epi32_mask(codes[v],
                                             _mm256_loadu_si256((const __m256i*)(t + 8 * v)));
    }
};

#elif defined(__AVX2__)

struct Lanes {
    static constexpr size_t width = 4;
    using Vector = __m256d;
    using Match = __m256d;  // all bits or none

    static Vector all(double x) { return _mm256_set1_pd(x); }
    static Vector load(const double* x) { return _mm256_loadu_pd(x); }
    static void store(double* x, Vector a) { _mm256_storeu_pd(x, a); }
    static double first(Vector a) { return _mm256_cvtsd_f64(a); }
    static Vector plus(Vector a, Vector b) { return _mm256_add_pd(a, b); }
    static Vector times(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
    static Vector least(Vector a, Vector b) { return _mm256_min_pd(a, b); }
    static Vector most(Vector a, Vector b) { return _mm256_max_pd(a, b); }
    static Vector times_plus(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
    static Vector where_plus(Match match, Vector a, Vector b, Vector c) {
        return _mm256_fmadd_pd(a, _mm256_and_pd(match, b), c);
    }
    static Vector where(Match match, Vector a) { return _mm256_and_pd(match, a); }
    static Vector shifted(Vector a, Vector b) {
        return _mm256_permute4x64_pd(_mm256_blend_pd(a, b, 1), 0x39);
    }
};

template <class Code, size_t V>
struct Rows;
template <size_t V>
struct Rows<uint8_t, V> {
    __m128i codes;
    explicit Rows(const uint8_t* s) : codes(_mm_loadu_si128((const __m128i*)s)) {}
    void matches(const uint8_t* t, Lanes::Match* out) const {
        __m128i found = _mm_cmpeq_epi8(codes, _mm_loadu_si128((const __m128i*)t));
        for (size_t v = 0; v < V; ++v) {
            out[v] = _mm256_castsi256_pd(_mm256_cvtepi8_epi64(found));
            found = _mm_srli_si128(found, 4);
        }
    }
};
template <size_t V>
struct Rows<int32_t, V> {
    __m128i codes[V];
    explicit Rows(const int32_t* s) {
        for (size_t v = 0; v < V; ++v) codes[v] = _mm_loadu_si128((const __m128i*)(s + 4 * v));
    }
    void matches(const int32_t* t, Lanes::Match* out) const {
        for (size_t v = 0; v < V; ++v) {
            const __m128i found =
                _mm_cmpeq_epi32(codes[v], _mm_loadu_si128((const __m128i*)(t + 4 * v)));
            out[v] = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(found));
        }
    }
};

#else

struct Lanes {
    static constexpr size_t width = 1;
    using Vector = double;
    using Match = bool;

    static Vector all(double x) { return x; }
    static Vector load(const double* x) { return *x; }
    static void store(double* x, Vector a) { *x = a; }
    static double first(Vector a) { return a; }
    static Vector plus(Vector a, Vector b) { return a + b; }
    static Vector times(Vector a, Vector b) { return a * b; }
    static Vector least(Vector a, Vector b) { return a < b ? a : b; }
    static Vector most(Vector a, Vector b) { return a > b ? a : b; }
    static Vector times_plus(Vector a, Vector b, Vector c) { return a * b + c; }
    // Tables of two values instead of a branch, which would be predicted wrongly for every match.
    static Vector where_plus(Match match, Vector a, Vector b, Vector c) {
        const double factor[2] = {0, b};
        return a * factor[match] + c;
    }
    static Vector where(Match match, Vector a) {
        const double value[2] = {0, a};
        return value[match];
    }
    static Vector shifted(Vector, Vector b) { return b; }
};

template <class Code, size_t V>
struct Rows {
    Code codes[V];
    explicit Rows(const Code* s) {
        for (size_t v = 0; v < V; ++v) codes[v] = s[v];
    }
    void matches(const Code* t, Lanes::Match* out) const {
        for (size_t v = 0; v < V; ++v) out[v] = codes[v] == t[v];
    }
};

#endif

}  // namespace
}  // namespace MERCER_ISA
}  // namespace mercer
