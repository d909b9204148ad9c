// Learnt neighbourhoods: a step of training, called by solvers/neighbourhoods/training.py, and the
// smoother. Each tile of 64 rows is in cache while a part of the step passes over it. Sums over
// tiles are taken in a fixed order, so that the result does not depend on the number of threads.
#include <math.h>
#include <string.h>

#include "exp.hpp"
#include "loops.hpp"
#include "pack.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Step = NeighbourhoodStep;

#if defined(__AVX2__) || defined(__AVX512F__) || !defined(__GNUC__)
using P = Pack<float>;
#else
// Of the array in Pack, GCC makes no registers in a product: a step took five times as long.
struct P {
    static constexpr size_t width = 4;
    typedef float Four __attribute__((vector_size(16)));
    Four v;
    static P load(const float* x) {
        P out;
        memcpy(&out.v, x, sizeof out.v);
        return out;
    }
    static P all(float x) { return {Four{x, x, x, x}}; }
    void store(float* x) const { memcpy(x, &v, sizeof v); }
    static P plus(P a, P b) { return {a.v + b.v}; }
    static P times_plus(P a, P b, P c) { return {a.v * b.v + c.v}; }
};
#endif

constexpr float far_away = 1e15f;   // the distance of a row to itself: it has no vote
constexpr float tiny_share = 1e-6f; // a squared distance below this part of the norms is rounding
constexpr float least_probability = 1e-7f;
constexpr float two_pi = 6.28318530717958648f;
constexpr double batch_norm_floor = 1e-5;

// --- products -----------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr size_t block_rows = 8;
#else
constexpr size_t block_rows = 4;
#endif

// rows x (vectors * P::width) of C (+)= A B. The first or the second stride of A is 1.
template <size_t rows, size_t vectors, bool add, bool by_rows>
inline void block_product(size_t K, const float* A, size_t stride, const float* B, size_t b_stride,
                          float* C, size_t c_stride) {
    P sums[rows][vectors];
    for (size_t i = 0; i < rows; ++i)
        for (size_t v = 0; v < vectors; ++v)
            sums[i][v] = add ? P::load(C + i * c_stride + v * P::width) : P::all(0);
    for (size_t k = 0; k < K; ++k) {
        P b[vectors];
        for (size_t v = 0; v < vectors; ++v) b[v] = P::load(B + k * b_stride + v * P::width);
        for (size_t i = 0; i < rows; ++i) {
            const P a = P::all(by_rows ? A[i * stride + k] : A[k * stride + i]);
            for (size_t v = 0; v < vectors; ++v) sums[i][v] = P::times_plus(a, b[v], sums[i][v]);
        }
    }
    for (size_t i = 0; i < rows; ++i)
        for (size_t v = 0; v < vectors; ++v) sums[i][v].store(C + i * c_stride + v * P::width);
}

template <size_t vectors, bool add, bool by_rows>
inline void strip_product(size_t M, size_t K, const float* A, size_t stride, const float* B,
                          size_t b_stride, float* C, size_t c_stride) {
    const size_t down = by_rows ? stride : 1;
    size_t i = 0;
    for (; i + block_rows <= M; i += block_rows)
        block_product<block_rows, vectors, add, by_rows>(K, A + i * down, stride, B, b_stride,
                                                         C + i * c_stride, c_stride);
    for (size_t left = M % block_rows; left > 0; --left, ++i)
        block_product<1, vectors, add, by_rows>(K, A + i * down, stride, B, b_stride,
                                                C + i * c_stride, c_stride);
}

// C (M, N) (+)= A (M, K) B (K, N) for N a multiple of 16. A is A[i * stride + k] if by_rows, else
// A[k * stride + i].
template <bool add, bool by_rows>
void product(size_t M, size_t N, size_t K, const float* A, size_t stride, const float* B,
             size_t b_stride, float* C, size_t c_stride) {
    size_t j = 0;
    for (; j + 2 * P::width <= N; j += 2 * P::width)
        strip_product<2, add, by_rows>(M, K, A, stride, B + j, b_stride, C + j, c_stride);
    for (; j < N; j += P::width)
        strip_product<1, add, by_rows>(M, K, A, stride, B + j, b_stride, C + j, c_stride);
}

float sum_of(const float* x) {  // of the 64 rows of a tile
    P sums = P::load(x);
    for (size_t l = P::width; l < kTile; l += P::width) sums = P::plus(sums, P::load(x + l));
    float lanes[P::width], total = 0;
    sums.store(lanes);
    for (size_t l = 0; l < P::width; ++l) total += lanes[l];
    return total;
}

