// The hot loops that exist once per instruction set, as a table of function pointers. Each loop
// file defines them in namespace mercer::MERCER_ISA; table.cpp collects them; dispatch.cpp picks
// one table at import.
//
// Rule for every loop file: no standard-library templates and no inline functions with external
// linkage. The linker keeps only one copy of such a function, possibly the AVX-512 copy, and a
// machine without AVX-512 would then run it. For the same reason nothing may be computed when the
// module loads: data for other files is constinit. Arguments and results are plain arrays.
#pragma once
#include <cstddef>
#include <cstdint>

#include "bins.hpp"
#include "convolutions.hpp"
#include "descent.hpp"
#include "distances.hpp"
#include "edit.hpp"
#include "embedding.hpp"
#include "hashing.hpp"
#include "kd_tree.hpp"
#include "kmers.hpp"
#include "linear_svm.hpp"
#include "nearest.hpp"
#include "neighbour_process.hpp"
#include "neighbourhood.hpp"
#include "perceptron.hpp"
#include "row_search.hpp"
#include "series.hpp"
#include "sets.hpp"
#include "shapley.hpp"
#include "signatures.hpp"
#include "smo.hpp"
#include "subsequences.hpp"
#include "subsets.hpp"
#include "triangle.hpp"
#include "walks.hpp"

namespace mercer {

template <class T>
struct ArcCosineLoops {
    // G[i, j] <- out_x[i] out_z[j] f(... f(x[i] z[j] G[i, j])), where f = J_n / J_n(0) is applied
    // `layers` times, n = degree, to the cosine of the angle; G is (n, m).
    void (*apply)(T* G, const T* x, const T* z, const T* out_x, const T* out_z, size_t n, size_t m,
                  int degree, size_t layers);
};

template <class T>
struct RadialLoops {
    // d[i] <- exp(-scale * d[i]), n values, any sign.
    void (*exp_scaled)(T* d, size_t n, T scale);
    // d[i] <- (1 + t) exp(-t) when order is 3, (1 + t + t^2 / 3) exp(-t) when 5, t = scale * d[i]
    // >= 0; 0 if t is infinite.
    void (*matern)(T* d, size_t n, T scale, int order);
    // out[i, j] <- the least of u_x[i] v_z[j], v_x[i] u_z[j] and 1; out is (n, m).
    void (*ratios)(const T* u_x, const T* v_x, const T* u_z, const T* v_z, T* out, size_t n,
                   size_t m);
    // K[i] <- K[i] (1 - share + share k[i]), n values.
    void (*interact)(T* K, const T* k, size_t n, T share);
};

// References, so that the compiler completes each table: code that filled it when the module loads
// would be code of the table's instruction set, and would run on every machine.
struct Loops {
    const char* isa;
    const AlignmentLoops& alignments;
    const ArcCosineLoops<float>& arc_cosine32;
    const ArcCosineLoops<double>& arc_cosine64;
    const BinSearchLoops<float>& bin_search32;
    const BinSearchLoops<double>& bin_search64;
    const BinLoops<uint8_t>& bins8;
    const BinLoops<uint16_t>& bins16;
    const ColumnPairLoops& column_pairs;
    const ConvolutionLoops<float>& convolutions32;
    const ConvolutionLoops<double>& convolutions64;
    const DescentLoops& descents;
    const RadialLoops<float>& radial32;
    const RadialLoops<double>& radial64;
    const PairLoops<float>& pairs32;
    const PairLoops<double>& pairs64;
    const SmoLoops<float>& smo32;
    const SmoLoops<double>& smo64;
    const EditLoops<uint8_t>& edit8;
    const EditLoops<int32_t>& edit32;
    const EmbeddingLoops& embeddings;
    const HashLoops& hashes;
    const KdTreeLoops<float>& kd_tree32;
    const KdTreeLoops<double>& kd_tree64;
    const KmerLoops<uint8_t>& kmers8;
    const KmerLoops<int32_t>& kmers32;
    const KmerCountLoops& kmer_counts;
    const LinearBoxLoops& linear_box;
    const LinearLoops<float>& linear32;
    const LinearLoops<double>& linear64;
    const ListedLoops<float>& listed32;
    const ListedLoops<double>& listed64;
    const NearestLoops<float>& nearest32;
    const NearestLoops<double>& nearest64;
    const NeighbourProcessLoops& neighbour_processes;
    const NeighbourhoodLoops& neighbourhoods;
    const PerceptronVoteLoops& perceptron_votes;
    const PerceptronLoops<float>& perceptron32;
    const PerceptronLoops<double>& perceptron64;
    const TriangleLoops& triangles;
    const PowerLoops<float>& powers32;
    const PowerLoops<double>& powers64;
    const RowSearchLoops<float>& row_search32;
    const RowSearchLoops<double>& row_search64;
    const SeriesLoops& series;
    const SetLoops<float>& sets32;
    const SetLoops<double>& sets64;
    const ShapleyLoops<float>& shapley32;
    const ShapleyLoops<double>& shapley64;
    const SignatureLoops& signatures;
    const SubsequenceLoops<uint8_t>& subsequences8;
    const SubsequenceLoops<int32_t>& subsequences32;
    const SubsetLoops<float>& subsets32;
    const SubsetLoops<double>& subsets64;
    const WalkLoops& walks;
};

extern const Loops* loops;  // the table in use

// Use the named table ("portable", "avx2", "avx512"); false if this build or machine has no such
// table.
bool use_isa(const char* name);
// Fill names with the tables that this machine can run, best last; returns their number (<= 3).
int available_isas(const char** names);

}  // namespace mercer
