// Python bindings of sets.cpp, and the packing of sets into bits. Shapes are checked here, because
// with a wrong shape the loops would read past the end of an array.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

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
using Line = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Tile = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Throws if rows are not values[starts[i]] to values[starts[i + 1] - 1].
void check_starts(const int64_t* starts, size_t n, size_t total) {
    for (size_t i = 0; i <= n; ++i)
        if (starts[i] < 0 || static_cast<uint64_t>(starts[i]) > total ||
            (i > 0 && starts[i] < starts[i - 1]))
            throw std::invalid_argument("starts must ascend from 0 to len(values)");
}

void check_listed(const Packed& side, size_t n, size_t total, size_t items) {
    check_starts(side.starts, n, total);
    for (int64_t p = side.starts[0]; p < side.starts[n]; ++p)
        if (side.items[p] < 0 || static_cast<size_t>(side.items[p]) >= items)
            throw std::invalid_argument("listed items must be from 0 to items - 1");
}

void check_row(const Packed& side, int64_t row, size_t n, size_t total, size_t items) {
    wants(row >= 0 && static_cast<size_t>(row) < n, "pairs must hold numbers of rows");
    check_listed({side.bits, side.starts + row, side.items}, 1, total, items);
}

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
    check_starts(s, n, total);
    std::fill(bits, bits + n * words, uint64_t(0));
    for (size_t i = 0; i < n; ++i)
        for (int64_t k = s[i]; k < s[i + 1]; ++k) {
            const uint64_t item = static_cast<uint32_t>(v[k]);  // negative items become very large
            if (item / 64 < words) bits[i * words + item / 64] |= uint64_t(1) << (item % 64);
        }
}

template <class T>
void bind_sets_as(nb::module_& m) {
    const auto shared_items = [](Matrix<uint64_t> A, Sizes<int64_t> A_starts, Sizes<int32_t> A_items,
                                 Matrix<uint64_t> Bt, Sizes<int64_t> B_starts,
                                 Sizes<int32_t> B_items, size_t items, Sizes<T> xx, Sizes<T> zz,
                                 double share, int what, Tile<T> out) {
        const size_t n = A.shape(0), words = A.shape(1), columns = Bt.shape(1);
        if (Bt.shape(0) != words || out.shape(0) != n || out.shape(1) != columns ||
            A_starts.shape(0) != n + 1 || B_starts.shape(0) != columns + 1 || xx.shape(0) != n ||
            zz.shape(0) != columns)
            throw std::invalid_argument(
                "shapes must be A (n, words), A_starts (n + 1,), Bt (words, m), B_starts (m + 1,), "
                "xx (n,), zz (m,), out (n, m)");
        if (what < 0 || what > 2) throw std::invalid_argument("what must be 0, 1 or 2");
        if (items > INT32_MAX) throw std::invalid_argument("items must be below 2^31");
        check_aligned(A, A_starts, A_items, Bt, B_starts, B_items, xx, zz, out);
        const Packed a{A.data(), A_starts.data(), A_items.data()};
        const Packed b{Bt.data(), B_starts.data(), B_items.data()};
        const size_t listed[] = {A_items.shape(0), B_items.shape(0)};
        const T *x = xx.data(), *z = zz.data();
        T* values = out.data();
        nb::gil_scoped_release release;
        check_listed(a, n, listed[0], items);
        check_listed(b, columns, listed[1], items);
        int64_t longest = 0;  // entries of a tile
        for (size_t t = 0; t < columns; t += set_tile)
            longest = std::max(longest, b.starts[std::min(t + set_tile, columns)] - b.starts[t]);
        if (longest > INT32_MAX) throw std::invalid_argument("a tile must list below 2^31 items");
        std::vector<int32_t> holders_of(static_cast<size_t>(longest));
        // calloc: only the pages of items that occur are touched
        const std::unique_ptr<Holders, decltype(&std::free)> holders(
            static_cast<Holders*>(std::calloc(items + 1, sizeof(Holders))), std::free);
        if (!holders) throw std::bad_alloc();
        sets<T>().compare(a, b, n, columns, words, x, z, static_cast<T>(share),
                          static_cast<Shared>(what), holders.get(), holders_of.data(), values);
    };
    const auto shared_pairs = [](Matrix<uint64_t> A, Sizes<int64_t> A_starts, Sizes<int32_t> A_items,
                                 Matrix<uint64_t> B, Sizes<int64_t> B_starts, Sizes<int32_t> B_items,
                                 size_t items, Sizes<T> xx, Sizes<T> zz, double share, int what,
                                 Matrix<int64_t> pairs, Line<T> out) {
        const size_t n = A.shape(0), words = A.shape(1), m = B.shape(0), count = pairs.shape(0);
        wants(B.shape(1) == words && A_starts.shape(0) == n + 1 && B_starts.shape(0) == m + 1 &&
                  xx.shape(0) == n && zz.shape(0) == m && pairs.shape(1) == 2 && out.shape(0) == count,
              "shapes must be A (n, words), A_starts (n + 1,), B (m, words), B_starts (m + 1,), "
              "xx (n,), zz (m,), pairs (k, 2), out (k,)");
        wants(what >= 0 && what <= 2, "what must be 0, 1 or 2");
        wants(items <= INT32_MAX, "items must be below 2^31");
        check_aligned(A, A_starts, A_items, B, B_starts, B_items, xx, zz, pairs, out);
        const Packed a{A.data(), A_starts.data(), A_items.data()};
        const Packed b{B.data(), B_starts.data(), B_items.data()};
        const size_t listed[] = {A_items.shape(0), B_items.shape(0)};
        const T *x = xx.data(), *z = zz.data();
        const int64_t* both = pairs.data();
        T* values = out.data();
        nb::gil_scoped_release release;
        for (size_t k = 0; k < count; ++k) {  // no other rows are read
            check_row(a, both[2 * k], n, listed[0], items);
            check_row(b, both[2 * k + 1], m, listed[1], items);
        }
        std::vector<uint64_t> marked(items / 64 + 1, 0);
        sets<T>().of_pairs(a, b, both, count, words, x, z, static_cast<T>(share),
                           static_cast<Shared>(what), marked.data(), values);
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
    m.def("shared_items", shared_items, nb::arg("A").noconvert(), nb::arg("A_starts").noconvert(),
          nb::arg("A_items").noconvert(), nb::arg("Bt").noconvert(), nb::arg("B_starts").noconvert(),
          nb::arg("B_items").noconvert(), nb::arg("items"), nb::arg("xx"), nb::arg("zz"),
          nb::arg("share"), nb::arg("what"), nb::arg("out").noconvert());
    m.def("shared_pairs", shared_pairs, nb::arg("A").noconvert(), nb::arg("A_starts").noconvert(),
          nb::arg("A_items").noconvert(), nb::arg("B").noconvert(), nb::arg("B_starts").noconvert(),
          nb::arg("B_items").noconvert(), nb::arg("items"), nb::arg("xx"), nb::arg("zz"),
          nb::arg("share"), nb::arg("what"), nb::arg("pairs").noconvert(),
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
