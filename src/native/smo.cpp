// The inner solver of batch SMO (see smo.hpp). The steps are those of LIBSVM's second-order
// selection (Fan, Chen & Lin 2005), on a block of the kernel that stays in cache. A search finds
// the best value of each lane in one pass, and its index in a second pass: compilers make vector
// instructions from one choice per variable, but from two choices branches that are hard to
// predict. Both passes must round in the same way, so this file is compiled without reassociation.
#include <cmath>
#include <limits>

#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

// Whether a variable can rise (to larger y alpha) or fall.
inline bool can_rise(double y, double alpha, double C) { return y > 0 ? alpha < C : alpha > 0; }
inline bool can_fall(double y, double alpha, double C) { return y > 0 ? alpha > 0 : alpha < C; }

// A curvature K_ii + K_jj - 2 K_ij below this share of (K_ii + K_jj) / 2 is rounding.
constexpr double least_curvature = 1e-12;
// The key of a variable that must not be found: larger than any other key.
template <class F>
constexpr F infinity = sizeof(F) == 4 ? F(1e38f) : F(1e308);

// The result of a search: the index of the best variable, or ``none``.
constexpr size_t none = ~static_cast<size_t>(0);
struct Found {
    size_t at;
    double value;
};

// The first index for which a condition is true; it must be true for some index.
template <class Condition>
size_t first(size_t begin, size_t end, Condition holds) {
    for (; begin + 64 <= end; begin += 64) {
        int any = 0;
        for (size_t k = begin; k < begin + 64; ++k) any |= holds(k);
        if (any) break;
    }
    while (begin < end && !holds(begin)) ++begin;
    return begin;
}

constexpr size_t lanes = 16;

// f += amount * (row_i - row_j) on [begin, end); finds the smallest f of the variables that can
// rise (rise is 0 for them, infinite for the others).
template <class T, class F>
Found update(F* __restrict f, const F* __restrict rise, const T* row_i, const T* row_j, F amount,
             size_t begin, size_t end) {
    F best[lanes];
    for (size_t l = 0; l < lanes; ++l) best[l] = infinity<F>;
    const size_t whole = begin + (end - begin) / lanes * lanes;
    for (size_t s = begin; s < whole; s += lanes) {
        for (size_t l = 0; l < lanes; ++l) {
            const size_t k = s + l;
            f[k] += amount * (static_cast<F>(row_i[k]) - static_cast<F>(row_j[k]));
            const F key = f[k] + rise[k];
            best[l] = key < best[l] ? key : best[l];
        }
    }
    F least = infinity<F>;
    for (size_t l = 0; l < lanes; ++l) least = best[l] < least ? best[l] : least;
    for (size_t k = whole; k < end; ++k) {
        f[k] += amount * (static_cast<F>(row_i[k]) - static_cast<F>(row_j[k]));
        const F key = f[k] + rise[k];
        least = key < least ? key : least;
    }
    if (!(least < infinity<F>)) return {none, infinity<F>};
    return {first(begin, end, [&](size_t k) { return f[k] + rise[k] == least; }), least};
}

// Finds the partner of i with the largest decrease, among the variables on [begin, end) that can
// fall, and the largest violation. The choice is made in float: it need not be exact, and most of
// the work is divisions. Floats end at 1e38, so K is multiplied by ``unit``, as ``diagonal`` is
// already. ``gains`` is workspace.
template <class T, class F>
Found partner(const F* __restrict f, const F* __restrict fall, const F* __restrict diagonal,
              const T* __restrict row_i, F unit, F f_i, F K_ii, size_t begin, size_t end,
              float* __restrict gains, double* violation) {
    float best[lanes], worst[lanes];
    for (size_t l = 0; l < lanes; ++l) {
        best[l] = 0;
        worst[l] = -1;
    }
    const F twice = 2 * unit;
    const auto curvature_of = [&](size_t k) {
        const F sum = K_ii + diagonal[k];
        const float curvature = static_cast<float>(sum - twice * static_cast<F>(row_i[k]));
        const float least = static_cast<float>(least_curvature / 2) * static_cast<float>(sum);
        return (curvature > least ? curvature : least) + std::numeric_limits<float>::min();
    };
    const size_t whole = begin + (end - begin) / lanes * lanes;
    for (size_t s = begin; s < whole; s += lanes) {
        for (size_t l = 0; l < lanes; ++l) {
            const size_t k = s + l;
            const float difference = static_cast<float>(f[k] - fall[k] - f_i);
            const float positive = difference > 0 ? difference : 0;
            const float gain = positive * (positive / curvature_of(k));
            gains[k] = gain;
            best[l] = gain > best[l] ? gain : best[l];
            worst[l] = difference > worst[l] ? difference : worst[l];
        }
    }
    float most = 0;
    for (size_t l = 0; l < lanes; ++l) {
        most = best[l] > most ? best[l] : most;
        *violation = worst[l] > *violation ? worst[l] : *violation;
    }
    for (size_t k = whole; k < end; ++k) {
        const float difference = static_cast<float>(f[k] - fall[k] - f_i);
        const float positive = difference > 0 ? difference : 0;
        gains[k] = positive * (positive / curvature_of(k));
        most = gains[k] > most ? gains[k] : most;
        *violation = difference > *violation ? difference : *violation;
    }
    if (!(most > 0)) return {none, 0};
    return {first(begin, end, [&](size_t k) { return gains[k] == most; }), most};
}

