// Products with the upper triangle of a symmetric matrix (see triangle.hpp). A tile is read once
// from memory, and used twice while it is in the cache; BLAS would copy it first, which for few
// columns takes as long as the product.
#include "loops.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mercer {
namespace MERCER_ISA {
namespace {

// Neighbouring columns of V, and as many rows as there are registers for their sums. Compilers do
// not keep arrays of sums in registers.
#if defined(__AVX512F__)
struct Lanes {
    static constexpr size_t width = 16;
    __m512 x;
    static Lanes load(const float* v) { return {_mm512_loadu_ps(v)}; }
    static Lanes none() { return {_mm512_setzero_ps()}; }
    void add(float a, Lanes v) { x = _mm512_fmadd_ps(_mm512_set1_ps(a), v.x, x); }
    void store(float* v) const { _mm512_storeu_ps(v, x); }
};
constexpr size_t wide = 32, rows_at_once = 12;
#elif defined(__AVX2__)
struct Lanes {
    static constexpr size_t width = 8;
    __m256 x;
    static Lanes load(const float* v) { return {_mm256_loadu_ps(v)}; }
    static Lanes none() { return {_mm256_setzero_ps()}; }
    void add(float a, Lanes v) { x = _mm256_fmadd_ps(_mm256_set1_ps(a), v.x, x); }
    void store(float* v) const { _mm256_storeu_ps(v, x); }
};
constexpr size_t wide = 16, rows_at_once = 6;
#else
struct Lanes {
    static constexpr size_t width = 4;
    float x[width];
    static Lanes load(const float* v) { return {{v[0], v[1], v[2], v[3]}}; }
    static Lanes none() { return {{0, 0, 0, 0}}; }
    void add(float a, const Lanes& v) {
        for (size_t j = 0; j < width; ++j) x[j] += a * v.x[j];
    }
    void store(float* v) const {
        for (size_t j = 0; j < width; ++j) v[j] = x[j];
    }
};
constexpr size_t wide = 16, rows_at_once = 2;
#endif
constexpr size_t narrow = 16, edge = 384;

// out[r, :] += sum over k of A[r down + k right] V[k, :], R rows and W columns; V and out have c.
template <size_t R, size_t W>
inline void add_rows(const float* A, size_t down, size_t right, size_t count, const float* V,
                     size_t c, double* out) {
    constexpr size_t parts = W / Lanes::width;
    Lanes sums[R][parts];
    for (size_t r = 0; r < R; ++r)
        for (size_t p = 0; p < parts; ++p) sums[r][p] = Lanes::none();
    for (size_t k = 0; k < count; ++k) {
        Lanes v[parts];
        for (size_t p = 0; p < parts; ++p) v[p] = Lanes::load(V + k * c + p * Lanes::width);
        for (size_t r = 0; r < R; ++r)
            for (size_t p = 0; p < parts; ++p) sums[r][p].add(A[r * down + k * right], v[p]);
    }
    for (size_t r = 0; r < R; ++r) {
        float row[W];
        for (size_t p = 0; p < parts; ++p) sums[r][p].store(row + p * Lanes::width);
        for (size_t j = 0; j < W; ++j) out[r * c + j] += static_cast<double>(row[j]);
    }
}

// The same for any number of rows.
template <size_t W>
inline void add_all(const float* A, size_t rows, size_t down, size_t right, size_t count,
                    const float* V, size_t c, double* out) {
    size_t r = 0;
    for (; r + rows_at_once <= rows; r += rows_at_once)
        add_rows<rows_at_once, W>(A + r * down, down, right, count, V, c, out + r * c);
    for (; r < rows; ++r) add_rows<1, W>(A + r * down, down, right, count, V, c, out + r * c);
}

template <size_t W>
inline void add_tiles(const float* A, size_t h, size_t w, const float* V, size_t c, double* out) {
    for (size_t t = 0; t < w; t += edge) {
        const size_t end = w - t < edge ? w : t + edge, begin = t < h ? (end < h ? end : h) : t;
        for (size_t s = 0; s < h; s += edge) {
            const size_t rows = h - s < edge ? h - s : edge;
            const float* tile = A + s * w;
            add_all<W>(tile + t, rows, w, 1, end - t, V + t * c, c, out + s * c);
            add_all<W>(tile + begin, end - begin, 1, w, rows, V + s * c, c, out + begin * c);
        }
    }
}

void add_strip(const float* A, size_t h, size_t w, const float* V, size_t c, double* out) {
    size_t j = 0;
    for (; j + wide <= c; j += wide) add_tiles<wide>(A, h, w, V + j, c, out + j);
    for (; j < c; j += narrow) add_tiles<narrow>(A, h, w, V + j, c, out + j);
}

}  // namespace

extern const TriangleLoops triangles;
constinit const TriangleLoops triangles = {add_strip};

}  // namespace MERCER_ISA
}  // namespace mercer
