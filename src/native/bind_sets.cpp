// Python bindings of sets.cpp, and the packing of sets into bits. Shapes are checked here, because
// with a wrong shape the loops would read past the end of an array.
#include <algorithm>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const SetLoops<T>& sets();
template <>
const SetLoops<float>& sets<float>() { return loops->sets32; }
template <>
const SetLoops<double>& sets<double>() { return loops->sets64; }

template <class V>
using Matrix = nb::ndarray<const V, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Sizes = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Tile = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The items of row i are values[starts[i]] to values[starts[i + 1] - 1]; item v sets bit v of
// out[i]. Items after the last word are left out.
void pack_sets(Sizes<int32_t> values, Sizes<int64_t> starts, Tile<uint64_t> out) {
    const size_t n = out.shape(0), words = out.shape(1), total = values.shape(0);
    if (starts.shape(0) != n + 1)
        throw std::invalid_argument("shapes must be values (total,), starts (n + 1,), out (n, words)");
    check_aligned(values, starts, out);
    const int32_t* v = values.data();
    const int64_t* s = starts.data();
    uint64_t* bits = out.data();
    nb::gil_scoped_release release;
    for (size_t i = 0; i <= n; ++i)
        if (s[i] < 0 || static_cast<uint64_t>(s[i]) > total || (i > 0 && s[i] < s[i - 1]))
            throw std::invalid_argument("starts must ascend from 0 to len(values)");
    std::fill(bits, bits + n * words, uint64_t(0));
    for (size_t i = 0; i < n; ++i)
        for (int64_t k = s[i]; k < s[i + 1]; ++k) {
            const uint64_t item = static_cast<uint32_t>(v[k]);  // negative items become very large
            if (item / 64 < words) bits[i * words + item / 64] |= uint64_t(1) << (item % 64);
        }
}

template <class T>
void bind_sets_as(nb::module_& m) {
    const auto shared_bits = [](Matrix<uint64_t> A, Matrix<uint64_t> Bt, Tile<T> out) {
        const size_t n = A.shape(0), words = A.shape(1), columns = Bt.shape(1);
        if (Bt.shape(0) != words || out.shape(0) != n || out.shape(1) != columns)
            throw std::invalid_argument("shapes must be A (n, words), Bt (words, m), out (n, m)");
        check_aligned(A, Bt, out);
        const uint64_t *a = A.data(), *b = Bt.data();
        T* counts = out.data();
        nb::gil_scoped_release release;
        sets<T>().shared_bits(a, b, counts, n, columns, words);
    };
    const auto tversky = [](Tile<T> G, Sizes<T> xx, Sizes<T> zz, double share, bool apart) {
        const size_t n = G.shape(0), columns = G.shape(1);
        if (xx.shape(0) != n || zz.shape(0) != columns)
            throw std::invalid_argument("shapes must be G (n, m), xx (n,), zz (m,)");
        check_aligned(G, xx, zz);
        T* values = G.data();
        const T *x = xx.data(), *z = zz.data();
        nb::gil_scoped_release release;
        sets<T>().tversky(values, x, z, n, columns, static_cast<T>(share), apart);
    };
    m.def("shared_bits", shared_bits, nb::arg("A").noconvert(), nb::arg("Bt").noconvert(),
          nb::arg("out").noconvert());
    m.def("tversky", tversky, nb::arg("G").noconvert(), nb::arg("xx"), nb::arg("zz"),
          nb::arg("share"), nb::arg("apart"));
}

}  // namespace

void bind_sets(nb::module_& m) {
    m.def("pack_sets", pack_sets, nb::arg("values"), nb::arg("starts"), nb::arg("out").noconvert());
    bind_sets_as<float>(m);
    bind_sets_as<double>(m);
}

}  // namespace mercer
