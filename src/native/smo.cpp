// The inner solver of batch SMO (see smo.hpp). The steps are those of LIBSVM's second-order
// selection (Fan, Chen & Lin 2005), on a block of the kernel that stays in cache. Searches run in
// lanes, so that the compiler vectorises them, and ties go to the lowest index.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t lanes = 16;
constexpr double infinity = 1e308;  // larger than any key; no true infinity is needed
constexpr double least_curvature = 1e-12;

// A variable may move up (towards larger y alpha) or down.
inline bool can_rise(double y, double alpha, double C) { return y > 0 ? alpha < C : alpha > 0; }
inline bool can_fall(double y, double alpha, double C) { return y > 0 ? alpha > 0 : alpha < C; }

// Index of the smallest key, n if all are infinite. keys has room for whole lanes.
inline size_t argmin(const double* keys, size_t n) {
    double best[lanes];
    int64_t at[lanes];
    for (size_t l = 0; l < lanes; ++l) {
        best[l] = infinity;
        at[l] = static_cast<int64_t>(n);
    }
    const size_t whole = n / lanes * lanes;
    for (size_t s = 0; s < whole; s += lanes) {
        for (size_t l = 0; l < lanes; ++l) {
            const bool better = keys[s + l] < best[l];
            best[l] = better ? keys[s + l] : best[l];
            at[l] = better ? static_cast<int64_t>(s + l) : at[l];
        }
    }
    double smallest = infinity;
    size_t found = n;
    for (size_t l = 0; l < lanes; ++l) {
        const size_t index = static_cast<size_t>(at[l]);
        if (best[l] < smallest || (best[l] == smallest && index < found)) {
            smallest = best[l];
            found = index;
        }
    }
    for (size_t j = whole; j < n; ++j) {
        if (keys[j] < smallest) {
            smallest = keys[j];
            found = j;
        }
    }
    return smallest < infinity ? found : n;
}

template <class T>
size_t solve(const T* K, const double* y, const double* C, double* alpha, double* f, size_t n,
             double tol, double relative_tol, size_t max_steps) {
    // Workspace: penalties that keep variables which cannot move out of the searches.
    double* rise = new double[4 * n];
    double *fall = rise + n, *keys = fall + n, *diagonal = keys + n;
    for (size_t j = 0; j < n; ++j) {
        rise[j] = can_rise(y[j], alpha[j], C[j]) ? 0.0 : infinity;
        fall[j] = can_fall(y[j], alpha[j], C[j]) ? 0.0 : infinity;
        diagonal[j] = static_cast<double>(K[j * n + j]);
    }
    double stop = tol;
    size_t step = 0;
    for (; step < max_steps; ++step) {
        for (size_t j = 0; j < n; ++j) keys[j] = f[j] + rise[j];
        const size_t i = argmin(keys, n);
        if (i == n) break;
        const double f_i = f[i], K_ii = diagonal[i];
        const T* row_i = K + i * n;
        // The partner of largest decrease, and the largest violation beside it.
        double worst = -infinity;
        for (size_t j = 0; j < n; ++j) {
            const double difference = f[j] - f_i;
            double curvature = K_ii + diagonal[j] - 2 * static_cast<double>(row_i[j]);
            curvature = curvature > least_curvature ? curvature : least_curvature;
            const double gain = -(difference * difference) / curvature;
            const bool allowed = fall[j] == 0.0 && difference > 0;
            keys[j] = allowed ? gain : infinity;
            const double violation = fall[j] == 0.0 ? difference : -infinity;
            worst = violation > worst ? violation : worst;
        }
        if (step == 0 && relative_tol * worst > stop) stop = relative_tol * worst;
        if (!(worst > stop)) break;
        const size_t j = argmin(keys, n);
        if (j == n) break;
        double curvature = K_ii + diagonal[j] - 2 * static_cast<double>(row_i[j]);
        curvature = curvature > least_curvature ? curvature : least_curvature;
        // y_i alpha_i rises and y_j alpha_j falls by the same amount, as far as the box allows.
        double amount = (f[j] - f_i) / curvature;
        const double room_i = y[i] > 0 ? C[i] - alpha[i] : alpha[i];
        const double room_j = y[j] > 0 ? alpha[j] : C[j] - alpha[j];
        bool i_ends = false, j_ends = false;
        if (amount >= room_i) { amount = room_i; i_ends = true; }
        if (amount >= room_j) { i_ends = i_ends && room_i == room_j; amount = room_j; j_ends = true; }
        alpha[i] += y[i] * amount;
        alpha[j] -= y[j] * amount;
        if (i_ends) alpha[i] = y[i] > 0 ? C[i] : 0.0;  // exactly at the bound
        if (j_ends) alpha[j] = y[j] > 0 ? 0.0 : C[j];
        rise[i] = can_rise(y[i], alpha[i], C[i]) ? 0.0 : infinity;
        fall[i] = can_fall(y[i], alpha[i], C[i]) ? 0.0 : infinity;
        rise[j] = can_rise(y[j], alpha[j], C[j]) ? 0.0 : infinity;
        fall[j] = can_fall(y[j], alpha[j], C[j]) ? 0.0 : infinity;
        const T* row_j = K + j * n;
        for (size_t k = 0; k < n; ++k)
            f[k] += amount * (static_cast<double>(row_i[k]) - static_cast<double>(row_j[k]));
    }
    delete[] rise;
    return step;
}

template <class T>
void block(const T* K, size_t stride, const int64_t* rows, const int64_t* columns, size_t count,
           T* out) {
    for (size_t a = 0; a < count; ++a) {
        if (rows[a] < 0) continue;
        const T* row = K + rows[a] * stride;
        for (size_t b = 0; b < count; ++b) out[a * count + b] = row[columns[b]];
    }
}

template <class T>
void add_rows(const T* K, size_t stride, const int64_t* rows, const double* delta, size_t count,
              double* g, size_t begin, size_t end) {
    constexpr size_t strip = 2048;  // of g, held in the L1 cache while all rows pass
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

}  // namespace

extern const SmoLoops<float> smo32;
extern const SmoLoops<double> smo64;
const SmoLoops<float> smo32 = {solve<float>, block<float>, add_rows<float>};
const SmoLoops<double> smo64 = {solve<double>, block<double>, add_rows<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
