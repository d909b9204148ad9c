// Signature kernels (see signatures.hpp): Király & Oberhauser, "Kernels for sequentially ordered data",
// 2019, for sums of levels, and Salvi, Cass, Foster, Lyons & Yang, "The signature kernel is the solution
// of a Goursat PDE", 2021, for all of them.
//
// After the end of a shorter series its last point is repeated. There steps are exactly 0, for which
// both recursions hand on what they have.
#include "exp.hpp"
#include "lanes.hpp"
#include "loops.hpp"
#include "signatures.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Vector = Lanes::Vector;

constexpr size_t lanes = series_lanes;
constexpr size_t vectors = lanes / Lanes::width;

// out[j, l] <- exp(-gamma |x - z_j|^2).
void similarities(const double* __restrict x, const double* __restrict z, size_t d, size_t count,
                  double gamma, double* __restrict out) {
    for (size_t j = 0; j < count; ++j)
        for (size_t l = 0; l < lanes; ++l) {
            double sum = 0;
            for (size_t c = 0; c < d; ++c) {
                const double t = x[c * lanes + l] - z[(j * d + c) * lanes + l];
                sum += t * t;
            }
            out[j * lanes + l] = -gamma * sum;
        }
    for (size_t k = 0; k < count * lanes; ++k) out[k] = exp_one(out[k]);
}

// The steps of all columns against one step of x, which ends at its point i.
class Steps {
 public:
    Steps(const SeriesGroup& group, double rate, double* work)
        : g(group), gamma(rate), D(work), before(D + g.columns * lanes),
          now(before + g.columns * lanes) {
        if (gamma >= 0) similarities(g.x + size(), g.z + size(), g.d, g.columns, gamma, now);
    }
    const double* at(size_t i) {
        const double *x = g.x + (i + 1) * size(), *z = g.z + size();
        if (gamma >= 0) {
            double* old = before;
            before = now;
            now = old;
            similarities(x, z, g.d, g.columns, gamma, now);
            for (size_t k = 0; k < (g.columns - 1) * lanes; ++k)
                D[k] = (now[k + lanes] - before[k + lanes]) - (now[k] - before[k]);
            return D;
        }
        for (size_t j = 0; j + 1 < g.columns; ++j)
            for (size_t l = 0; l < lanes; ++l) {
                double sum = 0;
                for (size_t c = 0; c < g.d; ++c) {
                    const size_t k = c * lanes + l;
                    sum += (x[k] - x[k - size()]) *
                           (z[(j + 1) * size() + k] - z[j * size() + k]);
                }
                D[j * lanes + l] = sum;
            }
        return D;
    }

 private:
    size_t size() const { return g.d * lanes; }
    const SeriesGroup& g;
    double gamma;
    double *D, *before, *now;
};

// P_q(i, j) is the sum over i' <= i, j' <= j of D A_q, A_1 = 1 and A_q = 1 + P_{q-1}(i' - 1, j' - 1).
void leveled(const SeriesGroup& g, Steps& steps, size_t levels, double* work, double* out) {
    const size_t columns = g.columns - 1;
    double *P = work, *run = P + levels * columns * lanes, *diagonal = run + levels * lanes;
    for (size_t k = 0; k < levels * columns * lanes; ++k) P[k] = 0;
    for (size_t i = 1; i < g.rows; ++i) {
        const double* D = steps.at(i);
        for (size_t k = 0; k < levels * lanes; ++k) run[k] = diagonal[k] = 0;
        for (size_t j = 0; j < columns; ++j)
            for (size_t v = 0; v < vectors; ++v) {
                const size_t lane = v * Lanes::width;
                const Vector step = Lanes::load(D + j * lanes + lane);
                Vector factor = step;  // D A_q
                for (size_t q = 0; q < levels; ++q) {
                    double* cell = P + (q * columns + j) * lanes + lane;
                    const size_t k = q * lanes + lane;
                    const Vector above = Lanes::load(cell);
                    const Vector earlier = Lanes::load(diagonal + k);
                    const Vector sum = Lanes::plus(Lanes::load(run + k), factor);
                    Lanes::store(run + k, sum);
                    Lanes::store(cell, Lanes::plus(above, sum));
                    Lanes::store(diagonal + k, above);
                    factor = Lanes::times_plus(step, earlier, step);
                }
            }
    }
    const double* last = P + ((levels - 1) * columns + columns - 1) * lanes;
    for (size_t l = 0; l < lanes; ++l) out[l] = 1 + last[l];
}

// u(i + 1, j + 1) = (u(i + 1, j) + u(i, j + 1)) p - u(i, j) q, p = 1 + D / 2 + D^2 / 12 and
// q = 1 - D^2 / 12, of second order; u = 1 at the borders.
void untruncated(const SeriesGroup& g, Steps& steps, size_t halvings, double* work, double* out) {
    const size_t columns = g.columns - 1, parts = size_t(1) << halvings;
    const double share = 1.0 / (static_cast<double>(parts) * static_cast<double>(parts));
    double *p = work, *q = p + columns * lanes, *u = q + columns * lanes;
    for (size_t k = 0; k < (columns * parts + 1) * lanes; ++k) u[k] = 1;
    for (size_t i = 1; i < g.rows; ++i) {
        const double* D = steps.at(i);
        for (size_t k = 0; k < columns * lanes; ++k) {
            const double s = share * D[k], square = s * s / 12;
            p[k] = 1 + s / 2 + square;
            q[k] = square - 1;
        }
        for (size_t r = 0; r < parts; ++r) {
            Vector left[vectors], diagonal[vectors];
            for (size_t v = 0; v < vectors; ++v) left[v] = diagonal[v] = Lanes::all(1);
            double* cell = u + lanes;
            for (size_t j = 0; j < columns; ++j)
                for (size_t s = 0; s < parts; ++s, cell += lanes)
                    for (size_t v = 0; v < vectors; ++v) {
                        const size_t k = v * Lanes::width;
                        const Vector above = Lanes::load(cell + k);
                        const Vector both = Lanes::plus(left[v], above);
                        left[v] = Lanes::times_plus(
                            both, Lanes::load(p + j * lanes + k),
                            Lanes::times(diagonal[v], Lanes::load(q + j * lanes + k)));
                        diagonal[v] = above;
                        Lanes::store(cell + k, left[v]);
                    }
        }
    }
    const double* last = u + columns * parts * lanes;
    for (size_t l = 0; l < lanes; ++l) out[l] = last[l];
}

void sums(const SeriesGroup& g, const SignatureTerms& terms, double* work, double* out) {
    Steps steps(g, terms.gamma, work);
    work += 3 * g.columns * lanes;
    for (size_t l = 0; l < lanes; ++l) out[l] = 1;
    if (g.rows < 2 || g.columns < 2) return;
    if (terms.levels) return leveled(g, steps, terms.levels, work, out);
    untruncated(g, steps, terms.halvings, work, out);
}

}  // namespace

extern const SignatureLoops signatures;
constinit const SignatureLoops signatures = {sums};

}  // namespace MERCER_ISA
}  // namespace mercer
