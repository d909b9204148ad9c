// Shared items of every pair of a tile of sets (see sets.hpp). Bits are counted in lanes that run over
// the columns of the tile, so that compilers vectorise plain loops for every instruction set. For
// each item that a row lists, the columns that have it are counted one by one.
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

// total[j] <- the number of bits that a (words) and column j of B (words, m) share.
void count_bits(const uint64_t* a, const uint64_t* B, size_t m, size_t width, size_t words,
                uint32_t* total) {
    uint64_t bytes[strip];
    for (size_t s = 0; s < width; s += strip) {
        const size_t wide = width - s < strip ? width - s : strip;
        uint32_t* counts = total + s;
        for (size_t j = 0; j < wide; ++j) counts[j] = 0;
        for (size_t k0 = 0; k0 < words; k0 += run) {
            const size_t end = words - k0 < run ? words : k0 + run;
            for (size_t j = 0; j < wide; ++j) bytes[j] = 0;
            size_t k = k0;
            for (; k + 3 <= end; k += 3) {  // three counts of up to 4 fit 4 bits
                const uint64_t a0 = a[k], a1 = a[k + 1], a2 = a[k + 2];
                const uint64_t *b0 = B + k * m + s, *b1 = b0 + m, *b2 = b1 + m;
                for (size_t j = 0; j < wide; ++j)
                    bytes[j] += bytes_of_nibbles(bits_of_nibbles(bits_of_pairs(a0 & b0[j])) +
                                                 bits_of_nibbles(bits_of_pairs(a1 & b1[j])) +
                                                 bits_of_nibbles(bits_of_pairs(a2 & b2[j])));
            }
            for (; k < end; ++k) {
                const uint64_t a0 = a[k];
                const uint64_t* b0 = B + k * m + s;
                for (size_t j = 0; j < wide; ++j)
                    bytes[j] += bytes_of_nibbles(bits_of_nibbles(bits_of_pairs(a0 & b0[j])));
            }
            for (size_t j = 0; j < wide; ++j) {
                uint64_t sum =
                    (bytes[j] & 0x00ff00ff00ff00ffu) + ((bytes[j] >> 8) & 0x00ff00ff00ff00ffu);
                sum += sum >> 32;
                sum += sum >> 16;
                counts[j] += static_cast<uint32_t>(sum & 0xffff);
            }
        }
    }
}

// Lists the columns of a tile from their items: those of item e are columns[first] and so on.
void index_items(const int64_t* starts, const int32_t* items, size_t width, Holders* holders,
                 int32_t* columns) {
    const int64_t begin = starts[0], end = starts[width];
    for (int64_t p = begin; p < end; ++p) ++holders[items[p]].count;
    int32_t next = 0;
    for (int64_t p = begin; p < end; ++p) {
        Holders& h = holders[items[p]];
        if (h.count > 0) {  // a first visit: from now on -count, until its columns are listed
            h.first = next;
            next += h.count;
            h.count = -h.count;
        }
    }
    for (size_t j = 0; j < width; ++j)
        for (int64_t p = starts[j]; p < starts[j + 1]; ++p) {
            Holders& h = holders[items[p]];
            columns[h.first++] = static_cast<int32_t>(j);
        }
    for (int64_t p = begin; p < end; ++p) {
        Holders& h = holders[items[p]];
        if (h.count < 0) {
            h.count = -h.count;
            h.first -= h.count;
        }
    }
}

template <class T>
inline T tversky_of(T shared, T x, T z, T share, bool apart) {
    const T apart_by = x + z - 2 * shared;  // below 0 where large products are rounded
    const T differ = share * (apart_by > 0 ? apart_by : T(0)), whole = shared + differ;
    return whole > 0 ? (apart ? differ : shared) / whole : (apart ? T(0) : T(1));
}

template <class T>
void compare(Packed A, Packed B, size_t n, size_t m, size_t words, const T* xx, const T* zz, T share,
             Shared what, Holders* holders, int32_t* columns, T* out) {
    uint32_t total[set_tile];
    for (size_t t = 0; t < m; t += set_tile) {
        const size_t width = m - t < set_tile ? m - t : set_tile;
        const int64_t* starts = B.starts + t;
        const bool listed = starts[width] > starts[0];
        if (listed) index_items(starts, B.items, width, holders, columns);
        for (size_t i = 0; i < n; ++i) {
            count_bits(A.bits + i * words, B.bits + t, m, width, words, total);
            for (int64_t p = A.starts[i]; listed && p < A.starts[i + 1]; ++p) {
                const Holders h = holders[A.items[p]];
                const int32_t* who = columns + h.first;
                for (int32_t q = 0; q < h.count; ++q) ++total[who[q]];
            }
            T* row = out + i * m + t;
            const T x = xx[i], *z = zz + t;
            if (what == Shared::count)
                for (size_t j = 0; j < width; ++j) row[j] = static_cast<T>(total[j]);
            else if (what == Shared::index)
                for (size_t j = 0; j < width; ++j)
                    row[j] = tversky_of(static_cast<T>(total[j]), x, z[j], share, false);
            else
                for (size_t j = 0; j < width; ++j)
                    row[j] = tversky_of(static_cast<T>(total[j]), x, z[j], share, true);
        }
        for (int64_t p = starts[0]; listed && p < starts[width]; ++p) holders[B.items[p]].count = 0;
    }
}

inline uint64_t bits_of(uint64_t v) {
    return (bytes_of_nibbles(bits_of_nibbles(bits_of_pairs(v))) * 0x0101010101010101u) >> 56;
}

template <class T>
void of_pairs(Packed A, Packed B, const int64_t* pairs, size_t count, size_t words, const T* xx,
              const T* zz, T share, Shared what, uint64_t* marked, T* out) {
    const auto turn = [&](int64_t i) {  // marks the items that row i lists, or clears their marks
        for (int64_t p = A.starts[i]; p < A.starts[i + 1]; ++p)
            marked[A.items[p] / 64] ^= uint64_t(1) << A.items[p] % 64;
    };
    for (size_t k = 0; k < count; ++k) {
        const int64_t i = pairs[2 * k], j = pairs[2 * k + 1];
        if (k == 0 || i != pairs[2 * k - 2]) {
            if (k > 0) turn(pairs[2 * k - 2]);
            turn(i);
        }
        const uint64_t *a = A.bits + size_t(i) * words, *b = B.bits + size_t(j) * words;
        uint64_t total = 0;
        for (size_t w = 0; w < words; ++w) total += bits_of(a[w] & b[w]);
        for (int64_t p = B.starts[j]; p < B.starts[j + 1]; ++p)
            total += marked[B.items[p] / 64] >> B.items[p] % 64 & 1;
        out[k] = static_cast<T>(total);
        if (what != Shared::count)
            out[k] = tversky_of(out[k], xx[i], zz[j], share, what == Shared::apart);
    }
    if (count > 0) turn(pairs[2 * count - 2]);
}

template <class T>
void tversky(T* G, const T* xx, const T* zz, size_t n, size_t m, T share, bool apart) {
    for (size_t i = 0; i < n; ++i) {
        T* row = G + i * m;
        for (size_t j = 0; j < m; ++j) row[j] = tversky_of(row[j], xx[i], zz[j], share, apart);
    }
}

}  // namespace

extern const SetLoops<float> sets32;
extern const SetLoops<double> sets64;
constinit const SetLoops<float> sets32 = {compare<float>, of_pairs<float>, tversky<float>};
constinit const SetLoops<double> sets64 = {compare<double>, of_pairs<double>, tversky<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