float dot(const float* x, const float* y) {
    P sums = P::all(0);
    for (size_t l = 0; l < kTile; l += P::width)
        sums = P::times_plus(P::load(x + l), P::load(y + l), sums);
    float lanes[P::width], total = 0;
    sums.store(lanes);
    for (size_t l = 0; l < P::width; ++l) total += lanes[l];
    return total;
}

void fill(float* out, const float* bias, size_t channels) {
    for (size_t c = 0; c < channels; ++c)
        for (size_t r = 0; r < kTile; ++r) out[c * kTile + r] = bias[c];
}

// [channels][64] <-> [64][channels], for a multiple of 16 channels.
void by_rows_of(const float* lanes, size_t channels, float* rows) {
    for (size_t c = 0; c < channels; c += 16)
        for (size_t r = 0; r < kTile; ++r)
            for (size_t i = 0; i < 16; ++i)
                rows[r * channels + c + i] = lanes[(c + i) * kTile + r];
}

void by_lanes_of(const float* rows, size_t channels, float* lanes) {
    for (size_t c = 0; c < channels; ++c)
        for (size_t r = 0; r < kTile; ++r) lanes[c * kTile + r] = rows[r * channels + c];
}

// --- the network --------------------------------------------------------------------------------

// cos and sin of 2 pi t: t minus its nearest integer, folded to a quarter turn, and Taylor's
// polynomials, whose error is below 7e-8 there.
inline void turn(float t, float& cosine, float& sine) {
    const float magic = 12582912.0f;
    const float u = t - ((t + magic) - magic);
    const float half = u < 0 ? -0.5f : 0.5f;
    const bool fold = u > 0.25f || u < -0.25f;
    const float a = two_pi * (fold ? half - u : u), s = a * a;
    float p = -2.5052108e-8f;
    p = p * s + 2.7557319e-6f;
    p = p * s - 1.9841270e-4f;
    p = p * s + 8.3333333e-3f;
    p = p * s - 1.6666667e-1f;
    sine = p * s * a + a;
    float q = 2.0876757e-9f;
    q = q * s - 2.7557319e-7f;
    q = q * s + 2.4801587e-5f;
    q = q * s - 1.3888889e-3f;
    q = q * s + 4.1666667e-2f;
    q = q * s - 0.5f;
    q = q * s + 1.0f;
    cosine = fold ? -q : q;
}

size_t live_rows(const Step& s, size_t tile) {
    const size_t start = tile * kTile;
    return s.live <= start ? 0 : s.live - start < kTile ? s.live - start : kTile;
}

size_t first_tile(const Step& s, size_t group) { return group * s.tiles / s.groups; }

float* F_of(Step& s, size_t t) { return s.F + t * s.net.columns * kPeriodic * kTile; }
float* E_of(Step& s, size_t t) { return s.E + t * s.net.encoded * kTile; }
float* wide(Step& s, float* array, size_t t) { return array + t * s.net.width * kTile; }
float* H_of(Step& s, size_t t) { return s.H + t * s.net.hidden * kTile; }
float* gradients_of(Step& s, size_t group) { return s.gradients + group * s.net.size; }

// U of a tile: the linear layer on the encoded columns.
void encode_tile(Step& s, size_t tile) {
    const NeighbourhoodNet& n = s.net;
    const float* w = s.parameters;
    float *F = F_of(s, tile), *E = E_of(s, tile), *U = wide(s, s.U, tile);
    const size_t live = live_rows(s, tile), own = kValues * n.columns;
    for (size_t r = 0; r < kTile; ++r) {
        const size_t place = tile * kTile + (r < live ? r : 0);
        const size_t row = s.rows ? static_cast<size_t>(s.rows[place]) : place;
        for (size_t j = 0; j < n.columns; ++j)
            F[(j * kPeriodic + kPeriodic - 1) * kTile + r] = s.numbers[row * n.columns + j];
        for (size_t j = 0; j < n.extra; ++j)
            E[(own + j) * kTile + r] = s.extra[row * n.extra + j];
    }
    for (size_t j = 0; j < n.columns; ++j) {
        float* features = F + j * kPeriodic * kTile;
        const float* x = features + (kPeriodic - 1) * kTile;
        for (size_t k = 0; k < kFrequencies; ++k) {
            const float c = w[n.frequencies + j * kFrequencies + k];
            float *cosines = features + k * kTile, *sines = cosines + kFrequencies * kTile;
            for (size_t r = 0; r < kTile; ++r) turn(c * x[r], cosines[r], sines[r]);
        }
        float* values = E + j * kValues * kTile;
        fill(values, w + n.periodic_bias, kValues);
        product<true, false>(kValues, kTile, kPeriodic, w + n.periodic, kValues, features, kTile,
                             values, kTile);
        for (size_t i = 0; i < kValues * kTile; ++i) values[i] = values[i] > 0 ? values[i] : 0;
    }
    fill(U, w + n.linear_bias, n.width);
    product<true, false>(n.width, kTile, n.encoded, w + n.linear, n.width, E, kTile, U, kTile);
}