template <class T>
const T* row_of(KernelRows<T>* K, size_t i) {
    if (K->slots == nullptr) return K->first + i * K->n;
    if (K->slots[i] < 0) {
        const size_t size = K->size, rest = K->n - size;
        T* row = K->room + K->used * K->n;
        if (i < size) {
            for (size_t k = 0; k < size; ++k) row[k] = K->first[i * size + k];
            for (size_t k = 0; k < rest; ++k) row[size + k] = K->across[i * rest + k];
        } else {
            for (size_t k = 0; k < size; ++k) row[k] = K->across[k * rest + (i - size)];
            for (size_t k = 0; k < rest; ++k) row[size + k] = K->second[(i - size) * rest + k];
        }
        K->slots[i] = static_cast<int64_t>(K->used++);
    }
    return K->room + static_cast<size_t>(K->slots[i]) * K->n;
}

template <class T>
double diagonal_of(const KernelRows<T>* K, size_t i) {
    const size_t size = K->size;
    return static_cast<double>(i < size ? K->first[i * (size + 1)]
                                        : K->second[(i - size) * (K->n - size + 1)]);
}

template <class T>
void join(KernelRows<T>* K, const int64_t* rows, size_t count) {
    for (size_t k = 0; k < count; ++k) row_of(K, static_cast<size_t>(rows[k]));
}

// A power of two near 1 / (the largest number of the diagonal), which changes no digits.
template <class T, class F>
F unit_of(const KernelRows<T>* K) {
    double most = 0;
    for (size_t j = 0; j < K->n; ++j) most = std::fmax(most, diagonal_of(K, j));
    if (!(most > 0 && std::isfinite(most))) return 1;
    constexpr int limit = std::numeric_limits<F>::max_exponent - 2;
    const int power = -std::ilogb(most);
    return static_cast<F>(std::ldexp(1.0, power > limit ? limit : power < -limit ? -limit : power));
}

