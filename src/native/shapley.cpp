// Shapley values of product games (see shapley.hpp). With m = (p + q) / 2 and h = (p - q) / 2 the value
// of player j is the integral over s in [-1, 1] of h_j prod_{l != j} (m_l + s h_l), a polynomial of
// degree d - 1. Two ways, both without divisions:
//  * up to 24 players a tree: the polynomials of halves of the players are multiplied on the way up; on
//    the way down, the functional "integral of P times all other players" is restricted to each half.
//    About 1.3 d^2 multiplications for a pair of rows, all independent. The sum of the absolute
//    coefficients is at most prod max(p, q), so that rounding is that of the values themselves.
//  * beyond that Gauss' nodes in s, with products of the players before and after each. 2 d^2.
// Lanes are stored rows. Derived in docs/shapley.rst.
#include <cstring>

#include "loops.hpp"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace mercer {
namespace MERCER_ISA {
namespace {

#if defined(__GNUC__)
#define INLINE inline __attribute__((always_inline))
#if defined(__AVX512F__)
constexpr size_t bytes = 64;
#elif defined(__AVX2__)
constexpr size_t bytes = 32;
#else
constexpr size_t bytes = 16;
#endif
typedef float Floats __attribute__((vector_size(bytes)));
typedef double Doubles __attribute__((vector_size(bytes)));
#else
#define INLINE __forceinline
constexpr size_t bytes = 0;
typedef float Floats;
typedef double Doubles;
#endif

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
    using V = Floats;
};
template <>
struct Lanes<double> {
    using V = Doubles;
};
template <class T>
constexpr size_t width = bytes == 0 ? 1 : bytes / sizeof(T);

// Products of many small factors fall below the smallest normal number, where arithmetic is a hundred
// times slower and adds nothing to a sum.
class TinyIsZero {
#if defined(__SSE__)
    unsigned kept = _mm_getcsr();

  public:
    TinyIsZero() { _mm_setcsr(kept | 0x8040); }
    ~TinyIsZero() { _mm_setcsr(kept); }
#else
  public:
    TinyIsZero() {}
    ~TinyIsZero() {}
#endif
};

// A player of the tree, or a half of the players below it, with their product as a polynomial in s.
template <class T, int D>
struct Node {
    using V = typename Lanes<T>::V;
    static constexpr int A = D / 2, B = D - A;
    Node<T, A> left;
    Node<T, B> right;
    V c[D + 1];

