// Distances of listed pairs of rows (see hashing.hpp). The compiler may reorder the sums, so that
// lanes run over the columns.
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

template <class T>
void squares(const T* Z, const T* X, const int32_t* ids, const int64_t* starts, T* out, size_t q,
             size_t d) {
    for (size_t i = 0; i < q; ++i) {
        const T* z = Z + i * d;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const T* x = X + size_t(ids[k]) * d;
            T sum = 0;
            for (size_t j = 0; j < d; ++j) sum += (z[j] - x[j]) * (z[j] - x[j]);
            out[k] = sum;
        }
    }
}

template <class T>
void manhattan(const T* Z, const T* X, const int32_t* ids, const int64_t* starts, T* out, size_t q,
               size_t d) {
    for (size_t i = 0; i < q; ++i) {
        const T* z = Z + i * d;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const T* x = X + size_t(ids[k]) * d;
            T sum = 0;
            for (size_t j = 0; j < d; ++j) {
                const T gap = z[j] - x[j];
                sum += gap < 0 ? -gap : gap;
            }
            out[k] = sum;
        }
    }
}

template <class T>
void differences(const T* Z, const T* X, const T* weights, const int32_t* ids,
                 const int64_t* starts, T* out, size_t q, size_t d) {
    for (size_t i = 0; i < q; ++i) {
        const T* z = Z + i * d;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const T* x = X + size_t(ids[k]) * d;
            T sum = 0;
            for (size_t j = 0; j < d; ++j) sum += z[j] != x[j] ? weights[j] : T(0);
            out[k] = sum;
        }
    }
}

}  // namespace

extern const ListedLoops<float> listed32;
extern const ListedLoops<double> listed64;
constinit const ListedLoops<float> listed32 = {squares<float>, manhattan<float>,
                                               differences<float>};
constinit const ListedLoops<double> listed64 = {squares<double>, manhattan<double>,
                                                differences<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
