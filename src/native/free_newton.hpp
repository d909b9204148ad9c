// Newton steps on the free variables of a small machine: what solvers/box_newton.py does for large
// ones, without a call from Python for each of thousands of machines. SMO changes two variables at
// a time, and takes very many steps where K is ill-conditioned.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace mercer {

class FreeNewton {
public:
    // Lowers the objective over the variables that are not at a bound; those that reach a bound
    // stay there. The arguments are those of SmoLoops::solve, and K is (n, n). False if there was
    // no step that lowers it. O(m^3) for m free variables, and again for each that stops.
    template <class T>
    bool lower(const T* K, size_t n, const double* y, const double* C, double* alpha, double* f,
               size_t split) {
        find_free(n, C, alpha, split);
        bool moved = false;
        for (size_t refined = 0; refined < 3 && free.size() > 1 && factor(K, n);) {
            direction(f, split);
            product.assign(n, 0.0);
            for (size_t a = 0; a < free.size(); ++a) {
                const T* row = K + free[a] * n;
                for (size_t j = 0; j < n; ++j) product[j] += static_cast<double>(row[j]) * step[a];
            }
            double slope = 0, square = 0, length = 1;
            for (size_t a = 0; a < free.size(); ++a) {
                slope += f[free[a]] * step[a];
                square += product[free[a]] * step[a];
            }
            if (!(slope < 0) || !std::isfinite(square)) break;
            if (square > 0) length = std::fmin(length, -slope / square);
            size_t first = free.size();
            for (size_t a = 0; a < free.size(); ++a) {
                const size_t i = free[a];
                const double rise = y[i] * step[a];
                if (rise == 0) continue;
                const double room = (rise > 0 ? C[i] - alpha[i] : alpha[i]) / std::fabs(rise);
                if (room <= length) {
                    length = room;
                    first = a;
                }
            }
            for (size_t a = 0; a < free.size(); ++a) {
                const size_t i = free[a];
                alpha[i] = std::fmin(std::fmax(alpha[i] + length * y[i] * step[a], 0.0), C[i]);
            }
            for (size_t j = 0; j < n; ++j) f[j] += length * product[j];
            moved = true;
            if (first == free.size()) {
                ++refined;  // once more, for the digits that rounding took
            } else {
                const size_t i = free[first];
                alpha[i] = y[i] * step[first] > 0 ? C[i] : 0.0;
                find_free(n, C, alpha, split);
            }
        }
        return moved;
    }

private:
    std::vector<size_t> free;
    std::vector<double> scale, U, step, product, each[3];

    // Variables that can move both ways, where the sum of their group leaves them a partner.
    void find_free(size_t n, const double* C, const double* alpha, size_t split) {
        free.clear();
        for (const size_t end : {split, n}) {
            const size_t begin = free.size();
            for (size_t i = end == split ? 0 : split; i < end; ++i)
                if (alpha[i] > 0 && alpha[i] < C[i]) free.push_back(i);
            if (free.size() == begin + 1) free.pop_back();
            if (split == n) break;
        }
    }

    // Cholesky's factor U, Uᵀ U = K among the free variables, scaled to a diagonal of ones. Rows of
    // U are subtracted from later rows, not added up in products, so that compilers make vector
    // instructions without another order of the sums.
    template <class T>
    bool factor(const T* K, size_t n) {
        const size_t m = free.size();
        scale.resize(m);
        U.resize(m * m);
        for (size_t a = 0; a < m; ++a) {
            const double size = static_cast<double>(K[free[a] * (n + 1)]);
            if (!(size > 0)) return false;
            scale[a] = 1 / std::sqrt(size);
        }
        const double rounding = sizeof(T) == 4 ? 1e-7 : 2e-16;
        for (const double ridge : {64.0, 1e5, 1e8}) {
            for (size_t a = 0; a < m; ++a) {
                for (size_t b = a; b < m; ++b)
                    U[a * m + b] = static_cast<double>(K[free[a] * n + free[b]]) * scale[a] * scale[b];
                U[a * m + a] += ridge * rounding;
            }
            if (eliminate(m)) return true;
        }
        return false;
    }

    bool eliminate(size_t m) {
        for (size_t a = 0; a < m; ++a) {
            double* row = U.data() + a * m;
            if (!(row[a] > 0)) return false;
            const double pivot = 1 / std::sqrt(row[a]);
            for (size_t b = a; b < m; ++b) row[b] *= pivot;
            for (size_t c = a + 1; c < m; ++c) {
                double* later = U.data() + c * m;
                const double factor = row[c];
                for (size_t b = c; b < m; ++b) later[b] -= factor * row[b];
            }
        }
        return true;
    }

    void solve(std::vector<double>& x) const {
        const size_t m = x.size();
        for (size_t a = 0; a < m; ++a) {
            x[a] /= U[a * m + a];
            for (size_t c = a + 1; c < m; ++c) x[c] -= U[a * m + c] * x[a];
        }
        for (size_t a = m; a-- > 0;) {
            for (size_t c = a + 1; c < m; ++c) x[a] -= U[a * m + c] * x[c];
            x[a] /= U[a * m + a];
        }
    }

    // The step of K step = level - f, with a level in each group for which its steps sum to 0.
    void direction(const double* f, size_t split) {
        const size_t m = free.size();
        for (auto& values : each) values.assign(m, 0.0);
        for (size_t a = 0; a < m; ++a) {
            each[free[a] >= split][a] = scale[a];
            each[2][a] = -scale[a] * f[free[a]];
        }
        for (auto& values : each) solve(values);
        double sums[2][3] = {};
        for (size_t a = 0; a < m; ++a)
            for (size_t k = 0; k < 3; ++k) sums[free[a] >= split][k] += scale[a] * each[k][a];
        const double (&p)[3] = sums[0], (&q)[3] = sums[1];
        double first = 0, second = 0;
        if (p[0] > 0 && q[1] > 0) {
            const double determinant = p[0] * q[1] - p[1] * q[0];
            first = (p[1] * q[2] - p[2] * q[1]) / determinant;
            second = (p[2] * q[0] - p[0] * q[2]) / determinant;
        } else if (p[0] > 0) {
            first = -p[2] / p[0];
        } else {
            second = -q[2] / q[1];
        }
        step.assign(m, 0.0);
        double rest[2] = {}, count[2] = {};
        for (size_t a = 0; a < m; ++a) {
            step[a] = scale[a] * (each[2][a] + first * each[0][a] + second * each[1][a]);
            rest[free[a] >= split] += step[a];
            count[free[a] >= split] += 1;
        }
        for (size_t a = 0; a < m; ++a) step[a] -= rest[free[a] >= split] / count[free[a] >= split];
    }
};

}  // namespace mercer
