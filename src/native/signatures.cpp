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
#include "squares.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Vector = Lanes::Vector;

constexpr size_t lanes = series_lanes;
constexpr size_t vectors = lanes / Lanes::width;

// out[j, l] <- exp(-gamma |x - z_j|^2).
void similarities(const double* x, const double* z, size_t d, size_t count, double gamma,
                  double* __restrict out) {
    squares<lanes>(x, z, d, count, out);
    for (size_t k = 0; k < count * lanes; ++k) out[k] = exp_one(-gamma * out[k]);
}

// out[j, l] <- <x, z_j>.
void products(const double* __restrict x, const double* __restrict z, size_t d, size_t count,
              double* __restrict out) {
    for (size_t j = 0; j < count; ++j) {
        const double* p = z + j * d * lanes;
        double* o = out + j * lanes;
        for (size_t l = 0; l < lanes; ++l) o[l] = x[l] * p[l];
        for (size_t c = 1; c < d; ++c)
            for (size_t l = 0; l < lanes; ++l) o[l] += x[c * lanes + l] * p[c * lanes + l];
    }
}

// The steps of all columns against one step of x, which ends at its point i.
class Steps {
 public:
    Steps(const SeriesGroup& group, double rate, double* work)
        : g(group), gamma(rate), size(g.d * lanes), D(work) {
        if (gamma >= 0) {
            before = D + g.columns * lanes;
            now = before + g.columns * lanes;
            similarities(g.x + size, g.z + size, g.d, g.columns, gamma, now);
        } else {
            of_x = D + g.columns * lanes;
            of_z = of_x + size;
            for (size_t k = 0; k < (g.columns - 1) * size; ++k)
                of_z[k] = g.z[k + 2 * size] - g.z[k + size];
        }
    }
    const double* at(size_t i) {
        const double *x = g.x + (i + 1) * size, *z = g.z + size;
        if (gamma >= 0) {
            double* old = before;
            before = now;
            now = old;
            similarities(x, z, g.d, g.columns, gamma, now);
            for (size_t k = 0; k < (g.columns - 1) * lanes; ++k)
                D[k] = (now[k + lanes] - before[k + lanes]) - (now[k] - before[k]);
        } else {
            for (size_t k = 0; k < size; ++k) of_x[k] = x[k] - (x - size)[k];
            products(of_x, of_z, g.d, g.columns - 1, D);
        }
        return D;
    }

