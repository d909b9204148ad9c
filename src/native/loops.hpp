// The hot loops that exist once per instruction set, as a table of function pointers. Each loop
// file defines them in namespace mercer::MERCER_ISA; table.cpp collects them; dispatch.cpp picks
// one table at import.
//
// Rule for every loop file: no standard-library templates and no inline functions with external
// linkage. The linker keeps only one copy of such a function, perhaps the AVX-512 one, and a
// machine without AVX-512 would then run it. Plain arrays in, plain arrays out.
#pragma once
#include <cstddef>
#include <cstdint>

#include "distances.hpp"
#include "kmers.hpp"
#include "linear_svm.hpp"
#include "nearest.hpp"
#include "sets.hpp"
#include "smo.hpp"
#include "subsequences.hpp"
#include "subsets.hpp"

namespace mercer {

template <class T>
struct RadialLoops {
    // d[i] <- exp(-scale * d[i]), n values, any sign.
    void (*exp_scaled)(T* d, size_t n, T scale);
    // d[i] <- (1 + t) exp(-t) when order is 3, (1 + t + t^2 / 3) exp(-t) when 5, t = scale * d[i] >= 0;
    // 0 where t is infinite.
    void (*matern)(T* d, size_t n, T scale, int order);
};

struct Loops {
    const char* isa;
    RadialLoops<float> radial32;
    RadialLoops<double> radial64;
    PairLoops<float> pairs32;
    PairLoops<double> pairs64;
    SmoLoops<float> smo32;
    SmoLoops<double> smo64;
    KmerLoops<uint8_t> kmers8;
    KmerLoops<int32_t> kmers32;
    KmerCountLoops kmer_counts;
    LinearBoxLoops linear_box;
    LinearLoops<float> linear32;
    LinearLoops<double> linear64;
    NearestLoops<float> nearest32;
    NearestLoops<double> nearest64;
    PowerLoops<float> powers32;
    PowerLoops<double> powers64;
    SetLoops<float> sets32;
    SetLoops<double> sets64;
    SubsequenceLoops<uint8_t> subsequences8;
    SubsequenceLoops<int32_t> subsequences32;
    SubsetLoops<float> subsets32;
    SubsetLoops<double> subsets64;
};

extern const Loops* loops;  // the table in use

// Use the named table ("portable", "avx2", "avx512"); false when this build or machine lacks it.
bool use_isa(const char* name);
// Fill names with the tables that this machine can run, best last; returns their number (<= 3).
int available_isas(const char** names);

}  // namespace mercer