// norm is (4, width): mean, 1 / spread, ...
void normalise(const float* in, const float* norm, const float* gain, const float* shift,
               size_t width, float* out) {
    for (size_t c = 0; c < width; ++c) {
        const float scale = norm[width + c] * gain[c], from = norm[c], to = shift[c];
        for (size_t r = 0; r < kTile; ++r)
            out[c * kTile + r] = (in[c * kTile + r] - from) * scale + to;
    }
}

// The mean and the sum of squares about it of each channel of a tile.
void moments(const float* in, size_t width, size_t live, float* means, float* spreads) {
    const float share = live ? 1.0f / static_cast<float>(live) : 0;
    for (size_t c = 0; c < width; ++c) {
        const float* x = in + c * kTile;
        float parts[kTile];
        for (size_t r = 0; r < kTile; ++r) parts[r] = r < live ? x[r] : 0;
        const float mean = sum_of(parts) * share;
        for (size_t r = 0; r < kTile; ++r) parts[r] = r < live ? x[r] - mean : 0;
        means[c] = mean;
        spreads[c] = dot(parts, parts);
    }
}

// Chan, Golub & LeVeque 1983: moments of the tiles become those of all rows.
void join_moments(Step& s, const float* means, const float* spreads, float* norm, float* running) {
    const size_t width = s.net.width;
    for (size_t c = 0; c < width; ++c) {
        double mean = 0, spread = 0, count = 0;
        for (size_t t = 0; t < s.tiles; ++t) {
            const double rows = static_cast<double>(live_rows(s, t));
            if (rows == 0) continue;
            const double gap = means[t * width + c] - mean;
            spread += spreads[t * width + c] + gap * gap * count * rows / (count + rows);
            count += rows;
            mean += gap * rows / count;
        }
        const double variance = spread / count;
        norm[c] = static_cast<float>(mean);
        norm[width + c] = static_cast<float>(1 / sqrt(variance + batch_norm_floor));
        const double unbiased = count > 1 ? spread / (count - 1) : variance;
        running[c] += 0.1f * (static_cast<float>(mean) - running[c]);
        running[width + c] += 0.1f * (static_cast<float>(unbiased) - running[width + c]);
    }
}

uint32_t mixed(uint32_t x) {  // the hash "lowbias32"
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

// H = max(0, W2 X + b2), with units dropped, and V = W3 H + b3.
void hide_tile(Step& s, size_t tile, const float* norm, float* X) {
    const NeighbourhoodNet& n = s.net;
    const float* w = s.parameters;
    float *H = H_of(s, tile), *V = wide(s, s.V, tile);
    normalise(wide(s, s.U, tile), norm, w + n.gain1, w + n.shift1, n.width, X);
    fill(H, w + n.into_bias, n.hidden);
    product<true, true>(n.hidden, kTile, n.width, w + n.into, n.width, X, kTile, H, kTile);
    for (size_t i = 0; i < n.hidden * kTile; ++i) H[i] = H[i] > 0 ? H[i] : 0;
    if (s.dropout > 0) {
        const uint32_t least = static_cast<uint32_t>(s.dropout * 4294967040.0f);
        const uint32_t start = mixed(static_cast<uint32_t>(s.seed) ^
                                     mixed(static_cast<uint32_t>(s.seed >> 32) + 1)) +
                               static_cast<uint32_t>(tile * n.hidden * kTile);
        const float scale = 1 / (1 - s.dropout);
        for (size_t i = 0; i < n.hidden * kTile; ++i)
            H[i] = mixed(start + static_cast<uint32_t>(i)) >= least ? H[i] * scale : 0;
    }
    fill(V, w + n.out_bias, n.width);
    product<true, false>(n.width, kTile, n.hidden, w + n.out, n.width, H, kTile, V, kTile);
}

// --- the parts of a step: forwards --------------------------------------------------------------

void encode(Step& s, size_t group, size_t) {
    const size_t width = s.net.width;
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        encode_tile(s, t);
        if (s.net.hidden)
            moments(wide(s, s.U, t), width, live_rows(s, t), s.means1 + t * width,
                    s.spreads1 + t * width);
    }
}

