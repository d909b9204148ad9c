// Strips of the recursions for all subsequences and for gap-weighted ones (see subsequences.hpp).
//
// All subsequences: P(i, j) = P(i, j - 1) + w [s_i = t_j] K(i - 1, j - 1) and
// K(i, j) = K(i - 1, j) + P(i, j): sums of positive numbers, so that no digits cancel.
//
// Scaled: one exponent for a strip. Its cells are within 31 rows and columns of each other, and
// K(i + 1, j) <= (1 + j) K(i, j), K(i, j + 1) <= (1 + i) K(i, j). So every value is within a factor
// (1 + N)^16 of a value in the middle, where N is the longer length, and grows by at most (1 +
// N)^16 between two checks of this value. When it is above 2^128, it is scaled back to 1: values up
// to 2^128 (1 + N)^32 and down to (1 + N)^-16 stay in range for N below 2^27. Values of P that
// underflow are far smaller than K in their row, and are added only to this K. (One exponent for a
// whole row is not enough: for a^p b^q a^p against a^p the smallest values of a row determine the
// result.)
#include "exp.hpp"
#include "lanes.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

using Vector = Lanes::Vector;
using Match = Lanes::Match;

constexpr size_t strip_vectors = 4;
constexpr size_t block = 16;         // steps between two checks of the exponent
constexpr double high = 0x1p128;     // a strip with larger values is scaled again
constexpr size_t chunk = 64;         // steps by which one layer is ahead of the next

// 2^k; 0 if k is below the range.
inline double power_of_two(int64_t k) {
    k = k > 1023 ? 1023 : k;
    const double value = bits_as<double>((uint64_t)(k + 1023) << 52);
    return k < -1022 ? 0.0 : value;
}

// The codes of `count` rows, the last one first, and of rows that match nothing before them.
template <class Code, size_t H>
struct RowCodes {
    Code codes[most_strip_rows];
    RowCodes(const Code* s, size_t count) {
        for (size_t l = 0; l < most_strip_rows; ++l) codes[l] = row_pad<Code>;
        for (size_t r = 0; r < count; ++r) codes[H - 1 - r] = s[r];
    }
};

// V vectors move one row down: each lane gets the next lane, the first row the row of the strip
// above.
template <size_t V>
inline void move_down(const Vector* values, double above, Vector* moved) {
    for (size_t v = 0; v + 1 < V; ++v) moved[v] = Lanes::shifted(values[v], values[v + 1]);
    moved[V - 1] = Lanes::shifted(values[V - 1], Lanes::all(above));
}

template <class Code, size_t V, bool scaled>
void strip_of(const Code* s, size_t count, const Code* t, size_t m, double weight, double* K,
              int32_t* E) {
    constexpr size_t H = V * Lanes::width;
    const RowCodes<Code, H> codes(s, count);
    const Rows<Code, V> rows(codes.codes);
    const Code* columns = t - (H - 1);  // lane l is at column c - (H - 1) + l
    double* last_row = K + 1 - (ptrdiff_t)(H - 1);
    const Vector w = Lanes::all(weight);
    // above = K(i - 1, j), before = K(i - 1, j - 1); both are 1 if a prefix is empty
    Vector above[V], before[V], P[V], ones[V];
    for (size_t v = 0; v < V; ++v) {
        ones[v] = before[v] = Lanes::all(1);
        P[v] = Lanes::all(0);
    }
    move_down<V>(ones, scaled ? K[1] * power_of_two(E[1]) : K[1], above);
    int32_t exponent = 0;
    double inputs[block];
    const size_t steps = m + H - 1;
    for (size_t c = 0; c < steps;) {
        const size_t start = c, end = !scaled || steps - c < block ? steps : c + block;
        const double* input = K + 2 + c;
        if (scaled) {
            for (size_t k = 0; k < block; ++k)
                inputs[k] = input[k] * power_of_two((int64_t)E[c + 2 + k] - exponent);
            input = inputs;
        }
        for (; c < end; ++c) {
            Match match[V];
            rows.matches(columns + c, match);
            Vector values[V];
            for (size_t v = 0; v < V; ++v) {
                P[v] = Lanes::where_plus(match[v], before[v], w, P[v]);
                values[v] = Lanes::plus(above[v], P[v]);
                before[v] = above[v];
            }
            last_row[c] = Lanes::first(values[0]);
            move_down<V>(values, input[c - start], above);
        }
        if (scaled) {
            for (size_t k = 0; k < block; ++k)
                E[(ptrdiff_t)(start + k + 1) - (ptrdiff_t)(H - 1)] = exponent;
            const double middle = Lanes::first(before[V / 2]);
            if (middle > high) {
                const int64_t shift = (bits_as<int64_t>(middle) >> 52) - 1023;
                const Vector factor = Lanes::all(power_of_two(-shift));
                for (size_t v = 0; v < V; ++v) {
                    above[v] = Lanes::times(above[v], factor);
                    before[v] = Lanes::times(before[v], factor);
                    P[v] = Lanes::times(P[v], factor);
                }
                exponent += (int32_t)shift;
            }
        }
    }
}

// Fewer vectors if fewer rows are left.
template <class Code, bool scaled, class... Arguments>
void strip_sized(const Code* s, size_t count, Arguments... arguments) {
    switch ((count + Lanes::width - 1) / Lanes::width) {
        case 1: return strip_of<Code, 1, scaled>(s, count, arguments...);
        case 2: return strip_of<Code, 2, scaled>(s, count, arguments...);
        case 3: return strip_of<Code, 3, scaled>(s, count, arguments...);
        default: return strip_of<Code, 4, scaled>(s, count, arguments...);
    }
}

