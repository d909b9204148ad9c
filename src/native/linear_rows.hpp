// A row of LinearRows, dense or CSR, as the loops of linear machines read it. Sums are in double, also
// for rows in float. Everything is static: see the rule in loops.hpp.
#pragma once
#include "linear_svm.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

template <class T>
struct DenseRow {
    const T* x;
    size_t d;

    DenseRow(const LinearRows<T>& X, size_t i) : x(X.values + i * X.d), d(X.d) {}
    double dot(const double* w) const {
        double total = 0;
        for (size_t j = 0; j < d; ++j) total += static_cast<double>(x[j]) * w[j];
        return total;
    }
    void add_to(double* w, double a) const {
        for (size_t j = 0; j < d; ++j) w[j] += a * static_cast<double>(x[j]);
    }
    template <class F>
    void each(F visit) const {
        for (size_t j = 0; j < d; ++j) visit(j, static_cast<double>(x[j]));
    }
};

template <class T>
struct SparseRow {
    const T* x;
    const int32_t* column;
    size_t count;

    SparseRow(const LinearRows<T>& X, size_t i)
        : x(X.values + X.starts[i]), column(X.columns + X.starts[i]),
          count(static_cast<size_t>(X.starts[i + 1] - X.starts[i])) {}
    double dot(const double* w) const {
        double total = 0;
        for (size_t k = 0; k < count; ++k) total += static_cast<double>(x[k]) * w[column[k]];
        return total;
    }
    void add_to(double* w, double a) const {
        for (size_t k = 0; k < count; ++k) w[column[k]] += a * static_cast<double>(x[k]);
    }
    template <class F>
    void each(F visit) const {
        for (size_t k = 0; k < count; ++k)
            visit(static_cast<size_t>(column[k]), static_cast<double>(x[k]));
    }
};

// Coordinate descent visits rows in random order: prefetch the rows that come soon.
template <class V>
inline void prefetch(const V* values, size_t count) {
#if defined(__GNUC__)
    const char* begin = reinterpret_cast<const char*>(values);
    const size_t bytes = count * sizeof(V);
    for (size_t b = 0; b < bytes && b < 1024; b += 64) __builtin_prefetch(begin + b);
#else
    (void)values;
    (void)count;
#endif
}

template <class T>
inline void prefetch(const LinearRows<T>& X, size_t i) {
    if (X.columns) {
        const size_t count = static_cast<size_t>(X.starts[i + 1] - X.starts[i]);
        prefetch(X.values + X.starts[i], count);
        prefetch(X.columns + X.starts[i], count);
    } else {
        prefetch(X.values + i * X.d, X.d);
    }
}

}  // namespace
}  // namespace MERCER_ISA
}  // namespace mercer
