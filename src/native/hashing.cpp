// Min-wise hashes of sets (see hashing.hpp). Lanes run over the hash functions.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr uint32_t largest = 0xffffffffu;

// The least values of `width` hash functions, which stay in registers.
template <size_t width>
inline void least_of(const uint32_t* numbers, size_t n, const uint32_t* factors,
                     const uint32_t* shifts, uint32_t* row) {
    uint32_t least[width];
    for (size_t h = 0; h < width; ++h) least[h] = largest;
    for (size_t k = 0; k < n; ++k) {
        const uint32_t x = numbers[k];
        for (size_t h = 0; h < width; ++h) {
            const uint32_t value = factors[h] * x + shifts[h];
            least[h] = value < least[h] ? value : least[h];
        }
    }
    for (size_t h = 0; h < width; ++h) row[h] = least[h];
}

void least_hashes(const uint32_t* numbers, const int64_t* starts, const uint32_t* factors,
                  const uint32_t* shifts, uint32_t* out, size_t n, size_t count) {
    for (size_t i = 0; i < n; ++i) {
        const uint32_t* x = numbers + starts[i];
        const size_t m = static_cast<size_t>(starts[i + 1] - starts[i]);
        uint32_t* row = out + i * count;
        size_t h = 0;
#if defined(__AVX512F__)  // has twice as many registers
        for (; h + 128 <= count; h += 128) least_of<128>(x, m, factors + h, shifts + h, row + h);
        for (; h + 96 <= count; h += 96) least_of<96>(x, m, factors + h, shifts + h, row + h);
#endif
        for (; h + 64 <= count; h += 64) least_of<64>(x, m, factors + h, shifts + h, row + h);
        for (; h + 32 <= count; h += 32) least_of<32>(x, m, factors + h, shifts + h, row + h);
        for (; h + 16 <= count; h += 16) least_of<16>(x, m, factors + h, shifts + h, row + h);
        for (; h < count; ++h) least_of<1>(x, m, factors + h, shifts + h, row + h);
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

// A number below `count` for each try to fill part h.
inline size_t other_part(size_t h, size_t attempt, size_t count) {
    uint64_t x = (uint64_t(h) << 32 | attempt) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return static_cast<size_t>(((x >> 32) * count) >> 32);
}

void least_in_parts(const uint32_t* numbers, const int64_t* starts, uint32_t factor, uint32_t shift,
                    uint32_t* out, uint8_t* filled, size_t n, size_t count) {
    for (size_t i = 0; i < n; ++i) {
        uint32_t* row = out + i * count;
        for (size_t h = 0; h < count; ++h) row[h] = largest;
        for (size_t h = 0; h < count; ++h) filled[h] = 0;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            uint32_t value = factor * numbers[k] + shift;
            const size_t h = static_cast<size_t>((uint64_t(value) * count) >> 32);
            row[h] = value < row[h] ? value : row[h];
            filled[h] = 1;
        }
        if (starts[i] == starts[i + 1]) continue;
        // Shrivastava, "Optimal densification for fast and accurate minwise hashing", ICML 2017
        for (size_t h = 0; h < count; ++h) {
            if (filled[h]) continue;
            size_t from = other_part(h, 0, count);
            for (size_t attempt = 1; !filled[from]; ++attempt)
                from = attempt < 4 * count ? other_part(h, attempt, count)
                                           : (from + 1 < count ? from + 1 : 0);
            row[h] = row[from];
        }
    }
}

}  // namespace

extern const HashLoops hashes;
constinit const HashLoops hashes = {least_hashes, least_ranks, least_in_parts};

}  // namespace MERCER_ISA
}  // namespace mercer
