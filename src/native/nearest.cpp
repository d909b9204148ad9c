// The k nearest columns of each row (see nearest.hpp). Few distances are below the worst one that
// is kept, so most of the time is used to compare chunks with this one.
#include <math.h>

#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t chunk = 64;

// Whether (d, j) comes before (e, l): it is nearer, or equally near with a smaller index.
template <class T>
inline bool before(T d, int64_t j, T e, int64_t l) { return d < e || (d == e && j < l); }

template <class T>
void keep_nearest(const T* D, const int64_t* columns, const int64_t* own, T* best, int64_t* nearest,
                  size_t n, size_t m, size_t k) {
    for (size_t i = 0; i < n; ++i) {
        const T* row = D + i * m;
        T* kept = best + i * k;
        int64_t* ids = nearest + i * k;
        for (size_t s = 0; s < m; s += chunk) {
            const size_t end = m - s < chunk ? m : s + chunk;
            T worst = kept[k - 1];
            int any = 0;
            for (size_t j = s; j < end; ++j) any |= !(row[j] > worst);
            if (!any) continue;
            for (size_t j = s; j < end; ++j) {
                const T d = row[j] == row[j] ? row[j] : T(INFINITY);
                if (columns[j] == own[i] || !before(d, columns[j], worst, ids[k - 1])) continue;
                size_t p = k - 1;
                for (; p > 0 && before(d, columns[j], kept[p - 1], ids[p - 1]); --p) {
                    kept[p] = kept[p - 1];
                    ids[p] = ids[p - 1];
                }
                kept[p] = d;
                ids[p] = columns[j];
                worst = kept[k - 1];
            }
        }
    }
}

}  // namespace

extern const NearestLoops<float> nearest32;
extern const NearestLoops<double> nearest64;
constinit const NearestLoops<float> nearest32 = {keep_nearest<float>};
constinit const NearestLoops<double> nearest64 = {keep_nearest<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
