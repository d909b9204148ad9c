// Convolutions of time series and what is counted of them (see convolutions.hpp).
//
// Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time series
// classification", 2021 (the 84 kernels); Tan, Dempster, Bergmeir & Webb, "MultiRocket", 2022 (four
// numbers); Dempster, Schmidt & Webb, "Hydra: competing convolutional kernels for fast and accurate
// time series classification", 2023. Sums have a fixed order, and this file is compiled without
// contraction, so that comparisons come out alike on all machines.
#include <type_traits>

#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

// places side by side; loops over 16 or less are unrolled by gcc, and not vectorised
constexpr size_t width = padded_places;
constexpr size_t few = 64;      // places of short responses
constexpr size_t block = 4096;  // places whose sums are kept in the precision of the series

// The three taps with the weight 2 of each kernel, in the order of the alphabet.
struct Chosen {
    uint8_t taps[fixed_kernels][3];
};
constexpr Chosen choose_taps() {
    Chosen found{};
    size_t k = 0;
    for (uint8_t a = 0; a < taps; ++a)
        for (uint8_t b = a + 1; b < taps; ++b)
            for (uint8_t c = b + 1; c < taps; ++c, ++k) {
                found.taps[k][0] = a;
                found.taps[k][1] = b;
                found.taps[k][2] = c;
            }
    return found;
}
constexpr Chosen chosen = choose_taps();

// Weights -1 and 2: three times the sum of the chosen taps, minus the sum of all.
template <class T>
void respond(const PaddedSeries<T>& s, size_t kernel, size_t dilation, const T* sums,
             const int64_t* channels, size_t count, T* __restrict out) {
    const uint8_t* at = chosen.taps[kernel];
    const size_t n = s.length, d = dilation;
    for (size_t q = 0; q < count; ++q) {
        const size_t channel = static_cast<size_t>(channels[q]);
        const T *x = s.points + channel * s.stride + s.before - 4 * d, *all = sums + channel * n;
        const T *a = x + at[0] * d, *b = x + at[1] * d, *c = x + at[2] * d;
        if (q == 0)
            for (size_t t = 0; t < n; ++t) out[t] = T(3) * (a[t] + b[t] + c[t]) - all[t];
        else
            for (size_t t = 0; t < n; ++t) out[t] += T(3) * (a[t] + b[t] + c[t]) - all[t];
    }
}

template <class T>
void add_taps(const PaddedSeries<T>& s, size_t channels, size_t dilation, T* __restrict sums) {
    const size_t n = s.length, d = dilation;
    for (size_t c = 0; c < channels; ++c) {
        const T* x = s.points + c * s.stride + s.before - 4 * d;
        for (size_t t = 0; t < n; ++t) sums[c * n + t] = x[t] + x[t + d] + x[t + 2 * d];
        for (size_t t = 0; t < n; ++t)
            sums[c * n + t] += x[t + 3 * d] + x[t + 4 * d] + x[t + 5 * d];
        for (size_t t = 0; t < n; ++t)
            sums[c * n + t] += x[t + 6 * d] + x[t + 7 * d] + x[t + 8 * d];
    }
}

template <class T>
T share_above(const T* z, size_t n, T bias) {
    size_t total = 0;
    for (size_t begin = 0; begin < n; begin += block) {
        const size_t size = n - begin < block ? n - begin : block;
        const T* x = z + begin;
        int32_t found = 0;
        for (size_t t = 0; t < size; ++t) found += x[t] > bias;
        total += static_cast<size_t>(found);
    }
    return static_cast<T>(total) / static_cast<T>(n);
}

// The mean of z - b and the mean place where z > b.
template <class T>
void describe_above(const T* z, size_t n, T bias, size_t step, T* out) {
    double sum = 0, place = 0, count = 0;
    for (size_t begin = 0; begin < n; begin += block) {
        const size_t size = n - begin < block ? n - begin : block;
        const T* x = z + begin;
        T sums[width] = {}, places[width] = {}, counts[width] = {}, numbers[width], above[width];
        for (size_t l = 0; l < width; ++l) numbers[l] = static_cast<T>(l);
        size_t t = 0;
        for (; t + width <= size; t += width) {
            // loops that share no condition: gcc makes branches of one that several values depend on
            for (size_t l = 0; l < width; ++l) above[l] = x[t + l] > bias ? T(1) : T(0);
            for (size_t l = 0; l < width; ++l) {
                const T excess = x[t + l] - bias;
                sums[l] += excess > 0 ? excess : T(0);
            }
            for (size_t l = 0; l < width; ++l) {
                places[l] += above[l] * numbers[l];
                counts[l] += above[l];
                numbers[l] += T(width);
            }
        }
        for (size_t l = 0; t + l < size; ++l) above[l] = x[t + l] > bias ? T(1) : T(0);
        for (size_t l = 0; t + l < size; ++l) {
            const T excess = x[t + l] - bias;
            sums[l] += excess > 0 ? excess : T(0);
            places[l] += above[l] * numbers[l];
            counts[l] += above[l];
        }
        double found = 0;
        for (size_t l = 0; l < width; ++l) {
            sum += static_cast<double>(sums[l]);
            place += static_cast<double>(places[l]);
            found += static_cast<double>(counts[l]);
        }
        place += found * static_cast<double>(begin);
        count += found;
    }
    const double length = static_cast<double>(n), least = count > 0 ? count : 1;
    out[0] = static_cast<T>(sum / least);
    out[step] = static_cast<T>(place / least / length);
}