void norms1(Step& s) { join_moments(s, s.means1, s.spreads1, s.norm1, s.running); }
void norms2(Step& s) {
    join_moments(s, s.means2, s.spreads2, s.norm2, s.running + 2 * s.net.width);
}

void hide(Step& s, size_t group, size_t worker) {
    const size_t width = s.net.width;
    float* X = s.scratch + worker * s.scratch_size;
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        hide_tile(s, t, s.norm1, X);
        moments(wide(s, s.V, t), width, live_rows(s, t), s.means2 + t * width,
                s.spreads2 + t * width);
    }
}

void place(Step& s, size_t group, size_t) {
    const NeighbourhoodNet& n = s.net;
    const float* w = s.parameters;
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        float *Z = wide(s, s.Z, t), *rows = wide(s, s.Zrow, t);
        if (n.hidden)
            normalise(wide(s, s.V, t), s.norm2, w + n.gain2, w + n.shift2, n.width, Z);
        else
            memcpy(Z, wide(s, s.U, t), n.width * kTile * sizeof(float));
        by_rows_of(Z, n.width, rows);
        const size_t live = live_rows(s, t);
        for (size_t r = 0; r < kTile; ++r) {
            const size_t i = t * kTile + r;
            float square = 0;
            for (size_t c = 0; c < n.width; ++c)
                square += rows[r * n.width + c] * rows[r * n.width + c];
            s.norms[i] = square;
            const size_t row = static_cast<size_t>(s.rows[r < live ? i : t * kTile]);
            s.votes[i] = r < live ? s.weights[row] : 0;
            if (s.classes)
                s.codes[i] = s.labels[row];
            else
                memcpy(s.Y + i * s.outputs, s.targets + row * s.outputs,
                       s.outputs * sizeof(float));
        }
    }
}

// Distances of all candidates to a tile of queries, (candidates, 64); those to itself are far.
void measure(const Step& s, size_t q, const float* Z, float* D) {
    const size_t width = s.net.width, count = s.tiles * kTile;
    product<false, true>(count, kTile, width, s.Zrow, width, Z, kTile, D, kTile);
    const float* norms = s.norms + q * kTile;
    for (size_t c = 0; c < count; ++c) {
        float* d = D + c * kTile;
        const float norm = c < s.live ? s.norms[c] : far_away * far_away;
        for (size_t r = 0; r < kTile; ++r) {
            const float square = norms[r] + norm - 2 * d[r];
            d[r] = sqrtf(square > 0 ? square : 0);
        }
    }
    for (size_t r = 0; r < kTile; ++r) D[(q * kTile + r) * kTile + r] = far_away;
}

