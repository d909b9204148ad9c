// Sums over features for every pair of a tile (see distances.hpp). The columns are computed in
// strips that stay in the L1 cache for all features.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 512;

template <class T, class V, class Term>
void sum_over_features(const V* X, const V* Zt, const T* w, T* out, size_t n, size_t m, size_t d,
                       Term term) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t s = 0; s < m; s += strip) {
            const size_t width = m - s < strip ? m - s : strip;
            T* row = out + i * m + s;
            for (size_t j = 0; j < width; ++j) row[j] = 0;
            for (size_t k = 0; k < d; ++k) {
                const V x = X[i * d + k];
                const T weight = w[k];
                const V* z = Zt + k * m + s;
                for (size_t j = 0; j < width; ++j) row[j] += weight * term(x, z[j]);
            }
        }
    }
}

template <class T>
void manhattan(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) { return x < z ? z - x : x - z; });
}

template <class T>
void squared_gaps(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) { return (x - z) * (x - z); });
}

template <class T>
void chi_squared(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) {
        const T total = x + z;
        const T safe = total > 0 ? total : T(1);  // if not, x and z are 0, and so is x - z
        return (x - z) * ((x - z) / safe);  // the square (x - z)^2 could overflow
    });
}

template <class T>
void relative(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) {
        const T a = T(0.5) * x, b = T(0.5) * z;  // their sum does not overflow
        const T total = (a < 0 ? -a : a) + (b < 0 ? -b : b);
        const T safe = total > 0 ? total : T(1);  // if not, x and z are 0
        return (a < b ? b - a : a - b) / safe;
    });
}

template <class T>
void intersection(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) { return x < z ? x : z; });
}

template <class T>
void chebyshev(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    for (size_t i = 0; i < n; ++i) {
        T* row = out + i * m;
        for (size_t j = 0; j < m; ++j) row[j] = 0;
        for (size_t k = 0; k < d; ++k) {
            const T x = X[i * d + k];
            const T weight = w[k];
            const T* z = Zt + k * m;
            for (size_t j = 0; j < m; ++j) {
                const T difference = weight * (x < z[j] ? z[j] - x : x - z[j]);
                row[j] = row[j] < difference ? difference : row[j];
            }
        }
    }
}

template <class T>
void differences(const T* X, const T* Zt, const T* w, T* out, size_t n, size_t m, size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d, [](T x, T z) { return x != z ? T(1) : T(0); });
}

template <class T>
void squares(T* G, const T* xx, const T* zz, size_t n, size_t m) {
    for (size_t i = 0; i < n; ++i) {
        T* row = G + i * m;
        const T x = xx[i];
        for (size_t j = 0; j < m; ++j) {
            const T value = (x + zz[j]) - 2 * row[j];
            row[j] = value < 0 ? T(0) : value;
        }
    }
}

template <class T>
void matches(const int32_t* X, const int32_t* Zt, const T* w, T* out, size_t n, size_t m,
             size_t d) {
    sum_over_features(X, Zt, w, out, n, m, d,
                      [](int32_t x, int32_t z) { return x == z ? T(1) : T(0); });
}

}  // namespace

extern const PairLoops<float> pairs32;
extern const PairLoops<double> pairs64;
constinit const PairLoops<float> pairs32 = {
    manhattan<float>, squared_gaps<float>, chi_squared<float>,
    relative<float>, intersection<float>, chebyshev<float>,
    differences<float>, squares<float>, matches<float>};
constinit const PairLoops<double> pairs64 = {
    manhattan<double>, squared_gaps<double>, chi_squared<double>,
    relative<double>, intersection<double>, chebyshev<double>,
    differences<double>, squares<double>, matches<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
