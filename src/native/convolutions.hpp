// Features of time series from convolutions with fixed and with random kernels; called by
// kernels/convolution.py through bind_convolutions.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

constexpr size_t taps = 9;             // the length of all kernels
constexpr size_t fixed_kernels = 84;   // the ways to choose 3 of 9 taps
constexpr size_t kernel_group = 8;     // random kernels that compete with each other
constexpr size_t padded_places = 32;   // of whose multiple there are places that may be read

// Sums of some channels of one series, each with zeros before and after it: channel c starts at
// points + c * stride, and `length` points follow `before` zeros. There are as many zeros after it,
// and some more up to a multiple of `padded_places`.
template <class T>
struct PaddedSeries {
    const T* points;
    size_t stride, before, length;
};

template <class T>
struct ConvolutionLoops {
    // sums (channels, length) <- the sums over the nine taps.
    void (*add_taps)(const PaddedSeries<T>& series, size_t channels, size_t dilation, T* sums);
    // out (length,) <- the series under one of the 84 kernels, summed over the given channels.
    void (*respond)(const PaddedSeries<T>& series, size_t kernel, size_t dilation, const T* sums,
                    const int64_t* channels, size_t count, T* out);
    // How the responses z exceed each bias b, in four numbers (or the first alone, `pools` = 1):
    // the share of places with z > b, and of these the mean of z - b, the mean place and the
    // longest run, both as a part of the length. out[p * step + i] is number p of bias i.
    void (*pool)(const T* responses, size_t length, const T* biases, size_t count, size_t pools,
                 size_t step, T* out);
    // How often each of 8 kernels responds least, and the sum of its responses where it responds
    // most: out (16,), first the sums. `series` has one channel; weights are (8, 9).
    void (*compete)(const PaddedSeries<T>& series, const T* weights, size_t dilation, T* out);
};

}  // namespace mercer
