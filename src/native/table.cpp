// Collects this instruction set's loops into one table (compiled once per instruction set).
#include "loops.hpp"

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)

namespace mercer {
namespace MERCER_ISA {
extern const AlignmentLoops alignments;
extern const ArcCosineLoops<float> arc_cosine32;
extern const ArcCosineLoops<double> arc_cosine64;
extern const BinSearchLoops<float> bin_search32;
extern const BinSearchLoops<double> bin_search64;
extern const BinLoops<uint8_t> bins8;
extern const BinLoops<uint16_t> bins16;
extern const ColumnPairLoops column_pairs;
extern const ConvolutionLoops<float> convolutions32;
extern const ConvolutionLoops<double> convolutions64;
extern const DescentLoops descents;
extern const RadialLoops<float> radial32;
extern const RadialLoops<double> radial64;
extern const PairLoops<float> pairs32;
extern const PairLoops<double> pairs64;
extern const SmoLoops<float> smo32;
extern const SmoLoops<double> smo64;
extern const EditLoops<uint8_t> edit8;
extern const EditLoops<int32_t> edit32;
extern const EmbeddingLoops embeddings;
extern const HashLoops hashes;
extern const KdTreeLoops<float> kd_tree32;
extern const KdTreeLoops<double> kd_tree64;
extern const KmerLoops<uint8_t> kmers8;
extern const KmerLoops<int32_t> kmers32;
extern const KmerCountLoops kmer_counts;
extern const LinearBoxLoops linear_box;
extern const LinearLoops<float> linear32;
extern const LinearLoops<double> linear64;
extern const ListedLoops<float> listed32;
extern const ListedLoops<double> listed64;
extern const NearestLoops<float> nearest32;
extern const NearestLoops<double> nearest64;
extern const NeighbourProcessLoops neighbour_processes;
extern const NeighbourhoodLoops neighbourhoods;
extern const PerceptronVoteLoops perceptron_votes;
extern const PerceptronLoops<float> perceptron32;
extern const PerceptronLoops<double> perceptron64;
extern const TriangleLoops triangles;
extern const PowerLoops<float> powers32;
extern const PowerLoops<double> powers64;
extern const RowSearchLoops<float> row_search32;
extern const RowSearchLoops<double> row_search64;
extern const SeriesLoops series;
extern const SetLoops<float> sets32;
extern const SetLoops<double> sets64;
extern const ShapleyLoops<float> shapley32;
extern const ShapleyLoops<double> shapley64;
extern const SignatureLoops signatures;
extern const SubsequenceLoops<uint8_t> subsequences8;
extern const SubsequenceLoops<int32_t> subsequences32;
extern const SubsetLoops<float> subsets32;
extern const SubsetLoops<double> subsets64;
extern const WalkLoops walks;
}  // namespace MERCER_ISA

extern const Loops CONCAT(table_, MERCER_ISA);
constinit const Loops CONCAT(table_, MERCER_ISA) = {
    STRING(MERCER_ISA),
    MERCER_ISA::alignments,
    MERCER_ISA::arc_cosine32,
    MERCER_ISA::arc_cosine64,
    MERCER_ISA::bin_search32,
    MERCER_ISA::bin_search64,
    MERCER_ISA::bins8,
    MERCER_ISA::bins16,
    MERCER_ISA::column_pairs,
    MERCER_ISA::convolutions32,
    MERCER_ISA::convolutions64,
    MERCER_ISA::descents,
    MERCER_ISA::radial32,
    MERCER_ISA::radial64,
    MERCER_ISA::pairs32,
    MERCER_ISA::pairs64,
    MERCER_ISA::smo32,
    MERCER_ISA::smo64,
    MERCER_ISA::edit8,
    MERCER_ISA::edit32,
    MERCER_ISA::embeddings,
    MERCER_ISA::hashes,
    MERCER_ISA::kd_tree32,
    MERCER_ISA::kd_tree64,
    MERCER_ISA::kmers8,
    MERCER_ISA::kmers32,
    MERCER_ISA::kmer_counts,
    MERCER_ISA::linear_box,
    MERCER_ISA::linear32,
    MERCER_ISA::linear64,
    MERCER_ISA::listed32,
    MERCER_ISA::listed64,
    MERCER_ISA::nearest32,
    MERCER_ISA::nearest64,
    MERCER_ISA::neighbour_processes,
    MERCER_ISA::neighbourhoods,
    MERCER_ISA::perceptron_votes,
    MERCER_ISA::perceptron32,
    MERCER_ISA::perceptron64,
    MERCER_ISA::triangles,
    MERCER_ISA::powers32,
    MERCER_ISA::powers64,
    MERCER_ISA::row_search32,
    MERCER_ISA::row_search64,
    MERCER_ISA::series,
    MERCER_ISA::sets32,
    MERCER_ISA::sets64,
    MERCER_ISA::shapley32,
    MERCER_ISA::shapley64,
    MERCER_ISA::signatures,
    MERCER_ISA::subsequences8,
    MERCER_ISA::subsequences32,
    MERCER_ISA::subsets32,
    MERCER_ISA::subsets64,
    MERCER_ISA::walks,
};
}  // namespace mercer