// Gradients for a tile of queries. With s_ij = -d_ij and P = softmax(s), where P_ii = 0:
// classes: dl/ds_ij = P_ij (1 - [c_j = c_i] / p_i); numbers: P_ij g_i (y_j - p_i);
// W_ij = -dl/ds_ij / (2 d_ij); dl/dz_i = 2 sum_j W_ij (z_i - z_j), and likewise for z_j.
void compare(Step& s, size_t q, size_t worker) {
    const size_t width = s.net.width, count = s.tiles * kTile, m = s.outputs;
    float* D = s.scratch + worker * s.scratch_size;
    float *X = D + count * kTile, *G = X + count * kTile;  // exponentials; a block of (64, 64)
    float *sums = G + kTile * kTile, *slopes = sums + m * kTile;
    float least[kTile], totals[kTile], shares[kTile], parts[kTile], hits[kTile];
    const float *Z = s.Z + q * width * kTile, *rows = s.Zrow + q * kTile * width;
    const float *norms = s.norms + q * kTile;
    measure(s, q, Z, D);
    for (size_t r = 0; r < kTile; ++r) least[r] = far_away, totals[r] = 0, hits[r] = 0;
    for (size_t c = 0; c < count; ++c)
        for (size_t r = 0; r < kTile; ++r) {
            const float d = D[c * kTile + r];
            least[r] = d < least[r] ? d : least[r];
        }
    for (size_t c = 0; c < count; ++c) {
        const float vote = s.votes[c];
        for (size_t r = 0; r < kTile; ++r) {
            const float e = exp_one(least[r] - D[c * kTile + r]) * vote;
            X[c * kTile + r] = e;
            totals[r] += e;
        }
    }
    double loss = 0;
    for (size_t r = 0; r < kTile; ++r) {
        const size_t i = q * kTile + r;
        shares[r] = i < s.queries ? s.votes[i] / static_cast<float>(s.total) : 0;
        totals[r] = totals[r] > 0 ? 1 / totals[r] : 0;
    }
    const int32_t* code = s.codes + q * kTile;
    if (s.classes) {
        for (size_t c = 0; c < count; ++c) {
            const int32_t own = s.codes[c];
            for (size_t r = 0; r < kTile; ++r) hits[r] += code[r] == own ? X[c * kTile + r] : 0;
        }
        for (size_t r = 0; r < kTile; ++r) {
            float p = hits[r] * totals[r];
            p = p > least_probability ? p : least_probability;
            loss -= shares[r] * log(static_cast<double>(p));
            parts[r] = 1 / p;
        }
    } else {
        product<false, false>(m, kTile, count, s.Y, m, X, kTile, sums, kTile);
        for (size_t r = 0; r < kTile; ++r) parts[r] = 0;
        for (size_t o = 0; o < m; ++o)
            for (size_t r = 0; r < kTile; ++r) {
                const float p = sums[o * kTile + r] * totals[r];
                const float error = p - s.Y[(q * kTile + r) * m + o];
                const float slope = 2 * error * shares[r] / static_cast<float>(m);
                loss += static_cast<double>(0.5f * slope * error);
                slopes[o * kTile + r] = slope;
                parts[r] += slope * p;
            }
    }
    s.losses[q] = loss;
    float pulled[kTile];
    for (size_t r = 0; r < kTile; ++r) pulled[r] = 0;
    for (size_t start = 0; start < count; start += kTile) {
        if (!s.classes)
            product<false, true>(kTile, kTile, m, s.Y + start * m, m, slopes, kTile, G, kTile);
        for (size_t c = start; c < start + kTile; ++c) {
            float *d = D + c * kTile, *x = X + c * kTile, *g = G + (c - start) * kTile;
            const float norm = s.norms[c];
            if (s.classes) {
                const int32_t own = s.codes[c];
                for (size_t r = 0; r < kTile; ++r)
                    g[r] = shares[r] * (1 - (code[r] == own ? parts[r] : 0));
            } else {
                for (size_t r = 0; r < kTile; ++r) g[r] -= parts[r];
            }
            for (size_t r = 0; r < kTile; ++r) {
                const bool rounding = d[r] * d[r] <= tiny_share * (norms[r] + norm);
                const float pull = -0.5f * x[r] * totals[r] * g[r] / (rounding ? 1 : d[r]);
                d[r] = rounding ? 0 : pull;
                pulled[r] += d[r];
            }
        }
    }
    float* own = s.own + q * width * kTile;
    product<false, false>(width, kTile, count, s.Zrow, width, D, kTile, own, kTile);
    for (size_t c = 0; c < width; ++c)
        for (size_t r = 0; r < kTile; ++r)
            own[c * kTile + r] = 2 * (pulled[r] * Z[c * kTile + r] - own[c * kTile + r]);
    float* pulls = s.pulls + q * count * width;
    product<false, true>(count, width, kTile, D, kTile, rows, width, pulls, width);
    for (size_t c = 0; c < count; ++c) {
        const float total = sum_of(D + c * kTile);
        for (size_t o = 0; o < width; ++o)
            pulls[c * width + o] = 2 * (total * s.Zrow[c * width + o] - pulls[c * width + o]);
    }
}

// --- backwards ----------------------------------------------------------------------------------

// The sums over a tile of a gradient, and of it times the normalised values.
void slopes_of(const float* in, const float* gradient, const float* norm, size_t width,
               float* sums, float* products) {
    for (size_t c = 0; c < width; ++c) {
        float values[kTile];
        const float from = norm[c], scale = norm[width + c];
        for (size_t r = 0; r < kTile; ++r) values[r] = (in[c * kTile + r] - from) * scale;
        sums[c] = sum_of(gradient + c * kTile);
        products[c] = dot(gradient + c * kTile, values);
    }
}

void join_slopes(Step& s, const float* sums, const float* products, float* norm, size_t gain,
                 size_t shift) {
    const size_t width = s.net.width;
    for (size_t c = 0; c < width; ++c) {
        double sum = 0, product = 0;
        for (size_t t = 0; t < s.tiles; ++t) {
            sum += sums[t * width + c];
            product += products[t * width + c];
        }
        s.gradients[gain + c] = static_cast<float>(product);
        s.gradients[shift + c] = static_cast<float>(sum);
        norm[2 * width + c] = static_cast<float>(sum / static_cast<double>(s.live));
        norm[3 * width + c] = static_cast<float>(product / static_cast<double>(s.live));
    }
}