// SMO with f stored in the type F.
template <class T, class F>
size_t solve_in(KernelRows<T>* K, const double* y, const double* C, double* alpha,
                double* gradient, size_t split, double tol, double relative_tol,
                size_t max_steps) {
    const size_t n = K->n;
    // Workspace: f, and penalties, so that searches do not find variables that cannot move.
    F* f = new F[4 * n];
    float* gains = new float[n];
    F *rise = f + n, *fall = f + 2 * n, *diagonal = f + 3 * n;
    const F unit = unit_of<T, F>(K);
    for (size_t j = 0; j < n; ++j) {
        f[j] = static_cast<F>(gradient[j]);
        rise[j] = can_rise(y[j], alpha[j], C[j]) ? F(0) : infinity<F>;
        fall[j] = can_fall(y[j], alpha[j], C[j]) ? F(0) : infinity<F>;
        diagonal[j] = unit * static_cast<F>(diagonal_of(K, j));
    }
    const size_t begins[2] = {0, split}, ends[2] = {split, n};
    Found lowest[2];
    for (int g = 0; g < 2; ++g)
        lowest[g] = update(f, rise, diagonal, diagonal, F(0), begins[g], ends[g]);
    double stop = tol;
    size_t step = 0;
    for (; step < max_steps; ++step) {
        size_t i = none, j = none;
        double most = 0, worst = -1;
        for (int g = 0; g < 2; ++g) {
            const size_t low = lowest[g].at;
            if (low == none) continue;
            const Found other = partner(f, fall, diagonal, row_of(K, low), unit, f[low],
                                        diagonal[low], begins[g], ends[g], gains, &worst);
            if (other.at != none && other.value > most) {
                most = other.value;
                i = low;
                j = other.at;
            }
        }
        if (step == 0 && relative_tol * worst > stop) stop = relative_tol * worst;
        if (!(worst > stop) || j == none) break;
        const T *row_i = row_of(K, i), *row_j = row_of(K, j);
        const double sum = diagonal_of(K, i) + diagonal_of(K, j);
        double curvature = sum - 2 * static_cast<double>(row_i[j]);
        curvature = std::fmax(curvature, least_curvature / 2 * sum);
        curvature = std::fmax(curvature, std::numeric_limits<double>::min());
        // y_i alpha_i rises and y_j alpha_j falls by the same amount, as far as the box allows.
        double amount = (static_cast<double>(f[j]) - static_cast<double>(f[i])) / curvature;
        const double room_i = y[i] > 0 ? C[i] - alpha[i] : alpha[i];
        const double room_j = y[j] > 0 ? alpha[j] : C[j] - alpha[j];
        bool i_ends = false, j_ends = false;
        if (amount >= room_i) { amount = room_i; i_ends = true; }
        if (amount >= room_j) { i_ends = i_ends && room_i == room_j; amount = room_j; j_ends = true; }
        alpha[i] += y[i] * amount;
        alpha[j] -= y[j] * amount;
        if (i_ends) alpha[i] = y[i] > 0 ? C[i] : 0.0;  // exactly at the bound
        if (j_ends) alpha[j] = y[j] > 0 ? 0.0 : C[j];
        for (int side = 0; side < 2; ++side) {
            const size_t k = side ? j : i;
            rise[k] = can_rise(y[k], alpha[k], C[k]) ? F(0) : infinity<F>;
            fall[k] = can_fall(y[k], alpha[k], C[k]) ? F(0) : infinity<F>;
        }
        for (int g = 0; g < 2; ++g)
            lowest[g] = update(f, rise, row_i, row_j, static_cast<F>(amount), begins[g], ends[g]);
    }
    for (size_t j = 0; j < n; ++j) gradient[j] = static_cast<double>(f[j]);
    delete[] gains;
    delete[] f;
    return step;
}

// f is stored in float if K is in float and the tolerance allows it: a vector has twice as many
// variables, and memory traffic is half.
template <class T>
size_t solve(KernelRows<T>* K, const double* y, const double* C, double* alpha, double* f,
             size_t split, double tol, double relative_tol, size_t max_steps) {
    const size_t n = K->n;
    if (n == 0) return 0;
    if constexpr (sizeof(T) == 4) {
        double largest = 0;
        for (size_t j = 0; j < n; ++j) largest = std::fmax(largest, std::fabs(f[j]));
        constexpr double rounding = 6e-8;
        if (256 * rounding * largest < tol)
            return solve_in<T, float>(K, y, C, alpha, f, split, tol, relative_tol, max_steps);
    }
    return solve_in<T, double>(K, y, C, alpha, f, split, tol, relative_tol, max_steps);
}

// Values of f for the variables of one sign, or of both: the smallest of those that can rise, the
// largest of those that can fall, the smallest and largest of all, and the mean of the free ones.
struct Levels {
    double rising = infinity<double>, falling = -infinity<double>;
    double least = infinity<double>, most = -infinity<double>;
    double sum = 0, free = 0;
    bool any = false;

    double violation() const {
        const double gap = falling - rising;
        return rising < infinity<double> && falling > -infinity<double> && gap > 0 ? gap : 0;
    }
    double level() const {
        if (!any) return NAN;
        if (free > 0) return sum / free;
        const double high = rising < infinity<double> ? rising : most;
        const double low = falling > -infinity<double> ? falling : least;
        return (high + low) / 2;
    }
};

// A variable this near to a bound, in parts of the largest one and of its bound, is there: the sums
// of many steps leave rounding errors, and a variable that is free by them alone would set the level
// where it is the middle of an interval.
constexpr double at_bound = 64 * 0x1p-52;

