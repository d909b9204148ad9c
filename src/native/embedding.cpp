// Forces of a map (see embedding.hpp). Each value is computed by one loop in one order, so that more
// threads change nothing.
#include <math.h>

#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr double unit = 4294967296.0;  // of a charge
constexpr double up = 0.2, down = 0.8, least = 0.01;  // of the gains, as of the authors of t-SNE

// Where a coordinate lies: the node before it, and the splines of this and three other nodes.
struct Spline {
    size_t node;
    double at[4], slope[4];
};

inline Spline spline(double x, double corner, double spacing, size_t side) {
    double u = (x - corner) / spacing;
    const double last = double(side) - 3;
    u = u > 1 ? u : 1;  // NaN too
    u = u < last ? u : last;
    Spline s;
    const size_t node = size_t(u);
    const double t = u - double(node), r = 1 - t;
    s.node = node - 1;
    s.at[0] = r * r * r / 6;
    s.at[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    s.at[2] = (3 * r * r * r - 6 * r * r + 4) / 6;
    s.at[3] = t * t * t / 6;
    s.slope[0] = -r * r / 2;
    s.slope[1] = (3 * t * t - 4 * t) / 2;
    s.slope[2] = -(3 * r * r - 4 * r) / 2;
    s.slope[3] = t * t / 2;
    return s;
}

void spread(const double* Y, size_t n, SquareGrid g, int64_t* charges) {
    for (size_t i = 0; i < n; ++i) {
        const Spline a = spline(Y[2 * i], g.x, g.spacing, g.side);
        const Spline b = spline(Y[2 * i + 1], g.y, g.spacing, g.side);
        for (size_t r = 0; r < 4; ++r) {
            int64_t* row = charges + (a.node + r) * g.side + b.node;
            for (size_t c = 0; c < 4; ++c) row[c] += int64_t(unit * a.at[r] * b.at[c]);
        }
    }
}

// The potential at a point and its derivatives.
inline void read(double x, double y, const SquareGrid& g, const double* potential, double* out) {
    const Spline a = spline(x, g.x, g.spacing, g.side);
    const Spline b = spline(y, g.y, g.spacing, g.side);
    double value = 0, along = 0, across = 0;
    for (size_t r = 0; r < 4; ++r) {
        const double* row = potential + (a.node + r) * g.side + b.node;
        const double here = b.at[0] * row[0] + b.at[1] * row[1] + b.at[2] * row[2] + b.at[3] * row[3];
        const double slant =
            b.slope[0] * row[0] + b.slope[1] * row[1] + b.slope[2] * row[2] + b.slope[3] * row[3];
        value += a.at[r] * here;
        along += a.slope[r] * here;
        across += a.at[r] * slant;
    }
    out[0] = value;
    out[1] = along / g.spacing;
    out[2] = across / g.spacing;
}

void gather(const double* Y, size_t n, SquareGrid g, const double* potential, double* out) {
    for (size_t i = 0; i < n; ++i) read(Y[2 * i], Y[2 * i + 1], g, potential, out + 3 * i);
}

// Points in the lanes of a block, each of which adds all points in their order.
constexpr size_t lanes = 16, chunk = 512;

void sum(const float* Y, size_t n, const float* Z, size_t q, double* out) {
    for (size_t begin = 0; begin < q; begin += lanes) {
        const size_t count = q - begin < lanes ? q - begin : lanes;
        float at[3][lanes] = {};
        double total[4][lanes] = {};
        for (size_t c = 0; c < 3; ++c)
            for (size_t l = 0; l < count; ++l) at[c][l] = Z[c * q + begin + l];
        for (size_t first = 0; first < n; first += chunk) {
            const size_t last = first + chunk < n ? first + chunk : n;
            float part[4][lanes] = {};
            for (size_t j = first; j < last; ++j) {
                const float x = Y[j], y = Y[n + j], z = Y[2 * n + j];
                for (size_t l = 0; l < lanes; ++l) {
                    const float dx = at[0][l] - x, dy = at[1][l] - y, dz = at[2][l] - z;
                    const float p = 1 / (1 + dx * dx + dy * dy + dz * dz), slope = p * p;
                    part[0][l] += p;
                    part[1][l] += slope * dx;
                    part[2][l] += slope * dy;
                    part[3][l] += slope * dz;
                }
            }
            for (size_t c = 0; c < 4; ++c)
                for (size_t l = 0; l < lanes; ++l) total[c][l] += double(part[c][l]);
        }
        for (size_t l = 0; l < count; ++l) {
            double* mine = out + 4 * (begin + l);
            mine[0] = total[0][l];
            for (size_t c = 1; c < 4; ++c) mine[c] = -2 * total[c][l];
        }
    }
}

template <size_t D>
void descend_in(size_t begin, size_t end, const int64_t* starts, const int32_t* columns,
                const float* pull, double exaggeration, const double* push, double share, double rate,
                double momentum, double longest, const double* Y, double* moved, double* gains,
                double* out) {
    for (size_t i = begin; i < end; ++i) {
        const double* here = Y + D * i;
        double drawn[D] = {};
        for (int64_t e = starts[i]; e < starts[i + 1]; ++e) {
            const double* there = Y + D * size_t(columns[e]);
            double gap[D], far = 1;
            for (size_t c = 0; c < D; ++c) {
                gap[c] = here[c] - there[c];
                far += gap[c] * gap[c];
            }
            const double q = double(pull[e]) / far;
            for (size_t c = 0; c < D; ++c) drawn[c] += q * gap[c];
        }
        double* move = moved + D * i;
        double length = 0;
        for (size_t c = 0; c < D; ++c) {
            // the potential counts each pair twice
            const double pushed = push[(D + 1) * (i - begin) + 1 + c] / 2 / share;
            const double slope = 4 * (exaggeration * drawn[c] + pushed);
            double* gain = gains + D * i + c;
            const double less = *gain * down;
            *gain = (slope > 0) != (move[c] > 0) ? *gain + up : (less > least ? less : least);
            move[c] = momentum * move[c] - rate * *gain * slope;
            length += move[c] * move[c];
        }
        length = sqrt(length);
        for (size_t c = 0; c < D; ++c) {
            if (length > longest) move[c] *= longest / length;
            out[D * i + c] = here[c] + move[c];
        }
    }
}

void descend(size_t axes, size_t begin, size_t end, const int64_t* starts, const int32_t* columns,
             const float* pull, double exaggeration, const double* push, double share, double rate,
             double momentum, double longest, const double* Y, double* moved, double* gains,
             double* out) {
    const auto step = axes == 1 ? descend_in<1> : axes == 2 ? descend_in<2> : descend_in<3>;
    step(begin, end, starts, columns, pull, exaggeration, push, share, rate, momentum, longest, Y,
         moved, gains, out);
}

// The potential that a grid holds, in the plane.
struct OfGrid {
    SquareGrid grid;
    const double* potential;
    void read_at(const double* x, double* out) const { read(x[0], x[1], grid, potential, out); }
};

// That of n points, in three dimensions.
struct OfPoints {
    const double* Y;
    size_t n;
    void read_at(const double* x, double* out) const {
        for (size_t c = 0; c < 4; ++c) out[c] = 0;
        for (size_t j = 0; j < n; ++j) {
            const double dx = x[0] - Y[3 * j], dy = x[1] - Y[3 * j + 1], dz = x[2] - Y[3 * j + 2];
            const double p = 1 / (1 + dx * dx + dy * dy + dz * dz), slope = -2 * p * p;
            out[0] += p;
            out[1] += slope * dx;
            out[2] += slope * dy;
            out[3] += slope * dz;
        }
    }
};

template <size_t D, class Field>
void place_in(const Field& field, const int64_t* near, size_t q, size_t k, const double* Y,
              double share, double exaggeration, size_t steps, double rate, double* out) {
    for (size_t i = 0; i < q; ++i) {
        const int64_t* mine = near + i * k;
        // the neighbour that is nearest to the others: a mean of two clusters is in none of them
        double best = INFINITY, x[D] = {}, count = 0;
        for (size_t j = 0; j < k; ++j) {
            if (mine[j] < 0) continue;
            const double* here = Y + D * size_t(mine[j]);
            double total = 0;
            for (size_t l = 0; l < k; ++l) {
                if (mine[l] < 0) continue;
                double far = 0;
                for (size_t c = 0; c < D; ++c) {
                    const double gap = here[c] - Y[D * size_t(mine[l]) + c];
                    far += gap * gap;
                }
                total += sqrt(far);
            }
            if (total < best) {
                best = total;
                for (size_t c = 0; c < D; ++c) x[c] = here[c];
            }
            count += 1;
        }
        double moved[D] = {};
        for (size_t t = 0; t < steps; ++t) {
            double drawn[D] = {}, bent = 0, push[D + 1];
            for (size_t j = 0; j < k; ++j) {
                if (mine[j] < 0) continue;
                double gap[D], far = 1;
                for (size_t c = 0; c < D; ++c) {
                    gap[c] = x[c] - Y[D * size_t(mine[j]) + c];
                    far += gap[c] * gap[c];
                }
                const double w = 1 / far / count;
                for (size_t c = 0; c < D; ++c) drawn[c] += w * gap[c];
                bent += w;
            }
            field.read_at(x, push);
            for (size_t c = 0; c < D; ++c) {
                const double slope = exaggeration * drawn[c] + push[1 + c] / 2 / share;
                moved[c] = moved[c] / 2 - rate * slope / (exaggeration * bent + 1e-12);
            }
            for (size_t c = 0; c < D; ++c) x[c] += moved[c];
        }
        for (size_t c = 0; c < D; ++c) out[D * i + c] = x[c];
    }
}

void place(const int64_t* near, size_t q, size_t k, const double* Y, SquareGrid g,
           const double* potential, double share, double exaggeration, size_t steps, double rate,
           double* out) {
    place_in<2>(OfGrid{g, potential}, near, q, k, Y, share, exaggeration, steps, rate, out);
}

void place_among(const int64_t* near, size_t q, size_t k, const double* Y, size_t n, double share,
                 double exaggeration, size_t steps, double rate, double* out) {
    place_in<3>(OfPoints{Y, n}, near, q, k, Y, share, exaggeration, steps, rate, out);
}

}  // namespace

extern const EmbeddingLoops embeddings;
constinit const EmbeddingLoops embeddings = {spread, gather, sum, descend, place, place_among};

}  // namespace MERCER_ISA
}  // namespace mercer