void slopes1(Step& s) {
    join_slopes(s, s.means1, s.spreads1, s.norm1, s.net.gain1, s.net.shift1);
}
void slopes2(Step& s) {
    join_slopes(s, s.means2, s.spreads2, s.norm2, s.net.gain2, s.net.shift2);
}

// The gradient of what was normalised, in the place of that of the result.
void unnormalise(const float* in, const float* norm, const float* gain, size_t width, size_t live,
                 float* gradient) {
    for (size_t c = 0; c < width; ++c) {
        const float from = norm[c], scale = norm[width + c], factor = scale * gain[c];
        const float mean = norm[2 * width + c], slope = norm[3 * width + c];
        float *g = gradient + c * kTile;
        const float* x = in + c * kTile;
        for (size_t r = 0; r < kTile; ++r) {
            const float value = factor * (g[r] - mean - (x[r] - from) * scale * slope);
            g[r] = r < live ? value : 0;
        }
    }
}

// Gradients of z of all candidates: as queries, and as candidates of all queries.
void gather(Step& s, size_t group, size_t worker) {
    const NeighbourhoodNet& n = s.net;
    float* rows = s.scratch + worker * s.scratch_size;
    memset(gradients_of(s, group), 0, n.size * sizeof(float));
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        float* dZ = wide(s, s.dV, t);
        const size_t size = kTile * n.width;
        memcpy(rows, s.pulls + t * size, size * sizeof(float));
        for (size_t q = 1; q < s.query_tiles; ++q) {
            const float* more = s.pulls + (q * s.tiles + t) * size;
            for (size_t i = 0; i < size; ++i) rows[i] += more[i];
        }
        by_lanes_of(rows, n.width, dZ);
        if (t < s.query_tiles)
            for (size_t i = 0; i < size; ++i) dZ[i] += s.own[t * size + i];
        if (n.hidden)
            slopes_of(wide(s, s.V, t), dZ, s.norm2, n.width, s.means2 + t * n.width,
                      s.spreads2 + t * n.width);
    }
}

void unhide(Step& s, size_t group, size_t worker) {
    const NeighbourhoodNet& n = s.net;
    const float* w = s.parameters;
    float *g = gradients_of(s, group), *dH = s.scratch + worker * s.scratch_size;
    float *rows = dH + n.hidden * kTile, *X = rows + n.width * kTile;
    const float scale = s.dropout > 0 ? 1 / (1 - s.dropout) : 1;
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        float *dV = wide(s, s.dV, t), *dX = wide(s, s.dX, t), *H = H_of(s, t);
        unnormalise(wide(s, s.V, t), s.norm2, w + n.gain2, n.width, live_rows(s, t), dV);
        for (size_t c = 0; c < n.width; ++c) g[n.out_bias + c] += sum_of(dV + c * kTile);
        by_rows_of(dV, n.width, rows);
        product<true, true>(n.hidden, n.width, kTile, H, kTile, rows, n.width, g + n.out, n.width);
        product<false, true>(n.hidden, kTile, n.width, w + n.out, n.width, dV, kTile, dH, kTile);
        for (size_t i = 0; i < n.hidden * kTile; ++i) dH[i] = H[i] > 0 ? dH[i] * scale : 0;
        for (size_t c = 0; c < n.hidden; ++c) g[n.into_bias + c] += sum_of(dH + c * kTile);
        normalise(wide(s, s.U, t), s.norm1, w + n.gain1, w + n.shift1, n.width, X);
        by_rows_of(X, n.width, rows);
        product<true, true>(n.hidden, n.width, kTile, dH, kTile, rows, n.width, g + n.into,
                            n.width);
        product<false, false>(n.width, kTile, n.hidden, w + n.into, n.width, dH, kTile, dX, kTile);
        slopes_of(wide(s, s.U, t), dX, s.norm1, n.width, s.means1 + t * n.width,
                  s.spreads1 + t * n.width);
    }
}

