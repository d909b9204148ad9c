// A few neighbouring numbers in one vector register, for each instruction set. Used where a loop
// must keep its sums in registers, which compilers do not do for arrays. Everything is static: see
// the rule in loops.hpp.
#pragma once
#include <math.h>

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace mercer {
namespace MERCER_ISA {
namespace {

// times_plus is a b + c and minus_times is c - a b; not_above has a bit for each lane where a > b
// does not hold, as for NaN; kept_unless_equal is w where a and b differ, else 0.
template <class T>
struct Pack;

#if defined(__AVX512F__)

template <>
struct Pack<float> {
    static constexpr size_t width = 16;
    __m512 v;
    static Pack load(const float* x) { return {_mm512_loadu_ps(x)}; }
    static Pack all(float x) { return {_mm512_set1_ps(x)}; }
    void store(float* x) const { _mm512_storeu_ps(x, v); }
    static Pack minus(Pack a, Pack b) { return {_mm512_sub_ps(a.v, b.v)}; }
    static Pack times(Pack a, Pack b) { return {_mm512_mul_ps(a.v, b.v)}; }
    static Pack times_plus(Pack a, Pack b, Pack c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
    static Pack minus_times(Pack a, Pack b, Pack c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
    static Pack plus(Pack a, Pack b) { return {_mm512_add_ps(a.v, b.v)}; }
    static Pack largest(Pack a, Pack b) { return {_mm512_max_ps(a.v, b.v)}; }
    static Pack absolute(Pack a) { return {_mm512_abs_ps(a.v)}; }
    static Pack root(Pack a) { return {_mm512_sqrt_ps(a.v)}; }
    static Pack kept_unless_equal(Pack a, Pack b, Pack w) {
        return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_NEQ_UQ), w.v)};
    }
    static uint32_t not_above(Pack a, Pack b) {
        return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NGT_UQ);
    }
};

template <>
struct Pack<double> {
    static constexpr size_t width = 8;
    __m512d v;
    static Pack load(const double* x) { return {_mm512_loadu_pd(x)}; }
    static Pack all(double x) { return {_mm512_set1_pd(x)}; }
    void store(double* x) const { _mm512_storeu_pd(x, v); }
    static Pack minus(Pack a, Pack b) { return {_mm512_sub_pd(a.v, b.v)}; }
    static Pack times(Pack a, Pack b) { return {_mm512_mul_pd(a.v, b.v)}; }
    static Pack times_plus(Pack a, Pack b, Pack c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
    static Pack minus_times(Pack a, Pack b, Pack c) { return {_mm512_fnmadd_pd(a.v, b.v, c.v)}; }
    static Pack plus(Pack a, Pack b) { return {_mm512_add_pd(a.v, b.v)}; }
    static Pack largest(Pack a, Pack b) { return {_mm512_max_pd(a.v, b.v)}; }
    static Pack absolute(Pack a) { return {_mm512_abs_pd(a.v)}; }
    static Pack root(Pack a) { return {_mm512_sqrt_pd(a.v)}; }
    static Pack kept_unless_equal(Pack a, Pack b, Pack w) {
        return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_NEQ_UQ), w.v)};
    }
    static uint32_t not_above(Pack a, Pack b) {
        return _mm512_cmp_pd_mask(a.v, b.v, _CMP_NGT_UQ);
    }
};

#elif defined(__AVX2__)

template <>
struct Pack<float> {
    static constexpr size_t width = 8;
    __m256 v;
    static Pack load(const float* x) { return {_mm256_loadu_ps(x)}; }
    static Pack all(float x) { return {_mm256_set1_ps(x)}; }
    void store(float* x) const { _mm256_storeu_ps(x, v); }
    static Pack minus(Pack a, Pack b) { return {_mm256_sub_ps(a.v, b.v)}; }
    static Pack times(Pack a, Pack b) { return {_mm256_mul_ps(a.v, b.v)}; }
    static Pack times_plus(Pack a, Pack b, Pack c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
    static Pack minus_times(Pack a, Pack b, Pack c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
    static Pack plus(Pack a, Pack b) { return {_mm256_add_ps(a.v, b.v)}; }
    static Pack largest(Pack a, Pack b) { return {_mm256_max_ps(a.v, b.v)}; }
    static Pack absolute(Pack a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
    static Pack root(Pack a) { return {_mm256_sqrt_ps(a.v)}; }
    static Pack kept_unless_equal(Pack a, Pack b, Pack w) {
        return {_mm256_and_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NEQ_UQ), w.v)};
    }
    static uint32_t not_above(Pack a, Pack b) {
        return _mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NGT_UQ));
    }
};

