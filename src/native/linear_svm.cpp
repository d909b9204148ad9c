// Loops of linear support vector machines (see linear_svm.hpp): products, and coordinate descent
// with shrinking (Hsieh et al. 2008; Ho & Lin 2012; Keerthi et al. 2008; Yuan, Ho & Lin 2012).
// Sums are in double, also for rows in float.
#include "linear_rows.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr double unbounded = 1e308;

inline double larger(double a, double b) { return a > b ? a : b; }
inline double clipped(double v, double low, double high) {
    return v < low ? low : (v > high ? high : v);
}
inline double soft(double v, double threshold) {
    return v > threshold ? v - threshold : (v < -threshold ? v + threshold : 0.0);
}

// xorshift64*: a random number below n.
inline size_t random_below(uint64_t& state, size_t n) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const uint64_t high = (state * 2685821657736338717ULL) >> 32;
    return static_cast<size_t>((high * static_cast<uint64_t>(n)) >> 32);
}

// Runs epochs of `visit(i, margin, aside)`. It improves variable i, returns its violation before,
// and says whether i can be set aside until the others have converged: if it is farther from a
// change than `margin`, the largest violation of the last epoch. Variables come in random order;
// `fetch(i)` prefetches the other memory that a visit will need.
template <class T, class Visit, class Fetch>
size_t run_epochs(const LinearRows<T>& X, const ActiveSet& set, size_t epochs, double tol,
                  Visit visit, Fetch fetch) {
    constexpr size_t ahead = 3;
    size_t epoch = 0, count = *set.count;
    double margin = *set.violation;
    while (epoch < epochs) {
        ++epoch;
        for (size_t s = 0; s + 1 < count; ++s) {
            const size_t t = s + random_below(*set.random, count - s);
            const int64_t swapped = set.active[s];
            set.active[s] = set.active[t];
            set.active[t] = swapped;
        }
        double worst = 0;
        for (size_t s = 0; s < count;) {
            if (s + ahead < count) {
                const size_t soon = static_cast<size_t>(set.active[s + ahead]);
                prefetch(X, soon);
                fetch(soon);
            }
            const int64_t i = set.active[s];
            bool aside = false;
            worst = larger(worst, visit(static_cast<size_t>(i), margin, aside));
            if (aside) {
                set.active[s] = set.active[--count];
                set.active[count] = i;
            } else {
                ++s;
            }
        }
        margin = worst;
        if (!(worst > tol)) break;
    }
    *set.count = count;
    *set.violation = margin;
    return epoch;
}

template <class T, template <class> class Row>
void outputs_as(const LinearRows<T>& X, const double* w, double* f) {
    for (size_t i = 0; i < X.n; ++i) f[i] = Row<T>(X, i).dot(w) + X.bias * w[X.d];
}

template <class T, template <class> class Row>
void combine_as(const LinearRows<T>& X, const double* c, double* w) {
    double total = 0;
    for (size_t i = 0; i < X.n; ++i) {
        if (c[i] == 0) continue;
        Row<T>(X, i).add_to(w, c[i]);
        total += c[i];
    }
    w[X.d] += X.bias * total;
}

template <class T, template <class> class Row>
void squares_as(const LinearRows<T>& X, double* out) {
    for (size_t i = 0; i < X.n; ++i) {
        double total = 0;
        Row<T>(X, i).each([&](size_t, double x) { total += x * x; });
        out[i] = total;
    }
}

template <class T>
void gram(const LinearRows<T>& X, const double* h, double* H) {
    const size_t width = X.d + 1;
    for (size_t i = 0; i < X.n; ++i) {
        if (h[i] == 0) continue;
        const SparseRow<T> row(X, i);
        for (size_t k = 0; k < row.count; ++k) {
            double* line = H + static_cast<size_t>(row.column[k]) * width;
            const double scaled = h[i] * static_cast<double>(row.x[k]);
            for (size_t l = 0; l <= k; ++l)
                line[row.column[l]] += scaled * static_cast<double>(row.x[l]);
        }
        row.add_to(H + X.d * width, h[i] * X.bias);
        H[X.d * width + X.d] += h[i] * X.bias * X.bias;
    }
}

