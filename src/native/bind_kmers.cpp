// Python bindings of kmers.cpp. Starts, positions and rows are checked here, because with wrong
// ones the loops would go past the end of an array.
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class S>
const KmerLoops<S>& kmers();
template <>
const KmerLoops<uint8_t>& kmers<uint8_t>() { return loops->kmers8; }
template <>
const KmerLoops<int32_t>& kmers<int32_t>() { return loops->kmers32; }

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Tile = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The number of strings that end at starts[1..], with `total` symbols.
size_t check_starts(const Vector<const int64_t>& starts, size_t total) {
    if (starts.shape(0) < 1) throw std::invalid_argument("starts must have one entry more than rows");
    const size_t n = starts.shape(0) - 1;
    const int64_t* s = starts.data();
    bool ascend = s[0] == 0 && uint64_t(s[n]) == total;
    for (size_t i = 0; i < n; ++i) ascend = ascend && s[i] <= s[i + 1];
    if (!ascend) throw nb::index_error("starts must ascend from 0 to the number of symbols");
    return n;
}

template <class S>
void bind_strings(nb::module_& m) {
    const auto keys = [](Vector<const S> values, Vector<const int64_t> starts, uint64_t window,
                         Vector<const int64_t> positions, uint64_t base, Vector<uint64_t> out) {
        check_aligned(values, starts, positions, out);
        const size_t n = check_starts(starts, values.shape(0));
        if (window < 1) throw std::invalid_argument("window must be at least 1");
        const int64_t *s = starts.data(), *places = positions.data();
        const size_t q = positions.shape(0);
        for (size_t j = 0; j < q; ++j)
            if (places[j] < 0 || uint64_t(places[j]) >= window)
                throw nb::index_error("positions must be below window");
        size_t windows = 0;
        for (size_t i = 0; i < n; ++i) {
            const uint64_t length = uint64_t(s[i + 1] - s[i]);
            if (length >= window) windows += length - window + 1;
        }
        if (out.shape(0) != windows) throw std::invalid_argument("out must have one key per window");
        const S* symbols = values.data();
        uint64_t* k = out.data();
        nb::gil_scoped_release release;
        kmers<S>().keys(symbols, s, n, window, places, q, base, k);
    };
    m.def("kmer_keys", keys, nb::arg("values").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("window"), nb::arg("positions").noconvert(), nb::arg("base"),
          nb::arg("out").noconvert());

    // compares X[i, p + offset_x] with Z[j, p + offset_z]
    const auto runs = [](Rows<S> X, Rows<S> Z, size_t offset_x, size_t offset_z, size_t degree,
                         double weight, bool upper, Tile out) {
        check_aligned(X, Z, out);
        const size_t n = X.shape(0), columns = Z.shape(0), stride = X.shape(1);
        if (Z.shape(1) != stride || out.shape(0) != n || out.shape(1) != columns)
            throw std::invalid_argument("shapes must be X (n, l), Z (m, l), out (n, m)");
        const size_t offset = offset_x > offset_z ? offset_x : offset_z;
        if (offset > stride) throw std::invalid_argument("offsets must be at most l");
        if (degree < 1) throw std::invalid_argument("degree must be at least 1");
        if (stride > size_t(INT32_MAX)) throw std::invalid_argument("l must be below 2^31");
        const S *x = X.data() + offset_x, *z = Z.data() + offset_z;
        double* values = out.data();
        nb::gil_scoped_release release;
        std::vector<int32_t> work(run_strip * run_lanes);
        std::vector<int32_t> state(n * run_lanes);
        kmers<S>().runs(x, z, n, columns, stride, stride - offset, degree, weight, upper, values,
                        work.data(), state.data());
    };
    m.def("match_runs", runs, nb::arg("X").noconvert(), nb::arg("Z").noconvert(),
          nb::arg("offset_x"), nb::arg("offset_z"), nb::arg("degree"), nb::arg("weight"),
          nb::arg("upper"), nb::arg("out").noconvert());
}

void check_sorted(const Vector<const uint64_t>& keys, const Vector<const int32_t>& rows,
                  const Vector<const double>& counts, size_t n) {
    check_aligned(keys, rows, counts);
    if (rows.shape(0) != keys.shape(0) || counts.shape(0) != keys.shape(0))
        throw std::invalid_argument("keys, rows and counts must have the same length");
    const int32_t* r = rows.data();
    bool inside = true;
    for (size_t i = 0; i < rows.shape(0); ++i) inside = inside && r[i] >= 0 && size_t(r[i]) < n;
    if (!inside) throw nb::index_error("rows must be numbers of rows of out");
}

}  // namespace

void bind_kmers(nb::module_& m) {
    bind_strings<uint8_t>(m);
    bind_strings<int32_t>(m);
    const auto count = [](Vector<uint64_t> keys, Vector<int32_t> rows, Vector<double> counts,
                          bool weighted) {
        check_aligned(keys, rows, counts);
        const size_t n = keys.shape(0);
        if (rows.shape(0) != n || counts.shape(0) != n)
            throw std::invalid_argument("keys, rows and counts must have the same length");
        uint64_t* k = keys.data();
        int32_t* r = rows.data();
        double* c = counts.data();
        nb::gil_scoped_release release;
        std::vector<uint64_t> spare_keys(n);
        std::vector<int32_t> spare_rows(n);
        std::vector<double> spare_counts(weighted ? n + 1 : 0);  // of any n there is an address
        return loops->kmer_counts.count(k, r, c, n, spare_keys.data(), spare_rows.data(),
                                        weighted ? spare_counts.data() : nullptr);
    };
    const auto join = [](Vector<const uint64_t> keys_x, Vector<const int32_t> rows_x,
                         Vector<const double> counts_x, Vector<const uint64_t> keys_z,
                         Vector<const int32_t> rows_z, Vector<const double> counts_z, double weight,
                         bool upper, Tile out) {
        check_aligned(out);
        check_sorted(keys_x, rows_x, counts_x, out.shape(0));
        check_sorted(keys_z, rows_z, counts_z, out.shape(1));
        const uint64_t *kx = keys_x.data(), *kz = keys_z.data();
        const int32_t *rx = rows_x.data(), *rz = rows_z.data();
        const double *cx = counts_x.data(), *cz = counts_z.data();
        double* values = out.data();
        const size_t n_x = keys_x.shape(0), n_z = keys_z.shape(0), columns = out.shape(1);
        nb::gil_scoped_release release;
        loops->kmer_counts.join(kx, rx, cx, n_x, kz, rz, cz, n_z, weight, upper, values, columns);
    };
    m.def("kmer_count", count, nb::arg("keys").noconvert(), nb::arg("rows").noconvert(),
          nb::arg("counts").noconvert(), nb::arg("weighted") = false);
    m.def("kmer_join", join, nb::arg("keys_x").noconvert(), nb::arg("rows_x").noconvert(),
          nb::arg("counts_x").noconvert(), nb::arg("keys_z").noconvert(),
          nb::arg("rows_z").noconvert(), nb::arg("counts_z").noconvert(), nb::arg("weight"),
          nb::arg("upper"), nb::arg("out").noconvert());
}

}  // namespace mercer
