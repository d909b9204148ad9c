// The k-mers of strings: their codes, counts and coincidences (see kmers.hpp).
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

constexpr size_t strip = 512;
constexpr int digit_bits = 12;  // a histogram of 32 KB stays in the first cache

template <class S>
void keys(const S* values, const int64_t* starts, size_t n, size_t window, const int64_t* positions,
          size_t q, uint64_t base, uint64_t* keys) {
    for (size_t i = 0; i < n; ++i) {
        const size_t length = size_t(starts[i + 1] - starts[i]);
        if (length < window) continue;
        const S* string = values + starts[i];
        const size_t windows = length - window + 1;
        for (size_t s = 0; s < windows; s += strip) {
            const size_t width = windows - s < strip ? windows - s : strip;
            for (size_t w = 0; w < width; ++w) keys[w] = 0;
            for (size_t j = 0; j < q; ++j) {
                const S* symbols = string + s + positions[j];
                for (size_t w = 0; w < width; ++w) keys[w] = keys[w] * base + uint64_t(symbols[w]);
            }
            keys += width;
        }
    }
}

// One strip of positions of a string x against run_lanes strings z, which are stored side by side
// so that the lanes run over columns of out. The totals are whole numbers, exact in Total.
template <class Total, class S>
void strip_runs(const S* x, const int32_t* z, size_t places, int32_t longest, Total twice,
                int32_t* runs, Total* totals) {
    int32_t run[run_lanes];
    Total total[run_lanes] = {};
    for (size_t j = 0; j < run_lanes; ++j) run[j] = runs[j];
    for (size_t p = 0; p < places; ++p) {
        const int32_t symbol = int32_t(x[p]);
        for (size_t j = 0; j < run_lanes; ++j) {
            const int32_t next = run[j] + 1;
            const int32_t agree = -int32_t(z[p * run_lanes + j] == symbol);  // all bits or none
            run[j] = (next < longest ? next : longest) & agree;  // no branch to vectorise around
            const Total r = Total(run[j]);
            total[j] += r * (twice - r);
        }
    }
    for (size_t j = 0; j < run_lanes; ++j) runs[j] = run[j];
    for (size_t j = 0; j < run_lanes; ++j) totals[j] = total[j];
}

template <class Total, class S>
void tile_runs(const S* X, const S* Z, size_t n, size_t m, size_t stride, size_t length,
               size_t degree, double weight, bool upper, double* out, int32_t* work,
               int32_t* runs) {
    const int32_t longest = int32_t(degree < length ? degree : length);
    const Total twice = Total(degree) * 2 + 1;
    for (size_t t = 0; t < m; t += run_lanes) {
        const size_t width = m - t < run_lanes ? m - t : run_lanes;
        const size_t rows = upper && t + width < n ? t + width : n;
        for (size_t r = 0; r < rows * run_lanes; ++r) runs[r] = 0;
        for (size_t s = 0; s < length; s += run_strip) {
            const size_t places = length - s < run_strip ? length - s : run_strip;
            for (size_t j = 0; j < run_lanes; ++j) {  // lanes after the last string repeat it
                const S* z = Z + (t + (j < width ? j : width - 1)) * stride + s;
                for (size_t p = 0; p < places; ++p) work[p * run_lanes + j] = int32_t(z[p]);
            }
            for (size_t i = 0; i < rows; ++i) {
                Total totals[run_lanes];
                strip_runs(X + i * stride + s, work, places, longest, twice, runs + i * run_lanes,
                           totals);
                double* row = out + i * m + t;
                for (size_t j = 0; j < width; ++j) row[j] += weight * double(totals[j]);
            }
        }
    }
}

template <class S>
void runs(const S* X, const S* Z, size_t n, size_t m, size_t stride, size_t length, size_t degree,
          double weight, bool upper, double* out, int32_t* work, int32_t* runs) {
    // at most degree (degree + 1) for each position of a strip
    auto* tile = tile_runs<double, S>;
    if (degree <= 4096) tile = tile_runs<uint32_t, S>;
    tile(X, Z, n, m, stride, length, degree, weight, upper, out, work, runs);
}