void optimum(const double* f, const double* offset, const double* y, const double* C,
             const double* alpha, size_t n, bool groups, double* out) {
    Levels of[2];
    bool finite = true;
    double largest = 0;
    for (size_t k = 0; k < n; ++k) largest = alpha[k] > largest ? alpha[k] : largest;
    for (size_t k = 0; k < n; ++k) {
        Levels& group = of[groups && y[k] < 0];
        finite = finite && f[k] < infinity<double> && f[k] > -infinity<double>;
        group.any = true;
        group.least = f[k] < group.least ? f[k] : group.least;
        group.most = f[k] > group.most ? f[k] : group.most;
        const bool above = alpha[k] > at_bound * largest, below = alpha[k] < C[k] * (1 - at_bound);
        if ((y[k] > 0 ? below : above) && f[k] < group.rising) group.rising = f[k];
        if ((y[k] > 0 ? above : below) && f[k] > group.falling) group.falling = f[k];
        if (above && below) {
            group.sum += f[k];
            group.free += 1;
        }
    }
    if (!finite) {
        for (size_t k = 0; k < 6; ++k) out[k] = NAN;
        return;
    }
    const double levels[2] = {of[0].level(), of[groups].level()};
    double gap = 0, square = 0, linear = 0;
    for (size_t k = 0; k < n; ++k) {
        // complementarity: the possible gain of each alpha alone; slope is that of its term
        const double slope = y[k] * (f[k] - levels[y[k] < 0]);
        gap += alpha[k] * slope;
        if (slope < 0 && C[k] < infinity<double>) gap -= C[k] * slope;
        square += y[k] * alpha[k] * (f[k] - offset[k]);
        linear += y[k] * alpha[k] * offset[k];
    }
    out[0] = of[0].violation() > of[1].violation() ? of[0].violation() : of[1].violation();
    out[1] = levels[0];
    out[2] = levels[1];
    out[3] = gap;
    out[4] = square;
    out[5] = linear;
}

template <class T>
void block(const T* K, size_t stride, const int64_t* rows, const int64_t* columns, size_t count,
           size_t begin, size_t end, T* out) {
    for (size_t a = begin; a < end; ++a) {
        if (rows[a] < 0) continue;
        const T* row = K + rows[a] * stride;
        for (size_t b = 0; b < count; ++b) out[a * count + b] = row[columns[b]];
    }
}

template <class T>
void add_rows(const T* K, size_t stride, const int64_t* rows, const double* delta, size_t count,
              double* g, size_t begin, size_t end) {
    constexpr size_t strip = 2048;  // numbers of g, which stay in the L1 cache for all rows
    for (size_t s = begin; s < end; s += strip) {
        const size_t e = end - s < strip ? end : s + strip;
        size_t k = 0;
        for (; k + 4 <= count; k += 4) {
            const T *a = K + rows[k] * stride, *b = K + rows[k + 1] * stride,
                    *c = K + rows[k + 2] * stride, *d = K + rows[k + 3] * stride;
            const double p = delta[k], q = delta[k + 1], r = delta[k + 2], t = delta[k + 3];
            for (size_t j = s; j < e; ++j)
                g[j] += p * static_cast<double>(a[j]) + q * static_cast<double>(b[j]) +
                        r * static_cast<double>(c[j]) + t * static_cast<double>(d[j]);
        }
        for (; k < count; ++k) {
            const T* a = K + rows[k] * stride;
            const double p = delta[k];
            for (size_t j = s; j < e; ++j) g[j] += p * static_cast<double>(a[j]);
        }
    }
}

template <class T>
void narrow(T* K, size_t rows, size_t width, const int64_t* kept, size_t count) {
    for (size_t r = 0; r < rows; ++r) {
        const T* from = K + r * width;
        T* to = K + r * count;  // never after from, and kept[k] >= k: no unread number is lost
        for (size_t k = 0; k < count; ++k) to[k] = from[kept[k]];
    }
}

}  // namespace

extern const SmoLoops<float> smo32;
extern const SmoLoops<double> smo64;
constinit const SmoLoops<float> smo32 = {solve<float>, join<float>,     optimum,
                                         block<float>, add_rows<float>, narrow<float>};
constinit const SmoLoops<double> smo64 = {solve<double>, join<double>,     optimum,
                                          block<double>, add_rows<double>, narrow<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