template <class T>
using Count = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// All numbers of at most `width` biases side by side: of short responses, sums over side by side
// places would take longer than the places.
template <class T>
void pool_short(const T* __restrict z, size_t n, const T* biases, size_t count, size_t pools,
                size_t step, T* __restrict out) {
    T limits[width], sums[width] = {}, places[width] = {};
    Count<T> counts[width] = {};
    for (size_t l = 0; l < width; ++l) limits[l] = biases[l < count ? l : 0];
    for (size_t t = 0; t < n; ++t) {
        const T x = z[t];
#pragma GCC unroll 1  // what is unrolled is not vectorised
        for (size_t l = 0; l < width; ++l) counts[l] += x > limits[l] ? 1 : 0;
    }
    const double length = static_cast<double>(n);
    for (size_t l = 0; l < count; ++l)
        out[l] = static_cast<T>(counts[l]) / static_cast<T>(n);
    if (pools == 1) return;
    for (size_t t = 0; t < n; ++t) {
        const T x = z[t];
        const T number = static_cast<T>(t);
#pragma GCC unroll 1
        for (size_t l = 0; l < width; ++l) {
            const T excess = x - limits[l];
            sums[l] += excess > 0 ? excess : T(0);
        }
#pragma GCC unroll 1
        for (size_t l = 0; l < width; ++l) places[l] += x > limits[l] ? number : T(0);
    }
    for (size_t l = 0; l < count; ++l) {
        const double least = counts[l] > 0 ? static_cast<double>(counts[l]) : 1;
        out[step + l] = static_cast<T>(static_cast<double>(sums[l]) / least);
        out[2 * step + l] = static_cast<T>(static_cast<double>(places[l]) / least / length);
    }
}

// The longest runs where z > b, of at most `width` biases side by side: each is a chain of steps.
template <class T>
void longest_runs(const T* __restrict z, size_t n, const T* biases, size_t count,
                  T* __restrict out) {
    T limits[width];
    Count<T> runs[width] = {}, longest[width] = {};
    for (size_t l = 0; l < width; ++l) limits[l] = biases[l < count ? l : 0];
    for (size_t t = 0; t < n; ++t) {
        const T x = z[t];
        for (size_t l = 0; l < width; ++l) {
            runs[l] = x > limits[l] ? runs[l] + 1 : 0;
            longest[l] = runs[l] > longest[l] ? runs[l] : longest[l];
        }
    }
    for (size_t l = 0; l < count; ++l)
        out[l] = static_cast<T>(static_cast<double>(longest[l]) / static_cast<double>(n));
}

template <class T>
void pool(const T* responses, size_t length, const T* biases, size_t count, size_t pools,
          size_t step, T* out) {
    size_t done = 0;  // biases; a few that are left over would take as long as `width` of them
    if (length <= few)
        for (; done + width / 2 < count; done += width)
            pool_short(responses, length, biases + done,
                       count - done < width ? count - done : width, pools, step, out + done);
    for (size_t i = done; i < count; ++i) {
        out[i] = share_above(responses, length, biases[i]);
        if (pools > 1) describe_above(responses, length, biases[i], step, out + step + i);
    }
    for (size_t i = 0; pools > 1 && i < count; i += width)
        longest_runs(responses, length, biases + i, count - i < width ? count - i : width,
                     out + 3 * step + i);
}

template <class T>
void compete(const PaddedSeries<T>& s, const T* __restrict weights, size_t dilation,
             T* __restrict out) {
    const T* x = s.points + s.before - 4 * dilation;
    T sums[kernel_group][width] = {}, counts[kernel_group][width] = {};
    for (size_t start = 0; start < s.length; start += width) {
        T most[width], least[width], highest[width], lowest[width];  // and whose they are
        for (size_t k = 0; k < kernel_group; ++k) {
            T z[width];
            for (size_t l = 0; l < width; ++l) z[l] = weights[k * taps] * x[start + l];
            for (size_t j = 1; j < taps; ++j) {
                const T w = weights[k * taps + j];
                const T* shifted = x + start + j * dilation;
                for (size_t l = 0; l < width; ++l) z[l] += w * shifted[l];
            }
            const T number = static_cast<T>(k);
            for (size_t l = 0; l < width; ++l) {
                const bool higher = k == 0 || z[l] > most[l], lower = k == 0 || z[l] < least[l];
                most[l] = higher ? z[l] : most[l];
                highest[l] = higher ? number : highest[l];
                least[l] = lower ? z[l] : least[l];
                lowest[l] = lower ? number : lowest[l];
            }
        }
        for (size_t l = s.length - start; l < width; ++l)  // places after the end
            highest[l] = lowest[l] = static_cast<T>(kernel_group);
        for (size_t k = 0; k < kernel_group; ++k) {
            const T number = static_cast<T>(k);
            for (size_t l = 0; l < width; ++l) {
                sums[k][l] += highest[l] == number ? most[l] : T(0);
                counts[k][l] += lowest[l] == number ? T(1) : T(0);
            }
        }
    }
    for (size_t k = 0; k < kernel_group; ++k) {
        double sum = 0, count = 0;
        for (size_t l = 0; l < width; ++l) {
            sum += static_cast<double>(sums[k][l]);
            count += static_cast<double>(counts[k][l]);
        }
        out[k] = static_cast<T>(sum);
        out[kernel_group + k] = static_cast<T>(count);
    }
}

}  // namespace

extern const ConvolutionLoops<float> convolutions32;
constinit const ConvolutionLoops<float> convolutions32 = {add_taps<float>, respond<float>,
                                                          pool<float>, compete<float>};
extern const ConvolutionLoops<double> convolutions64;
constinit const ConvolutionLoops<double> convolutions64 = {add_taps<double>, respond<double>,
                                                           pool<double>, compete<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