// Least significant digit first: every pass is stable, so that rows stay ascending within a key.
template <bool weighted>
size_t sorted_counts(uint64_t* keys, int32_t* rows, double* counts, size_t n, uint64_t* spare_keys,
                     int32_t* spare_rows, double* spare_counts) {
    uint64_t seen = 0;
    for (size_t i = 0; i < n; ++i) seen |= keys[i];
    int bits = 0;
    while (bits < 64 && seen >> bits != 0) ++bits;
    const int passes = (bits + digit_bits - 1) / digit_bits;
    const int width = passes == 0 ? 0 : (bits + passes - 1) / passes;
    const uint64_t* from = keys;
    const int32_t* from_rows = rows;
    const double* from_counts = counts;
    for (int pass = 0; pass < passes; ++pass) {
        const bool away = pass % 2 == 0;
        uint64_t* to = away ? spare_keys : keys;
        int32_t* to_rows = away ? spare_rows : rows;
        double* to_counts = away ? spare_counts : counts;
        const int shift = pass * width;
        const uint64_t mask = (uint64_t(1) << width) - 1;
        size_t places[size_t(1) << digit_bits] = {};
        for (size_t i = 0; i < n; ++i) ++places[from[i] >> shift & mask];
        size_t total = 0;
        for (size_t d = 0; d <= mask; ++d) {
            const size_t size = places[d];
            places[d] = total;
            total += size;
        }
        for (size_t i = 0; i < n; ++i) {
            const size_t place = places[from[i] >> shift & mask]++;
            to[place] = from[i];
            to_rows[place] = from_rows[i];
            if constexpr (weighted) to_counts[place] = from_counts[i];
        }
        from = to;
        from_rows = to_rows;
        from_counts = to_counts;
    }
    size_t size = 0;
    for (size_t i = 0; i < n;) {
        const uint64_t key = from[i];
        const int32_t row = from_rows[i];
        double sum = 0;
        size_t next = i;
        do {
            if constexpr (weighted) sum += from_counts[next];
            ++next;
        } while (next < n && from[next] == key && from_rows[next] == row);
        keys[size] = key;  // size <= i: entries that are still to be read are not overwritten
        rows[size] = row;
        counts[size++] = weighted ? sum : double(next - i);
        i = next;
    }
    return size;
}

size_t count(uint64_t* keys, int32_t* rows, double* counts, size_t n, uint64_t* spare_keys,
             int32_t* spare_rows, double* spare_counts) {
    auto* sorted = spare_counts ? sorted_counts<true> : sorted_counts<false>;
    return sorted(keys, rows, counts, n, spare_keys, spare_rows, spare_counts);
}

void join(const uint64_t* keys_x, const int32_t* rows_x, const double* counts_x, size_t n_x,
          const uint64_t* keys_z, const int32_t* rows_z, const double* counts_z, size_t n_z,
          double weight, bool upper, double* out, size_t m) {
    for (size_t p = 0, q = 0; p < n_x && q < n_z;) {
        const uint64_t key = keys_x[p], other = keys_z[q];
        if (key != other) {  // no branch: it cannot be predicted which key is smaller
            p += key < other;
            q += key > other;
        } else {
            size_t end = q;
            while (end < n_z && keys_z[end] == key) ++end;
            for (; p < n_x && keys_x[p] == key; ++p) {
                if (upper)
                    while (q < end && rows_z[q] < rows_x[p]) ++q;
                double* row = out + size_t(rows_x[p]) * m;
                const double value = weight * counts_x[p];
                for (size_t j = q; j < end; ++j) row[rows_z[j]] += value * counts_z[j];
            }
            q = end;
        }
    }
}

}  // namespace

extern const KmerLoops<uint8_t> kmers8;
extern const KmerLoops<int32_t> kmers32;
extern const KmerCountLoops kmer_counts;
constinit const KmerLoops<uint8_t> kmers8 = {keys<uint8_t>, runs<uint8_t>};
constinit const KmerLoops<int32_t> kmers32 = {keys<int32_t>, runs<int32_t>};
constinit const KmerCountLoops kmer_counts = {count, join};

}  // namespace MERCER_ISA
}  // namespace mercer
