// Walks in common (see walks.hpp): Vishwanathan, Schraudolph, Kondor & Borgwardt, "Graph kernels",
// JMLR 11, 2010.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr double tiny = 1e-16;       // of squares: 1^T x is wrong by the square of a residual
constexpr size_t most_steps = 100000;

double spectral(const double* a, const double* p, size_t n, const double* b, const double* q,
                size_t m, double decay) {
    double total = 0;
    for (size_t i = 0; i < n; ++i) {
        const double rate = decay * a[i];
        double sum = 0;
        for (size_t j = 0; j < m; ++j) sum += q[j] / (1 - rate * b[j]);
        total += p[i] * sum;
    }
    return total;
}

double dot(const double* a, const double* b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// Over pairs of edges with one label: y[u, j] <- the sum of v[u', j'] over edges u-u', j-j'.
void walk_alike(const WalkGraph& x, const WalkGraph& z, const double* mask, const double* v,
                double* y) {
    const size_t m = z.n;
    for (size_t u = 0; u < x.n; ++u)
        for (size_t j = 0; j < m; ++j) {
            double sum = 0;
            if (mask[u * m + j] != 0)
                for (int64_t e = x.rows[u]; e < x.rows[u + 1]; ++e) {
                    const double* from = v + static_cast<size_t>(x.to[e]) * m;
                    for (int64_t f = z.rows[j]; f < z.rows[j + 1]; ++f)
                        if (x.marks[e] == z.marks[f]) sum += from[static_cast<size_t>(z.to[f])];
                }
            y[u * m + j] = sum;
        }
}

// y <- mask * (A v B^T), with the sums over rows first in `rows`.
void walk(const WalkGraph& x, const WalkGraph& z, const double* mask, const double* v, double* rows,
          double* y) {
    if (x.marks != nullptr) return walk_alike(x, z, mask, v, y);
    const size_t m = z.n;
    for (size_t u = 0; u < x.n; ++u) {
        double* __restrict sums = rows + u * m;
        for (size_t j = 0; j < m; ++j) sums[j] = 0;
        for (int64_t e = x.rows[u]; e < x.rows[u + 1]; ++e) {
            const double* __restrict from = v + static_cast<size_t>(x.to[e]) * m;
            for (size_t j = 0; j < m; ++j) sums[j] += from[j];
        }
        for (size_t j = 0; j < m; ++j) {
            if (mask[u * m + j] == 0) {
                y[u * m + j] = 0;
                continue;
            }
            double sum = 0;
            for (int64_t e = z.rows[j]; e < z.rows[j + 1]; ++e)
                sum += sums[static_cast<size_t>(z.to[e])];
            y[u * m + j] = sum;
        }
    }
}

// Conjugate gradients from 0: then 1^T x grows to its limit, and is wrong by r^T W^-1 r.
double solved(const WalkGraph& x, const WalkGraph& z, const double* mask, double decay,
              double* work) {
    const size_t size = x.n * z.n;
    double *r = work, *d = r + size, *w = d + size, *rows = w + size;
    double square = 0, value = 0;
    for (size_t i = 0; i < size; ++i) {
        r[i] = d[i] = mask[i];
        square += mask[i];
    }
    const double limit = tiny * square;
    // value = 1^T x = sum of alpha (1^T d)
    for (size_t step = 0; step < most_steps && square > limit; ++step) {
        walk(x, z, mask, d, rows, w);
        for (size_t i = 0; i < size; ++i) w[i] = d[i] - decay * w[i];
        const double alpha = square / dot(d, w, size);
        value += alpha * dot(mask, d, size);
        double fresh = 0;
        for (size_t i = 0; i < size; ++i) {
            r[i] -= alpha * w[i];
            fresh += r[i] * r[i];
        }
        const double beta = fresh / square;
        for (size_t i = 0; i < size; ++i) d[i] = r[i] + beta * d[i];
        square = fresh;
    }
    return value;
}

// The sum over lengths of walks, whose terms are all at least 0.
double summed(const WalkGraph& x, const WalkGraph& z, const double* mask, const WalkTerms& terms,
              double* work) {
    const size_t size = x.n * z.n;
    double *v = work, *w = v + size, *rows = w + size;
    double value = 0;
    for (size_t i = 0; i < size; ++i) {
        v[i] = mask[i];
        value += mask[i];
    }
    const size_t last = terms.steps > 0 ? terms.steps - 1 : most_steps;
    for (size_t step = 0; step < last; ++step) {
        walk(x, z, mask, v, rows, w);
        double term = 0;
        for (size_t i = 0; i < size; ++i) {
            v[i] = terms.decay * w[i];
            term += v[i];
        }
        value += term;
        if (term == 0 || (terms.steps == 0 && term <= tiny * value)) break;
    }
    return value;
}

double labelled(const WalkGraph& x, const WalkGraph& z, const double* mask, const WalkTerms& terms,
                double* work) {
    return terms.steps == 0 && terms.symmetric ? solved(x, z, mask, terms.decay, work)
                                               : summed(x, z, mask, terms, work);
}

}  // namespace

extern const WalkLoops walks;
constinit const WalkLoops walks = {spectral, labelled};

}  // namespace MERCER_ISA
}  // namespace mercer