template <class Code>
void strip(const Code* s, size_t count, const Code* t, size_t m, double weight, double* K) {
    strip_sized<Code, false>(s, count, t, m, weight, K, (int32_t*)nullptr);
}

template <class Code>
void scaled_strip(const Code* s, size_t count, const Code* t, size_t m, double weight, double* K,
                  int32_t* E) {
    strip_sized<Code, true>(s, count, t, m, weight, K, E);
}

// Layer q: the sum K_q(i, j) over subsequences u of q symbols of the prefixes. Each symbol of s or
// t that is skipped after the first symbol of u is a factor g, the gap:
//     P_q(i, j) = g P_q(i, j - 1) + [s_i = t_j] K_{q-1}(i - 1, j - 1),
//     K_q(i, j) = g K_q(i - 1, j) + P_q(i, j), K_0 = 1
// (Lodhi et al. 2002, without the decay of the q matched symbols of both strings). The layers take
// turns in chunks of steps, so that the values for the next layer stay in the L1 cache.
template <class Code, size_t V>
double gap_strip_of(const Code* s, size_t count, const Code* t, size_t m, const GapTerms& terms,
                    double* K, size_t stride, double* state) {
    constexpr size_t W = Lanes::width, H = V * W;
    const RowCodes<Code, H> codes(s, count);
    const Rows<Code, V> rows(codes.codes);
    const Code* columns = t - (H - 1);
    const size_t steps = m + H - 1, layers = terms.p - 1;
    const Vector gap = Lanes::all(terms.gap);
    double below[chunk * H];  // K_{q-1}(i - 1, j - 1), step by step
    Vector sums[V];
    for (size_t v = 0; v < V; ++v) sums[v] = Lanes::all(0);
    for (size_t q = 0; q < layers; ++q) {
        double* held = state + 3 * H * q;
        for (size_t k = 0; k < 3 * H; ++k) held[k] = 0;
        held[H - 1] = K[q * stride + 1];  // above, the first row
    }
    for (size_t c0 = 0; c0 < steps; c0 += chunk) {
        const size_t length = steps - c0 < chunk ? steps - c0 : chunk;
        for (size_t k = 0; k < length * H; ++k) below[k] = 1;
        for (size_t q = 0; q < terms.p; ++q) {
            Match match[V];
            if (terms.weights[q] != 0) {
                const Vector weight = Lanes::all(terms.weights[q]);
                for (size_t k = 0; k < length; ++k) {
                    rows.matches(columns + c0 + k, match);
                    for (size_t v = 0; v < V; ++v)
                        sums[v] = Lanes::where_plus(match[v], Lanes::load(below + k * H + v * W),
                                                    weight, sums[v]);
                }
            }
            if (q == layers) break;
            double* held = state + 3 * H * q;
            const double* input = K + q * stride + c0 + 2;
            double* last_row = K + q * stride + c0 + 1 - (ptrdiff_t)(H - 1);
            Vector above[V], before[V], P[V], values[V];
            for (size_t v = 0; v < V; ++v) {
                above[v] = Lanes::load(held + v * W);
                before[v] = Lanes::load(held + H + v * W);
                P[v] = Lanes::load(held + 2 * H + v * W);
            }
            for (size_t k = 0; k < length; ++k) {
                rows.matches(columns + c0 + k, match);
                for (size_t v = 0; v < V; ++v) {
                    double* place = below + k * H + v * W;
                    P[v] = Lanes::times_plus(P[v], gap, Lanes::where(match[v], Lanes::load(place)));
                    values[v] = Lanes::times_plus(above[v], gap, P[v]);
                    Lanes::store(place, before[v]);
                    before[v] = above[v];
                }
                last_row[k] = Lanes::first(values[0]);
                move_down<V>(values, input[k], above);
            }
            for (size_t v = 0; v < V; ++v) {
                Lanes::store(held + v * W, above[v]);
                Lanes::store(held + H + v * W, before[v]);
                Lanes::store(held + 2 * H + v * W, P[v]);
            }
        }
    }
    double lanes[H], total = 0;
    for (size_t v = 0; v < V; ++v) Lanes::store(lanes + v * W, sums[v]);
    for (size_t l = 0; l < H; ++l) total += lanes[l];
    return total;
}

template <class Code>
double gap_strip(const Code* s, size_t count, const Code* t, size_t m, const GapTerms& terms,
                 double* K, size_t stride, double* state) {
    switch ((count + Lanes::width - 1) / Lanes::width) {
        case 1: return gap_strip_of<Code, 1>(s, count, t, m, terms, K, stride, state);
        case 2: return gap_strip_of<Code, 2>(s, count, t, m, terms, K, stride, state);
        case 3: return gap_strip_of<Code, 3>(s, count, t, m, terms, K, stride, state);
        default: return gap_strip_of<Code, 4>(s, count, t, m, terms, K, stride, state);
    }
}

constexpr size_t strip_rows = strip_vectors * Lanes::width;
static_assert(strip_rows <= most_strip_rows && 2 * most_strip_rows <= string_margin);

}  // namespace

extern const SubsequenceLoops<uint8_t> subsequences8;
extern const SubsequenceLoops<int32_t> subsequences32;
constinit const SubsequenceLoops<uint8_t> subsequences8 = {
    strip_rows, strip<uint8_t>, scaled_strip<uint8_t>, gap_strip<uint8_t>};
constinit const SubsequenceLoops<int32_t> subsequences32 = {
    strip_rows, strip<int32_t>, scaled_strip<int32_t>, gap_strip<int32_t>};

}  // namespace MERCER_ISA
}  // namespace mercer