    INLINE void up(const V* p, const V* q) {
        left.up(p, q);
        right.up(p + A, q + A);
#pragma GCC unroll 65
        for (int r = 0; r <= A; ++r)
#pragma GCC unroll 65
            for (int k = 0; k <= B; ++k)
                if (r == 0 || k == B)
                    c[r + k] = left.c[r] * right.c[k];
                else
                    c[r + k] += left.c[r] * right.c[k];
    }
    // M[k] is the integral of s^k times all players outside.
    INLINE void down(const V* M, V* out) const {
        V N[B];
        restricted<A, B>(M, right.c, N);
        left.down(N, out);
        restricted<B, A>(M, left.c, N);
        right.down(N, out + A);
    }
    // N[k] = M of s^k times the polynomial c of degree C, for k < K; a number of c is read once.
    template <int K, int C>
    static INLINE void restricted(const V* M, const V* c, V* N) {
#pragma GCC unroll 65
        for (int k = 0; k < K; ++k) N[k] = c[0] * M[k];
#pragma GCC unroll 65
        for (int r = 1; r <= C; ++r)
#pragma GCC unroll 65
            for (int k = 0; k < K; ++k) N[k] += c[r] * M[k + r];
    }
    // Nothing is outside of the root, where M[k] = 2 / (k + 1) for even k, and 0 for odd ones.
    INLINE void values(const V* p, const V* q, T weight, V* out) {
        left.up(p, q);
        right.up(p + A, q + A);
        V N[B];
        whole<A, B>(right.c, weight, N);
        left.down(N, out);
        whole<B, A>(left.c, weight, N);
        right.down(N, out + A);
    }
    template <int K, int C>
    static INLINE void whole(const V* c, T weight, V* N) {
#pragma GCC unroll 65
        for (int k = 0; k < K; ++k) {
            N[k] = c[k % 2] * T(2.0 / (k + k % 2 + 1));
#pragma GCC unroll 65
            for (int r = k % 2 + 2; r <= C; r += 2) N[k] += c[r] * T(2.0 / (k + r + 1));
            N[k] *= weight;
        }
    }
};

template <class T>
struct Node<T, 1> {
    using V = typename Lanes<T>::V;
    V c[2];
    INLINE void up(const V* p, const V* q) {
        c[0] = p[0] + q[0];  // p and q are halved beforehand
        c[1] = p[0] - q[0];
    }
    INLINE void down(const V* M, V* out) const { out[0] += c[1] * M[0]; }
    INLINE void values(const V* p, const V* q, T weight, V* out) {
        out[0] += (p[0] - q[0]) * (2 * weight);
    }
};

template <class T>
using V = typename Lanes<T>::V;
template <class T>
using Game = void (*)(const V<T>* p, const V<T>* Q, const double* weights, size_t B, V<T>* out);

template <class T, int D>
void tree(const V<T>* p, const V<T>* Q, const double* weights, size_t B, V<T>* out) {
    Node<T, D> root;
    for (size_t b = 0; b < B; ++b) root.values(p, Q + b * D, T(weights[b]), out);
}

constexpr int most = 24;  // players of a tree
template <class T, int D>
constexpr Game<T> trees(size_t d) {
    if constexpr (D == 1)
        return tree<T, 1>;
    else
        return d == size_t(D) ? tree<T, D> : trees<T, D - 1>(d);
}

// Four numbers for each player: middle, half the difference, the product before it, and its sum.
template <class T>
void nodes_of(const V<T>* p, const V<T>* Q, const double* weights, size_t B, size_t d,
              const double* nodes, size_t count, V<T>* work, V<T>* out) {
    V<T>*h = work, *before = work + d, *sum = work + 2 * d;
    for (size_t b = 0; b < B; ++b) {
        const V<T>* q = Q + b * d;
        for (size_t j = 0; j < d; ++j) h[j] = 2 * (p[j] - q[j]), sum[j] = V<T>{};
        for (size_t g = 0; g < count; ++g) {
            const T t = T(nodes[2 * g]);
            V<T> product = V<T>{} + T(nodes[2 * g + 1] * weights[b]);
            for (size_t j = 0; j < d; ++j) {
                before[j] = product;
                product *= 2 * q[j] + t * h[j];
            }
            product = V<T>{} + T(1);
            for (size_t j = d; j-- > 0;) {
                sum[j] += before[j] * product;
                product *= 2 * q[j] + t * h[j];
            }
        }
        for (size_t j = 0; j < d; ++j) out[j] += sum[j] * h[j];
    }
}

// The rows from i on of d matrices, halved; rows that are not there count as 1 and 1, which say nothing.
template <class T>
void read(const T* from, size_t d, size_t m, size_t i, V<T>* to) {
    const size_t lanes = m - i < width<T> ? m - i : width<T>;
    if (lanes == width<T>) {
        for (size_t j = 0; j < d; ++j) {
            std::memcpy(to + j, from + j * m + i, sizeof(V<T>));
            to[j] *= T(0.5);
        }
        return;
    }
    T* out = reinterpret_cast<T*>(to);
    for (size_t j = 0; j < d; ++j)
        for (size_t a = 0; a < width<T>; ++a)
            out[j * width<T> + a] = a < lanes ? from[j * m + i + a] / 2 : T(0.5);
}

// out (count, k) += sums over the lanes of each vector, with the coefficients of their rows. So many
// outputs at a time as a vector has doubles: one is as dear as they all.
template <class T>
void add(const V<T>* sums, size_t count, const double* alpha, size_t m, size_t i, size_t k,
         double* out) {
    constexpr size_t wide = width<double>;
    const size_t lanes = m - i < width<T> ? m - i : width<T>;
    const T* each = reinterpret_cast<const T*>(sums);
    for (size_t o = 0; o < k; o += wide) {
        const size_t some = k - o < wide ? k - o : wide;
        V<double> rows[width<T>];
        for (size_t a = 0; a < width<T>; ++a) {
            rows[a] = V<double>{};
            if (a < lanes) std::memcpy(&rows[a], alpha + (i + a) * k + o, some * sizeof(double));
        }
        for (size_t e = 0; e < count; ++e) {
            V<double> found{};
            for (size_t a = 0; a < width<T>; ++a) found += double(each[e * width<T> + a]) * rows[a];
            double kept[wide];
            std::memcpy(kept, &found, sizeof found);
            for (size_t c = 0; c < some; ++c) out[e * k + o + c] += kept[c];
        }
    }
}

template <class T>
void values(const T* P, const T* Q, const double* weights, const double* alpha, size_t n, size_t B,
            size_t d, size_t m, size_t k, const double* nodes, size_t count, T* work, double* out) {
    const TinyIsZero mode;
    V<T>* q = reinterpret_cast<V<T>*>(work);
    V<T>*p = q + B * d, *sums = p + d, *more = sums + d;
    const Game<T> game = d <= most ? trees<T, most>(d) : nullptr;
    for (size_t i = 0; i < m; i += width<T>) {
        for (size_t b = 0; b < B; ++b) read(Q + b * d * m, d, m, i, q + b * d);
        for (size_t x = 0; x < n; ++x) {
            read(P + x * d * m, d, m, i, p);
            for (size_t j = 0; j < d; ++j) sums[j] = V<T>{};
            if (game)
                game(p, q, weights, B, sums);
            else
                nodes_of<T>(p, q, weights, B, d, nodes, count, more, sums);
            add<T>(sums, d, alpha, m, i, k, out + x * d * k);
        }
    }
}

// The index of players j and l is the integral of (p_j - q_j)(p_l - q_l) times all others.
template <class T>
void pairs(const T* P, const T* Q, const double* weights, const double* alpha, size_t n, size_t B,
           size_t d, size_t m, size_t k, const double* nodes, size_t count, T* work, double* out) {
    const TinyIsZero mode;
    V<T>* q = reinterpret_cast<V<T>*>(work);
    V<T>*p = q + B * d, *h = p + d, *u = h + d, *after = u + d;
    V<T>*each = after + d + 1, *sums = each + d * d;
    for (size_t i = 0; i < m; i += width<T>) {
        for (size_t b = 0; b < B; ++b) read(Q + b * d * m, d, m, i, q + b * d);
        for (size_t x = 0; x < n; ++x) {
            read(P + x * d * m, d, m, i, p);
            for (size_t e = 0; e < d * d; ++e) sums[e] = V<T>{};
            for (size_t b = 0; b < B; ++b) {
                for (size_t j = 0; j < d; ++j) h[j] = 2 * (p[j] - q[b * d + j]);
                for (size_t e = 0; e < d * d; ++e) each[e] = V<T>{};
                for (size_t g = 0; g < count; ++g) {
                    const T t = T(nodes[2 * g]);
                    for (size_t j = 0; j < d; ++j) u[j] = 2 * q[b * d + j] + t * h[j];
                    after[d] = V<T>{} + T(1);
                    for (size_t j = d; j-- > 0;) after[j] = after[j + 1] * u[j];
                    V<T> before = V<T>{} + T(nodes[2 * g + 1] * weights[b]);
                    for (size_t j = 0; j < d; ++j) {
                        V<T> between = before;
                        for (size_t l = j + 1; l < d; ++l) {
                            each[j * d + l] += between * after[l + 1];
                            between *= u[l];
                        }
                        before *= u[j];
                    }
                }
                for (size_t j = 0; j < d; ++j)
                    for (size_t l = j + 1; l < d; ++l) sums[j * d + l] += each[j * d + l] * (h[j] * h[l]);
            }
            add<T>(sums, d * d, alpha, m, i, k, out + x * d * d * k);
        }
    }
}

template <class T>
size_t work_size(size_t d, size_t B) {
    return (B * d + 4 * d + 1 + 2 * d * d + 4) * width<T>;
}

}  // namespace

extern const ShapleyLoops<float> shapley32;
extern const ShapleyLoops<double> shapley64;
constinit const ShapleyLoops<float> shapley32 = {values<float>, pairs<float>, work_size<float>};
constinit const ShapleyLoops<double> shapley64 = {values<double>, pairs<double>, work_size<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
