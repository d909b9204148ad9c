// Loops over pairs of sets, whose frequent items are bits and whose other items are listed; called by
// distances/sets.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// The rows of one side: row i has the bits of words k, bits[i, k], and the items from
// items[starts[i]] on. Columns have their bits the other way round: bits[k, j].
struct Packed {
    const uint64_t* bits;
    const int64_t* starts;
    const int32_t* items;
};

// Where the columns of a tile that have an item begin in a list of them, and how many there are.
struct Holders {
    int32_t first, count;
};

// What is written for each pair of sets A and B.
enum class Shared : int {
    count,  // c = #(A ∩ B)
    index,  // Tversky's index c / (c + share (#A + #B - 2 c)); two empty sets are equal
    apart,  // 1 minus the index
};

constexpr size_t set_tile = 1024;  // columns whose items are looked up together

template <class T>
struct SetLoops {
    // out (n, m) for the rows of A (n, words) and the columns of B (words, m), of the sizes xx and
    // zz. For the items listed in B there are `holders`, all of whose counts are 0 before and
    // after, and `columns`, one for each item listed in a tile.
    void (*compare)(Packed A, Packed B, size_t n, size_t m, size_t words, const T* xx, const T* zz,
                    T share, Shared what, Holders* holders, int32_t* columns, T* out);
    // out (count,) for the listed pairs of rows of A and B, both with their bits by row: (n, words)
    // and (m, words). `marked` has a bit for each item that may be listed, all 0 before and after.
    void (*of_pairs)(Packed A, Packed B, const int64_t* pairs, size_t count, size_t words,
                     const T* xx, const T* zz, T share, Shared what, uint64_t* marked, T* out);
    // From G = <x, z>, and the squares of both sides, Tversky's index as above, in place; or with
    // `apart`, 1 minus it.
    void (*tversky)(T* G, const T* xx, const T* zz, size_t n, size_t m, T share, bool apart);
};

}  // namespace mercer
