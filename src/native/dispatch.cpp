// Chooses at import the best instruction set that this build and this machine both have.
#include "loops.hpp"

#include <cstring>

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace mercer {

extern const Loops table_portable;
#if MERCER_HAS_avx2
extern const Loops table_avx2;
extern const Loops table_avx512;
#endif

namespace {

#if MERCER_HAS_avx2
#if defined(_MSC_VER)
bool has_bits(int leaf, int reg, int bits) {
    int r[4];
    __cpuidex(r, leaf, 0);
    return (r[reg] & bits) == bits;
}
// Whether the processor has the instructions and the system saves the registers (XCR0).
bool has_avx2() {
    if (!has_bits(1, 2, (1 << 12) | (1 << 27))) return false;  // FMA, OSXSAVE
    return (_xgetbv(0) & 0x6) == 0x6 && has_bits(7, 1, 1 << 5);
}
bool has_avx512() {
    return has_avx2() && (_xgetbv(0) & 0xe6) == 0xe6 &&
           has_bits(7, 1, (1 << 16) | (1 << 17) | (1 << 30) | (1 << 31));  // F, DQ, BW, VL
}
#else
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif
#endif

int available_tables(const Loops** tables) {
    int count = 0;
    tables[count++] = &table_portable;
#if MERCER_HAS_avx2
    if (has_avx2()) tables[count++] = &table_avx2;
    if (has_avx512()) tables[count++] = &table_avx512;
#endif
    return count;
}

const Loops* best_table() {
    const Loops* tables[3];
    return tables[available_tables(tables) - 1];
}

}  // namespace

const Loops* loops = best_table();

bool use_isa(const char* name) {
    const Loops* tables[3];
    const int count = available_tables(tables);
    for (int i = 0; i < count; ++i) {
        if (std::strcmp(tables[i]->isa, name) == 0) {
            loops = tables[i];
            return true;
        }
    }
    return false;
}

int available_isas(const char** names) {
    const Loops* tables[3];
    const int count = available_tables(tables);
    for (int i = 0; i < count; ++i) names[i] = tables[i]->isa;
    return count;
}

}  // namespace mercer