// Gradients of the matrix that all columns share, [33][8], summed over columns and rows in lanes.
void shared_matrix(const float* F, const float* dE, size_t columns, float* g) {
    for (size_t k = 0; k < kPeriodic; ++k) {
        P sums[kValues];
        for (size_t i = 0; i < kValues; ++i) sums[i] = P::all(0);
        for (size_t j = 0; j < columns; ++j) {
            const float *f = F + (j * kPeriodic + k) * kTile, *e = dE + j * kValues * kTile;
            for (size_t l = 0; l < kTile; l += P::width) {
                const P feature = P::load(f + l);
                for (size_t i = 0; i < kValues; ++i)
                    sums[i] = P::times_plus(feature, P::load(e + i * kTile + l), sums[i]);
            }
        }
        for (size_t i = 0; i < kValues; ++i) {
            float lanes[P::width], total = 0;
            sums[i].store(lanes);
            for (size_t l = 0; l < P::width; ++l) total += lanes[l];
            g[k * kValues + i] += total;
        }
    }
}

void decode(Step& s, size_t group, size_t worker) {
    const NeighbourhoodNet& n = s.net;
    const float* w = s.parameters;
    const size_t own = kValues * n.columns;
    float *g = gradients_of(s, group), *dE = s.scratch + worker * s.scratch_size;
    float *rows = dE + own * kTile, *dF = rows + n.width * kTile;
    for (size_t t = first_tile(s, group); t < first_tile(s, group + 1); ++t) {
        float *F = F_of(s, t), *E = E_of(s, t), *dU = wide(s, n.hidden ? s.dX : s.dV, t);
        if (n.hidden)
            unnormalise(wide(s, s.U, t), s.norm1, w + n.gain1, n.width, live_rows(s, t), dU);
        for (size_t c = 0; c < n.width; ++c) g[n.linear_bias + c] += sum_of(dU + c * kTile);
        by_rows_of(dU, n.width, rows);
        product<true, true>(n.encoded, n.width, kTile, E, kTile, rows, n.width, g + n.linear,
                            n.width);
        product<false, true>(own, kTile, n.width, w + n.linear, n.width, dU, kTile, dE, kTile);
        for (size_t i = 0; i < own * kTile; ++i) dE[i] = E[i] > 0 ? dE[i] : 0;
        for (size_t i = 0; i < own; ++i)
            g[n.periodic_bias + i % kValues] += sum_of(dE + i * kTile);
        shared_matrix(F, dE, n.columns, g + n.periodic);
        for (size_t j = 0; j < n.columns; ++j) {
            const float *f = F + j * kPeriodic * kTile, *x = f + (kPeriodic - 1) * kTile;
            product<false, true>(2 * kFrequencies, kTile, kValues, w + n.periodic, kValues,
                                 dE + j * kValues * kTile, kTile, dF, kTile);
            for (size_t k = 0; k < kFrequencies; ++k) {
                const float *cosine = f + k * kTile, *sine = cosine + kFrequencies * kTile;
                const float *to_cosine = dF + k * kTile;
                const float *to_sine = to_cosine + kFrequencies * kTile;
                float slopes[kTile];
                for (size_t r = 0; r < kTile; ++r)
                    slopes[r] = to_sine[r] * cosine[r] - to_cosine[r] * sine[r];
                g[n.frequencies + j * kFrequencies + k] += two_pi * dot(slopes, x);
            }
        }
    }
}

// Adam (Kingma & Ba 2015, algorithm 1) on a part of the parameters.
void update(Step& s, size_t part, size_t) {
    const size_t size = s.net.size, end = (part + 1) * size / kGroups;
    const float a = s.correction1 * s.rate, b = s.correction2;
    for (size_t start = part * size / kGroups; start < end; start += kTile) {
        const size_t count = end - start < kTile ? end - start : kTile;
        float* g = s.gradients + start;
        for (size_t group = 1; group < s.groups; ++group) {
            const float* more = g + group * size;
            for (size_t i = 0; i < count; ++i) g[i] += more[i];
        }
        float *w = s.parameters + start, *first = s.first + start, *second = s.second + start;
        for (size_t i = 0; i < count; ++i) {
            first[i] += 0.1f * (g[i] - first[i]);
            second[i] += 0.001f * (g[i] * g[i] - second[i]);
            w[i] -= a * first[i] / (sqrtf(second[i] * b) + 1e-8f);
        }
    }
}

// --- without training ---------------------------------------------------------------------------