template <class T, template <class> class Row>
size_t dual_as(const LinearRows<T>& X, LinearVariable* variables, const LinearLoss& loss, double* w,
               const ActiveSet& set, size_t epochs, double tol) {
    const double epsilon = loss.epsilon;
    const auto visit = [&](size_t i, double margin, bool& aside) {
        const Row<T> row(X, i);
        LinearVariable& v = variables[i];
        const double b = v.beta, y = v.target, bound = loss.squared ? unbounded : v.C;
        const double curvature = loss.squared ? 0.5 / v.C : 0.0;
        const double low = loss.one_sided && y > 0 ? 0.0 : -bound;
        const double high = loss.one_sided && !(y > 0) ? 0.0 : bound;
        const double G = row.dot(w) + X.bias * w[X.d] - y + curvature * b;
        // The one-sided derivatives, which differ at b = 0 if epsilon > 0.
        const double right = G + (b >= 0 ? epsilon : -epsilon);
        const double left = G + (b > 0 ? epsilon : -epsilon);
        aside = (b == high || right > margin) && (b == low || left < -margin);
        const double violation = larger(b < high ? -right : 0.0, b > low ? left : 0.0);
        if (aside || !(violation > 0)) return 0.0;
        const double H = v.square + X.bias * X.bias + curvature;
        double next = right < 0 ? high : low;  // a row of zeros changes only its own variable
        if (H > 0) next = clipped(soft(H * b - G, epsilon) / H, low, high);
        if (next != b) {
            row.add_to(w, next - b);
            w[X.d] += X.bias * (next - b);
            v.beta = next;
        }
        return violation;
    };
    return run_epochs(X, set, epochs, tol, visit, [&](size_t i) { prefetch(variables + i, 1); });
}

// The new alpha of one row minimises A |a|^2 / 2 + B a over sum a = 0 and a_m <= C for its own
// class, a_m <= 0 for the others: a_m = min(bound_m, (b - B_m) / A). Returns b, by Newton's method
// from below on the sum of A a_m, which is concave and piecewise linear in b: each step has fewer
// free classes.
inline double balance(const double* B, size_t k, size_t own, double room) {
    size_t free = k + 1;
    double b = -1e300;
    for (;;) {
        double total = 0;
        size_t count = 0;
        for (size_t m = 0; m < k; ++m) {
            const bool bounded = b - B[m] >= (m == own ? room : 0.0);
            total += bounded ? (m == own ? -room : 0.0) : B[m];
            count += bounded ? 0 : 1;
        }
        if (count == 0 || count >= free) return b;
        free = count;
        b = total / static_cast<double>(count);
    }
}

template <class T, template <class> class Row>
size_t class_as(const LinearRows<T>& X, const int64_t* code, const double* C,
                const double* squares, size_t k, double* W, double* alpha, const ActiveSet& set,
                size_t epochs, double tol) {
    double* G = new double[3 * k];
    double *B = G + k, *change = B + k;
    const auto visit = [&](size_t i, double margin, bool& aside) {
        const Row<T> row(X, i);
        const size_t own = static_cast<size_t>(code[i]);
        double* a = alpha + i * k;
        for (size_t m = 0; m < k; ++m) G[m] = (m == own ? 0.0 : 1.0) + X.bias * W[X.d * k + m];
        row.each([&](size_t j, double x) {
            for (size_t m = 0; m < k; ++m) G[m] += x * W[j * k + m];
        });
        // At the optimum the classes below their bounds share the largest gradient.
        double most = -1e300, least = 1e300, bounded = -1e300;
        size_t free = 0;
        for (size_t m = 0; m < k; ++m) {
            most = larger(most, G[m]);
            const bool below = a[m] < (m == own ? C[i] : 0.0);
            least = below && G[m] < least ? G[m] : least;
            bounded = !below ? larger(bounded, G[m]) : bounded;
            free += below ? 1 : 0;
        }
        aside = free == 1 && bounded < least - margin;
        const double violation = most - least;
        if (aside || !(violation > 0)) return 0.0;
        const double A = squares[i] + X.bias * X.bias;
        // A row of zeros changes only its own variables: any positive curvature is right.
        const double curvature = A > 0 ? A : 1 / C[i];
        for (size_t m = 0; m < k; ++m) B[m] = G[m] - curvature * a[m];
        const double b = balance(B, k, own, curvature * C[i]);
        for (size_t m = 0; m < k; ++m) {
            const double bound = m == own ? C[i] : 0.0, free_value = (b - B[m]) / curvature;
            const double next = free_value < bound ? free_value : bound;
            change[m] = next - a[m];
            a[m] = next;
        }
        row.each([&](size_t j, double x) {
            for (size_t m = 0; m < k; ++m) W[j * k + m] += x * change[m];
        });
        for (size_t m = 0; m < k; ++m) W[X.d * k + m] += X.bias * change[m];
        return violation;
    };
    const size_t done = run_epochs(X, set, epochs, tol, visit,
                                   [&](size_t i) { prefetch(alpha + i * k, k); });
    delete[] G;
    return done;
}