template <>
struct Pack<double> {
    static constexpr size_t width = 4;
    __m256d v;
    static Pack load(const double* x) { return {_mm256_loadu_pd(x)}; }
    static Pack all(double x) { return {_mm256_set1_pd(x)}; }
    void store(double* x) const { _mm256_storeu_pd(x, v); }
    static Pack minus(Pack a, Pack b) { return {_mm256_sub_pd(a.v, b.v)}; }
    static Pack times(Pack a, Pack b) { return {_mm256_mul_pd(a.v, b.v)}; }
    static Pack times_plus(Pack a, Pack b, Pack c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
    static Pack minus_times(Pack a, Pack b, Pack c) { return {_mm256_fnmadd_pd(a.v, b.v, c.v)}; }
    static Pack plus(Pack a, Pack b) { return {_mm256_add_pd(a.v, b.v)}; }
    static Pack largest(Pack a, Pack b) { return {_mm256_max_pd(a.v, b.v)}; }
    static Pack absolute(Pack a) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v)}; }
    static Pack root(Pack a) { return {_mm256_sqrt_pd(a.v)}; }
    static Pack kept_unless_equal(Pack a, Pack b, Pack w) {
        return {_mm256_and_pd(_mm256_cmp_pd(a.v, b.v, _CMP_NEQ_UQ), w.v)};
    }
    static uint32_t not_above(Pack a, Pack b) {
        return _mm256_movemask_pd(_mm256_cmp_pd(a.v, b.v, _CMP_NGT_UQ));
    }
};

#else

// Four numbers in an array, for compilers that make registers of it.
template <class T>
struct Pack {
    static constexpr size_t width = 4;
    T v[4];
    template <class F>
    static Pack each(F f) { return {{f(0), f(1), f(2), f(3)}}; }
    static Pack load(const T* x) { return {{x[0], x[1], x[2], x[3]}}; }
    static Pack all(T x) { return {{x, x, x, x}}; }
    void store(T* x) const { for (size_t l = 0; l < width; ++l) x[l] = v[l]; }
    static Pack minus(Pack a, Pack b) { return each([&](int l) { return a.v[l] - b.v[l]; }); }
    static Pack times(Pack a, Pack b) { return each([&](int l) { return a.v[l] * b.v[l]; }); }
    static Pack times_plus(Pack a, Pack b, Pack c) {
        return each([&](int l) { return a.v[l] * b.v[l] + c.v[l]; });
    }
    static Pack minus_times(Pack a, Pack b, Pack c) {
        return each([&](int l) { return c.v[l] - a.v[l] * b.v[l]; });
    }
    static Pack plus(Pack a, Pack b) { return each([&](int l) { return a.v[l] + b.v[l]; }); }
    static Pack largest(Pack a, Pack b) {
        return each([&](int l) { return a.v[l] > b.v[l] ? a.v[l] : b.v[l]; });
    }
    static Pack absolute(Pack a) { return each([&](int l) { return a.v[l] < 0 ? -a.v[l] : a.v[l]; }); }
    static Pack root(Pack a) {
        return each([&](int l) { return static_cast<T>(::sqrt(static_cast<double>(a.v[l]))); });
    }
    static Pack kept_unless_equal(Pack a, Pack b, Pack w) {
        return each([&](int l) { return a.v[l] != b.v[l] ? w.v[l] : T(0); });
    }
    static uint32_t not_above(Pack a, Pack b) {
        uint32_t bits = 0;
        for (size_t l = 0; l < width; ++l) bits |= static_cast<uint32_t>(!(a.v[l] > b.v[l])) << l;
        return bits;
    }
};

#endif

// The place of the lowest bit that is set; some bit must be.
inline uint32_t lowest_bit(uint32_t bits) {
#if defined(_MSC_VER)
    unsigned long place;
    _BitScanForward(&place, bits);
    return place;
#else
    return static_cast<uint32_t>(__builtin_ctz(bits));
#endif
}

}  // namespace
}  // namespace MERCER_ISA
}  // namespace mercer