void embed(Step& s, size_t n, float* out) {
    const NeighbourhoodNet& net = s.net;
    const float *w = s.parameters, *numbers = s.numbers, *extra = s.extra;
    const size_t width = net.width;
    float *X = s.scratch, *rows = X + width * kTile;
    for (size_t c = 0; c < width && net.hidden; ++c) {
        s.norm1[c] = s.running[c];
        s.norm2[c] = s.running[2 * width + c];
        s.norm1[width + c] =
            static_cast<float>(1 / sqrt(double(s.running[width + c]) + batch_norm_floor));
        s.norm2[width + c] =
            static_cast<float>(1 / sqrt(double(s.running[3 * width + c]) + batch_norm_floor));
    }
    for (size_t start = 0; start < n; start += kTile) {
        s.live = n - start < kTile ? n - start : kTile;
        s.numbers = numbers + start * net.columns;
        s.extra = extra + start * net.extra;
        encode_tile(s, 0);
        float* Z = s.U;
        if (net.hidden) {
            hide_tile(s, 0, s.norm1, X);
            Z = s.V;
            normalise(Z, s.norm2, w + net.gain2, w + net.shift2, width, Z);
        }
        by_rows_of(Z, width, rows);
        memcpy(out + start * width, rows, s.live * width * sizeof(float));
    }
}

void smooth(const float* Zq, size_t n, const float* Zc, size_t m, size_t width, const float* Y,
            size_t outputs, const float* w, const float* taus, size_t count, float* values,
            float* scratch) {
    float *D = scratch, *X = D + kBlock * kTile, *Z = X + kBlock * kTile;
    float *norms = Z + width * kTile, *least = norms + kTile, *before = least + kTile;
    float *lengths = before + kTile, *totals = lengths + kBlock, *sums = totals + count * kTile;
    for (size_t start = 0; start < n; start += kTile) {
        const size_t live = n - start < kTile ? n - start : kTile;
        for (size_t r = 0; r < kTile; ++r) norms[r] = 0, least[r] = far_away;
        for (size_t c = 0; c < width; ++c)
            for (size_t r = 0; r < kTile; ++r) {
                const float z = Zq[(start + (r < live ? r : 0)) * width + c];
                Z[c * kTile + r] = z;
                norms[r] += z * z;
            }
        memset(totals, 0, count * (outputs + 1) * kTile * sizeof(float));
        for (size_t from = 0; from < m; from += kBlock) {
            const size_t block = m - from < kBlock ? m - from : kBlock;
            const float* C = Zc + from * width;
            product<false, true>(block, kTile, width, C, width, Z, kTile, D, kTile);
            for (size_t c = 0; c < block; ++c) {
                float square = 0;
                for (size_t o = 0; o < width; ++o) square += C[c * width + o] * C[c * width + o];
                lengths[c] = square;
            }
            for (size_t r = 0; r < kTile; ++r) before[r] = least[r];
            for (size_t c = 0; c < block; ++c)
                for (size_t r = 0; r < kTile; ++r) {
                    float d = norms[r] + lengths[c] - 2 * D[c * kTile + r];
                    d = sqrtf(d > 0 ? d : 0);
                    D[c * kTile + r] = d;
                    least[r] = d < least[r] ? d : least[r];
                }
            for (size_t t = 0; t < count; ++t) {
                const float tau = taus[t];
                float *total = totals + t * kTile, *sum = sums + t * outputs * kTile;
                float shrink[kTile];
                for (size_t r = 0; r < kTile; ++r) {
                    shrink[r] = exp_one(tau * (least[r] - before[r]));
                    total[r] *= shrink[r];
                }
                if (from > 0)
                    for (size_t o = 0; o < outputs; ++o)
                        for (size_t r = 0; r < kTile; ++r) sum[o * kTile + r] *= shrink[r];
                for (size_t c = 0; c < block; ++c) {
                    const float vote = w[from + c];
                    for (size_t r = 0; r < kTile; ++r) {
                        const float e = exp_one(tau * (least[r] - D[c * kTile + r])) * vote;
                        X[c * kTile + r] = e;
                        total[r] += e;
                    }
                }
                product<true, false>(outputs, kTile, block, Y + from * outputs, outputs, X, kTile,
                                     sum, kTile);
            }
        }
        for (size_t t = 0; t < count; ++t)
            for (size_t r = 0; r < live; ++r)
                for (size_t o = 0; o < outputs; ++o)
                    values[(t * n + start + r) * outputs + o] =
                        sums[(t * outputs + o) * kTile + r] / totals[t * kTile + r];
    }
}

}  // namespace

extern const NeighbourhoodLoops neighbourhoods;
constinit const NeighbourhoodLoops neighbourhoods = {
    encode, hide, place, compare, gather, unhide, decode, update,
    norms1, norms2, slopes1, slopes2, embed, smooth};

}  // namespace MERCER_ISA
}  // namespace mercer