template <class T, template <class> class Row>
size_t lasso_as(const LinearRows<T>& X, const double* g, const double* squares, double* v,
                double* q, const ActiveSet& set, size_t epochs, double tol) {
    const auto visit = [&](size_t j, double margin, bool& aside) {
        const Row<T> column(X, j);
        const double G = g[j] + column.dot(q);
        const double right = G + (v[j] >= 0 ? 1.0 : -1.0), left = G + (v[j] > 0 ? 1.0 : -1.0);
        aside = right > margin && left < -margin;
        if (aside) return 0.0;
        const double violation = larger(-right, left);
        if (!(violation > 0)) return 0.0;
        // A column of zeros is of no use.
        const double next = squares[j] > 0 ? soft(v[j] * squares[j] - G, 1.0) / squares[j] : 0.0;
        if (next != v[j]) {
            column.add_to(q, next - v[j]);
            v[j] = next;
        }
        return violation;
    };
    return run_epochs(X, set, epochs, tol, visit, [](size_t) {});
}

void nearest(const LinearBox& box, const double* f, double* near, double* slope) {
    const double *t = box.t, *step = box.step, *low = box.low, *high = box.high;
    const double epsilon = box.epsilon;
    for (size_t i = 0; i < box.n; ++i) {
        const double free = soft(t[i] - f[i], epsilon) * step[i];
        near[i] = clipped(free, low[i], high[i]);
        const bool inside = free > low[i] && free < high[i] && (epsilon == 0 || free != 0);
        slope[i] = inside ? step[i] : 0.0;
    }
}

double along(const LinearBox& box, const double* f, const double* change, double size,
             const double* near) {
    const double *t = box.t, *step = box.step, *low = box.low, *high = box.high;
    const double epsilon = box.epsilon;
    double total = 0;
    for (size_t i = 0; i < box.n; ++i) {
        const double free = soft(t[i] - (f[i] + size * change[i]), epsilon) * step[i];
        total += change[i] * (clipped(free, low[i], high[i]) - near[i]);
    }
    return total;
}

template <class T>
void outputs(const LinearRows<T>& X, const double* w, double* f) {
    X.columns ? outputs_as<T, SparseRow>(X, w, f) : outputs_as<T, DenseRow>(X, w, f);
}

template <class T>
void combine(const LinearRows<T>& X, const double* c, double* w) {
    X.columns ? combine_as<T, SparseRow>(X, c, w) : combine_as<T, DenseRow>(X, c, w);
}

template <class T>
void squares(const LinearRows<T>& X, double* out) {
    X.columns ? squares_as<T, SparseRow>(X, out) : squares_as<T, DenseRow>(X, out);
}

template <class T>
size_t dual_epochs(const LinearRows<T>& X, LinearVariable* variables, const LinearLoss& loss,
                   double* w, const ActiveSet& set, size_t epochs, double tol) {
    return X.columns ? dual_as<T, SparseRow>(X, variables, loss, w, set, epochs, tol)
                     : dual_as<T, DenseRow>(X, variables, loss, w, set, epochs, tol);
}

template <class T>
size_t class_epochs(const LinearRows<T>& X, const int64_t* code, const double* C,
                    const double* squares, size_t k, double* W, double* alpha,
                    const ActiveSet& set, size_t epochs, double tol) {
    return X.columns
               ? class_as<T, SparseRow>(X, code, C, squares, k, W, alpha, set, epochs, tol)
               : class_as<T, DenseRow>(X, code, C, squares, k, W, alpha, set, epochs, tol);
}

template <class T>
size_t lasso_epochs(const LinearRows<T>& X, const double* g, const double* squares, double* v,
                    double* q, const ActiveSet& set, size_t epochs, double tol) {
    return X.columns ? lasso_as<T, SparseRow>(X, g, squares, v, q, set, epochs, tol)
                     : lasso_as<T, DenseRow>(X, g, squares, v, q, set, epochs, tol);
}

}  // namespace

extern const LinearBoxLoops linear_box;
constinit const LinearBoxLoops linear_box = {nearest, along};

extern const LinearLoops<float> linear32;
extern const LinearLoops<double> linear64;
constinit const LinearLoops<float> linear32 = {
    outputs<float>,     combine<float>,      squares<float>,     gram<float>,
    dual_epochs<float>, class_epochs<float>, lasso_epochs<float>};
constinit const LinearLoops<double> linear64 = {
    outputs<double>,     combine<double>,      squares<double>,     gram<double>,
    dual_epochs<double>, class_epochs<double>, lasso_epochs<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