 private:
    const SeriesGroup& g;
    double gamma;
    size_t size;
    double *D, *before = nullptr, *now = nullptr, *of_x = nullptr, *of_z = nullptr;
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

// Along an edge of a cell of the grid u is a polynomial, which its derivatives at the beginning of the
// edge give, where the edge has the length 1.
constexpr size_t degree = signature_degree;

// factors[q][m] = q! / (m + q)!
struct Factors {
    double at[degree + 1][degree + 1];
};
constexpr Factors factors_of_derivatives() {
    Factors f{};
    for (size_t q = 0; q <= degree; ++q) {
        f.at[q][0] = 1;
        for (size_t m = 1; m + q <= degree; ++m)
            f.at[q][m] = f.at[q][m - 1] / static_cast<double>(m + q);
    }
    return f;
}
constexpr Factors factors = factors_of_derivatives();

// u + the sum over m of derivatives[m - 1] q! / (m + q)!, for q = 0 the value at the end of the edge.
inline Vector summed(size_t q, Vector u, const Vector* derivatives) {
    for (size_t m = 1; m + q <= degree; ++m)
        u = Lanes::times_plus(derivatives[m - 1], Lanes::all(factors.at[q][m]), u);
    return u;
}

// derivative q <- the sum over i < q of r^i / i! derivative q - i, + r^q / q! sums[q]; parts are r / i.
inline void carried(const Vector* parts, const Vector* sums, Vector* derivatives) {
    for (size_t q = degree; q > 0; --q) {
        Vector t = sums[q - 1];
        for (size_t i = q; i > 0; --i)
            t = Lanes::times_plus(parts[i - 1], t, derivatives[q - i]);
        derivatives[q - 1] = t;
    }
}

// u_st = r u in a cell, from the value at its first corner and the derivatives along its two first
// edges to the value at the end of edge a, and the derivatives along the edges opposite: the powers
// s^i t^j of u have coefficients c with c(i + 1, j + 1) = r c(i, j) / ((i + 1) (j + 1)), and those
// with i or j above `degree` are left out. That leaves out the same powers of the exponentials of
// which the signatures of both series are the products, so that a kernel remains.
inline Vector crossed(Vector r, Vector u, Vector* a, Vector* b) {
    Vector parts[degree], of_a[degree], of_b[degree];
    for (size_t q = 1; q <= degree; ++q) {
        parts[q - 1] = Lanes::times(r, Lanes::all(1.0 / static_cast<double>(q)));
        of_a[q - 1] = summed(q, u, a);
        of_b[q - 1] = summed(q, u, b);
    }
    const Vector end = summed(0, u, a);
    carried(parts, of_b, a);
    carried(parts, of_a, b);
    return end;
}

// The solution of u_st = D(s, t) u, which is 1 at the borders, where D is constant in each cell.
void untruncated(const SeriesGroup& g, Steps& steps, const SignatureTerms& terms, double* work,
                 double* out) {
    const size_t columns = g.columns - 1, each = size_t(1) << terms.halvings_x,
                 parts = size_t(1) << terms.halvings_z;
    const Vector share = Lanes::all(1.0 / static_cast<double>(each * parts));
    double* edges = work;  // the derivatives along the upper edges of a row of cells
    for (size_t k = 0; k < columns * parts * degree * lanes; ++k) edges[k] = 0;
    for (size_t i = 1; i < g.rows; ++i) {
        const double* D = steps.at(i);
        for (size_t r = 0; r < each; ++r)
            for (size_t v = 0; v < vectors; ++v) {
                const size_t lane = v * Lanes::width;
                Vector u = Lanes::all(1), a[degree], b[degree];
                for (size_t q = 0; q < degree; ++q) b[q] = Lanes::all(0);
                double* edge = edges + lane;
                for (size_t j = 0; j < columns; ++j) {
                    const Vector rate = Lanes::times(share, Lanes::load(D + j * lanes + lane));
                    for (size_t s = 0; s < parts; ++s, edge += degree * lanes) {
                        for (size_t q = 0; q < degree; ++q) a[q] = Lanes::load(edge + q * lanes);
                        u = crossed(rate, u, a, b);
                        for (size_t q = 0; q < degree; ++q) Lanes::store(edge + q * lanes, a[q]);
                    }
                }
            }
    }
    for (size_t v = 0; v < vectors; ++v) {
        Vector u = Lanes::all(1), a[degree];
        const double* edge = edges + v * Lanes::width;
        for (size_t j = 0; j < columns * parts; ++j, edge += degree * lanes) {
            for (size_t q = 0; q < degree; ++q) a[q] = Lanes::load(edge + q * lanes);
            u = summed(0, u, a);
        }
        Lanes::store(out + v * Lanes::width, u);
    }
}

void sums(const SeriesGroup& g, const SignatureTerms& terms, double* work, double* out) {
    Steps steps(g, terms.gamma, work);
    work += steps_work(g.columns, g.d);
    for (size_t l = 0; l < lanes; ++l) out[l] = 1;
    if (g.rows < 2 || g.columns < 2) return;
    if (terms.levels) return leveled(g, steps, terms.levels, work, out);
    untruncated(g, steps, terms, work, out);
}

}  // namespace

extern const SignatureLoops signatures;
constinit const SignatureLoops signatures = {sums};

}  // namespace MERCER_ISA
}  // namespace mercer
