// Loops over pairs of sets, which are bits packed in words; called by distances/sets.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

template <class T>
struct SetLoops {
    // out (n, m): the number of bits that row i of A (n, words) and column j of Bt (words, m)
    // share.
    void (*shared_bits)(const uint64_t* A, const uint64_t* Bt, T* out, size_t n, size_t m,
                        size_t words);
    // From G = #(A ∩ B), and the sizes of the sets, Tversky's index c / (c + share (a + b - 2 c))
    // in place: Jaccard for share 1, Dice for 1/2; with `apart`, 1 minus it. Two empty sets are
    // equal.
    void (*tversky)(T* G, const T* xx, const T* zz, size_t n, size_t m, T share, bool apart);
};

}  // namespace mercer
