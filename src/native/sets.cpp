// Shared items of every pair of a tile of sets (see sets.hpp). Lanes run over the columns of the
// tile, so that compilers vectorise plain loops for every instruction set.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 128;  // columns whose counts stay in the L1 cache
constexpr size_t run = 30;     // words whose counts of bits, 8 a byte at most, fit a byte: a multiple of 3

// For each byte of v its number of bits (Warren, "Hacker's Delight", 2nd ed., section 5-1).
inline uint64_t bits_of_pairs(uint64_t v) { return v - ((v >> 1) & 0x5555555555555555u); }
inline uint64_t bits_of_nibbles(uint64_t v) {
    return (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
}
inline uint64_t bytes_of_nibbles(uint64_t v) {
    return (v & 0x0f0f0f0f0f0f0f0fu) + ((v >> 4) & 0x0f0f0f0f0f0f0f0fu);
}

template <class T>
void shared_bits(const uint64_t* A, const uint64_t* Bt, T* out, size_t n, size_t m, size_t words) {
    uint64_t bytes[strip];
    uint32_t total[strip];
    for (size_t i = 0; i < n; ++i) {
        const uint64_t* a = A + i * words;
        for (size_t s = 0; s < m; s += strip) {
            const size_t width = m - s < strip ? m - s : strip;
            for (size_t j = 0; j < width; ++j) total[j] = 0;
            for (size_t k0 = 0; k0 < words; k0 += run) {
                const size_t end = words - k0 < run ? words : k0 + run;
                for (size_t j = 0; j < width; ++j) bytes[j] = 0;
                size_t k = k0;
                for (; k + 3 <= end; k += 3) {  // three counts of up to 4 fit 4 bits
                    const uint64_t a0 = a[k], a1 = a[k + 1], a2 = a[k + 2];
                    const uint64_t *b0 = Bt + k * m + s, *b1 = b0 + m, *b2 = b1 + m;
                    for (size_t j = 0; j < width; ++j)
                        bytes[j] += bytes_of_nibbles(bits_of_nibbles(bits_of_pairs(a0 & b0[j])) +
                                                     bits_of_nibbles(bits_of_pairs(a1 & b1[j])) +
                                                     bits_of_nibbles(bits_of_pairs(a2 & b2[j])));
                }
                for (; k < end; ++k) {
                    const uint64_t a0 = a[k];
                    const uint64_t* b0 = Bt + k * m + s;
                    for (size_t j = 0; j < width; ++j)
                        bytes[j] += bytes_of_nibbles(bits_of_nibbles(bits_of_pairs(a0 & b0[j])));
                }
                for (size_t j = 0; j < width; ++j) {
                    uint64_t sum = (bytes[j] & 0x00ff00ff00ff00ffu) +
                                   ((bytes[j] >> 8) & 0x00ff00ff00ff00ffu);
                    sum += sum >> 32;
                    sum += sum >> 16;
                    total[j] += static_cast<uint32_t>(sum & 0xffff);
                }
            }
            T* row = out + i * m + s;
            for (size_t j = 0; j < width; ++j) row[j] = static_cast<T>(total[j]);
        }
    }
}

template <class T>
void tversky(T* G, const T* xx, const T* zz, size_t n, size_t m, T share, bool apart) {
    for (size_t i = 0; i < n; ++i) {
        T* row = G + i * m;
        const T x = xx[i];
        for (size_t j = 0; j < m; ++j) {
            const T differ = share * (x + zz[j] - 2 * row[j]);
            const T whole = row[j] + differ;
            const T part = apart ? differ : row[j];
            const T equal = apart ? T(0) : T(1);
            row[j] = whole > 0 ? part / whole : equal;
        }
    }
}

}  // namespace

extern const SetLoops<float> sets32;
extern const SetLoops<double> sets64;
constinit const SetLoops<float> sets32 = {shared_bits<float>, tversky<float>};
constinit const SetLoops<double> sets64 = {shared_bits<double>, tversky<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
