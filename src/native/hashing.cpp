// Min-wise hashes of sets (see hashing.hpp). Lanes run over the hash functions.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 64;  // hash functions whose least values stay in registers
constexpr uint32_t largest = 0xffffffffu;

void least_hashes(const int32_t* values, const int64_t* starts, const uint32_t* numbers,
                  const uint32_t* factors, const uint32_t* shifts, uint32_t* out, size_t n,
                  size_t count) {
    for (size_t i = 0; i < n; ++i) {
        uint32_t* row = out + i * count;
        size_t s = 0;
        for (; s + strip <= count; s += strip) {
            uint32_t least[strip];
            for (size_t h = 0; h < strip; ++h) least[h] = largest;
            for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
                const uint32_t x = numbers[values[k]];
                for (size_t h = 0; h < strip; ++h) {
                    const uint32_t value = factors[s + h] * x + shifts[s + h];
                    least[h] = value < least[h] ? value : least[h];
                }
            }
            for (size_t h = 0; h < strip; ++h) row[s + h] = least[h];
        }
        for (size_t h = s; h < count; ++h) row[h] = largest;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const uint32_t x = numbers[values[k]];
            for (size_t h = s; h < count; ++h) {
                const uint32_t value = factors[h] * x + shifts[h];
                row[h] = value < row[h] ? value : row[h];
            }
        }
    }
}

void least_ranks(const int32_t* values, const int64_t* starts, const uint32_t* ranks, uint32_t* out,
                 size_t n, size_t count) {
    for (size_t i = 0; i < n; ++i) {
        uint32_t* row = out + i * count;
        for (size_t h = 0; h < count; ++h) row[h] = largest;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const uint32_t* ranked = ranks + size_t(values[k]) * count;
            for (size_t h = 0; h < count; ++h) row[h] = ranked[h] < row[h] ? ranked[h] : row[h];
        }
    }
}

}  // namespace

extern const HashLoops hashes;
constinit const HashLoops hashes = {least_hashes, least_ranks};

}  // namespace MERCER_ISA
}  // namespace mercer
