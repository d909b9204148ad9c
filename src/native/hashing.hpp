// Min-wise hashes of sets, and distances of listed pairs; called by search/minhash.py and
// search/lsh.py through bind_hashing.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

struct HashLoops {
    // Row i of out (n, count): the least value of factors[h] x + shifts[h] mod 2^32 over the items
    // x = numbers[k], starts[i] <= k < starts[i + 1]; the largest number for no items.
    void (*least_hashes)(const uint32_t* numbers, const int64_t* starts, const uint32_t* factors,
                         const uint32_t* shifts, uint32_t* out, size_t n, size_t count);
    // The same for the least of ranks[values[k] * count + h].
    void (*least_ranks)(const int32_t* values, const int64_t* starts, const uint32_t* ranks,
                        uint32_t* out, size_t n, size_t count);
    // One function for all entries: entry h is the least value in part h of `count` equal parts of
    // all values; a part without items takes the entry of another one. `filled` has room for count.
    void (*least_in_parts)(const uint32_t* numbers, const int64_t* starts, uint32_t factor,
                           uint32_t shift, uint32_t* out, uint8_t* filled, size_t n, size_t count);
};

// out[k] for starts[i] <= k < starts[i + 1]: how far row i of Z (q, d) and row ids[k] of X are apart.
template <class T>
struct ListedLoops {
    void (*squares)(const T* Z, const T* X, const int32_t* ids, const int64_t* starts, T* out,
                    size_t q, size_t d);
    void (*manhattan)(const T* Z, const T* X, const int32_t* ids, const int64_t* starts, T* out,
                      size_t q, size_t d);
    void (*differences)(const T* Z, const T* X, const T* weights, const int32_t* ids,
                        const int64_t* starts, T* out, size_t q, size_t d);
};

}  // namespace mercer
