// Columns as bins (see bins.hpp). Sums are taken row by row into one table: so they are the same to
// the last bit however the rows come in parts.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t together = 32, edge_count = 255;

// A binary search has eight steps that wait for each other: searches side by side do not.
template <class T>
inline void search_some(const T* x, const T* edges, uint8_t gap, size_t count, uint8_t* codes) {
    uint32_t at[together] = {};
    for (uint32_t step = 128; step > 0; step >>= 1)
        for (size_t l = 0; l < together; ++l) at[l] += edges[at[l] + step - 1] < x[l] ? step : 0;
    for (size_t l = 0; l < count; ++l) codes[l] = x[l] == x[l] ? uint8_t(at[l]) : gap;
}

template <class T>
void search(const T* X, size_t n, size_t d, const T* edges, const uint8_t* gaps, uint8_t* codes,
            size_t total) {
    T x[together] = {};
    for (size_t s = 0; s < n; s += together) {
        const size_t count = n - s < together ? n - s : together;
        for (size_t j = 0; j < d; ++j) {
            for (size_t l = 0; l < count; ++l) x[l] = X[(s + l) * d + j];
            search_some(x, edges + j * edge_count, gaps[j], count, codes + j * total + s);
        }
    }
}

template <class Code>
void add_sums(const Code* codes, const double* v, size_t n, double* out) {
    for (size_t i = 0; i < n; ++i) out[codes[i]] += v[i];
}

template <class Code>
void add_reads(const Code* codes, const double* table, size_t n, double* out) {
    for (size_t i = 0; i < n; ++i) out[i] += table[codes[i]];
}

void add_pairs(const uint8_t* a, const uint8_t* b, const double* w, size_t n, double* out,
               size_t width) {
    if (w == nullptr)
        for (size_t i = 0; i < n; ++i) out[a[i] * width + b[i]] += 1;
    else
        for (size_t i = 0; i < n; ++i) out[a[i] * width + b[i]] += w[i];
}

void cells(const uint8_t* a, const uint8_t* b, size_t n, uint16_t width, uint16_t* out) {
    for (size_t i = 0; i < n; ++i) out[i] = uint16_t(a[i] * width + b[i]);
}

void laplacian(const double* decay, const double* v, size_t n, double* out) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        sum = (i > 0 ? sum * decay[i - 1] : 0) + v[i];
        out[i] = sum;
    }
    sum = 0;
    for (size_t i = n; i-- > 1;) {
        sum = (sum + v[i]) * decay[i - 1];
        out[i - 1] += sum;
    }
}

}  // namespace

extern const BinSearchLoops<float> bin_search32;
extern const BinSearchLoops<double> bin_search64;
extern const BinLoops<uint8_t> bins8;
extern const BinLoops<uint16_t> bins16;
extern const ColumnPairLoops column_pairs;
constinit const BinSearchLoops<float> bin_search32 = {search<float>};
constinit const BinSearchLoops<double> bin_search64 = {search<double>};
constinit const BinLoops<uint8_t> bins8 = {add_sums<uint8_t>, add_reads<uint8_t>};
constinit const BinLoops<uint16_t> bins16 = {add_sums<uint16_t>, add_reads<uint16_t>};
constinit const ColumnPairLoops column_pairs = {add_pairs, cells, laplacian};

}  // namespace MERCER_ISA
}  // namespace mercer
