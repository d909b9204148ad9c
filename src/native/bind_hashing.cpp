// Python bindings of hashing.cpp and listed.cpp, and hash tables, which wait for memory and gain
// nothing from vectors. All numbers that could lead to a wrong address are checked first.
#include <algorithm>
#include <limits>
#include <vector>

#include "bind.hpp"

namespace mercer {
namespace {

template <class T>
const ListedLoops<T>& listed();
template <>
const ListedLoops<float>& listed<float>() { return loops->listed32; }
template <>
const ListedLoops<double>& listed<double>() { return loops->listed64; }

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void refuse(bool wrong, const char* message) {
    if (wrong) throw std::invalid_argument(message);
}

// starts must ascend from 0 or more to `total` at most.
void check_starts(const int64_t* starts, size_t n, size_t total) {
    bool right = starts[0] >= 0 && starts[n] <= static_cast<int64_t>(total);
    for (size_t i = 0; i < n; ++i) right = right && starts[i] <= starts[i + 1];
    refuse(!right, "starts must ascend and stay within the list");
}

void check_below(const int32_t* values, int64_t from, int64_t to, size_t limit) {
    for (int64_t k = from; k < to; ++k)
        refuse(values[k] < 0 || static_cast<size_t>(values[k]) >= limit, "a number is out of range");
}

// --- hashes of sets ------------------------------------------------------------------------------

void least_hashes(List<const uint32_t> numbers, List<const int64_t> starts,
                  List<const uint32_t> factors, List<const uint32_t> shifts, Matrix<uint32_t> out) {
    const size_t n = out.shape(0), count = out.shape(1);
    refuse(starts.shape(0) != n + 1 || factors.shape(0) != count || shifts.shape(0) != count,
           "shapes must be starts (n + 1,), factors (count,), shifts (count,), out (n, count)");
    check_aligned(numbers, starts, factors, shifts, out);
    const int64_t* s = starts.data();
    const uint32_t *x = numbers.data(), *a = factors.data(), *b = shifts.data();
    uint32_t* least = out.data();
    nb::gil_scoped_release release;
    check_starts(s, n, numbers.shape(0));
    loops->hashes.least_hashes(x, s, a, b, least, n, count);
}

void least_in_parts(List<const uint32_t> numbers, List<const int64_t> starts, uint32_t factor,
                    uint32_t shift, Matrix<uint32_t> out) {
    const size_t n = out.shape(0), count = out.shape(1);
    refuse(starts.shape(0) != n + 1 || count < 1, "shapes must be starts (n + 1,), out (n, count)");
    check_aligned(numbers, starts, out);
    const int64_t* s = starts.data();
    const uint32_t* x = numbers.data();
    uint32_t* least = out.data();
    nb::gil_scoped_release release;
    check_starts(s, n, numbers.shape(0));
    std::vector<uint8_t> filled(count);
    loops->hashes.least_in_parts(x, s, factor, shift, least, filled.data(), n, count);
}

void least_ranks(List<const int32_t> values, List<const int64_t> starts,
                 Matrix<const uint32_t> ranks, Matrix<uint32_t> out) {
    const size_t n = out.shape(0), count = out.shape(1);
    refuse(starts.shape(0) != n + 1 || ranks.shape(1) != count,
           "shapes must be starts (n + 1,), ranks (items, count), out (n, count)");
    check_aligned(values, starts, ranks, out);
    const int32_t* v = values.data();
    const int64_t* s = starts.data();
    const uint32_t* rank = ranks.data();
    uint32_t* least = out.data();
    nb::gil_scoped_release release;
    check_starts(s, n, values.shape(0));
    check_below(v, s[0], s[n], ranks.shape(0));
    loops->hashes.least_ranks(v, s, rank, least, n, count);
}

// --- tables --------------------------------------------------------------------------------------

// One key of 32 bits for each table and row: hashes t r .. t r + r - 1 of a row, mixed (the steps
// are those of MurmurHash3's finaliser).
void hash_keys(Matrix<const int32_t> hashes, Matrix<uint32_t> out) {
    const size_t n = hashes.shape(0), tables = out.shape(0);
    refuse(tables < 1 || hashes.shape(1) % tables || out.shape(1) != n,
           "shapes must be hashes (n, tables r), out (tables, n)");
    check_aligned(hashes, out);
    const size_t r = hashes.shape(1) / tables;
    const int32_t* h = hashes.data();
    uint32_t* keys = out.data();
    nb::gil_scoped_release release;
    for (size_t i = 0; i < n; ++i)
        for (size_t t = 0; t < tables; ++t) {
            uint64_t key = 0x9e3779b97f4a7c15u;
            for (size_t k = 0; k < r; ++k, ++h) {
                key = (key ^ static_cast<uint32_t>(*h)) * 0xff51afd7ed558ccdu;
                key ^= key >> 33;
            }
            keys[t * n + i] = static_cast<uint32_t>((key * 0xc4ceb9fe1a85ec53u) >> 32);
        }
}

// Rows of a table in the order of the upper bits of their keys, its buckets: rows starts[b] to
// starts[b + 1] - 1 of `ids` and `sorted` are those of bucket b.
void hash_tables(Matrix<const uint32_t> keys, Matrix<uint32_t> starts, Matrix<int32_t> ids,
                 Matrix<uint32_t> sorted) {
    const size_t tables = keys.shape(0), n = keys.shape(1), buckets = starts.shape(1) - 1;
    refuse(starts.shape(0) != tables || starts.shape(1) < 3 || (buckets & (buckets - 1)) != 0 ||
               buckets > (size_t(1) << 30) || n >= (size_t(1) << 31) || ids.shape(0) != tables ||
               ids.shape(1) != n || sorted.shape(0) != tables || sorted.shape(1) != n,
           "shapes must be keys, ids, sorted (tables, n), starts (tables, 2^bits + 1)");
    check_aligned(keys, starts, ids, sorted);
    int shift = 32;
    for (size_t b = buckets; b > 1; b /= 2) --shift;
    const uint32_t* all = keys.data();
    uint32_t *first = starts.data(), *out = sorted.data();
    int32_t* rows = ids.data();
    nb::gil_scoped_release release;
    for (size_t t = 0; t < tables; ++t, all += n, first += buckets + 1, out += n, rows += n) {
        std::fill(first, first + buckets + 1, uint32_t(0));
        for (size_t i = 0; i < n; ++i) ++first[(all[i] >> shift) + 1];
        for (size_t b = 0; b < buckets; ++b) first[b + 1] += first[b];
        for (size_t i = 0; i < n; ++i) {  // first[b] moves to the end of bucket b
            const uint32_t at = first[all[i] >> shift]++;
            rows[at] = static_cast<int32_t>(i);
            out[at] = all[i];
        }
        for (size_t b = buckets; b > 0; --b) first[b] = first[b - 1];
        first[0] = 0;
    }
}

// Tables as `hash_tables` makes them. Those of a file may hold anything, so that what is read from
// them is checked where it is used.
struct Tables {
    const uint32_t *starts, *sorted;
    const int32_t* ids;
    size_t count, n, buckets;
    int shift = 32;

    Tables(const Matrix<const uint32_t>& s, const Matrix<const int32_t>& i,
           const Matrix<const uint32_t>& k)
        : starts(s.data()), sorted(k.data()), ids(i.data()), count(i.shape(0)), n(i.shape(1)),
          buckets(s.shape(1) - 1) {
        refuse(s.shape(0) != count || s.shape(1) < 3 || (buckets & (buckets - 1)) != 0 ||
                   k.shape(0) != count || k.shape(1) != n,
               "shapes must be ids, sorted (tables, n), starts (tables, 2^bits + 1)");
        check_aligned(s, i, k);
        for (size_t b = buckets; b > 1; b /= 2) --shift;
    }
    // Calls f(from, to) with the places of a key's bucket.
    template <class F>
    void bucket(size_t t, uint32_t key, const F& f) const {
        const uint32_t* first = starts + t * (buckets + 1) + (key >> shift);
        refuse(first[0] > first[1] || first[1] > n, "the hash tables are damaged");
        f(t * n + first[0], t * n + first[1]);
    }
};

// The most candidates that each query may have.
void count_candidates(Matrix<const uint32_t> keys, Matrix<const uint32_t> starts,
                      Matrix<const int32_t> ids, Matrix<const uint32_t> sorted,
                      List<int64_t> out) {
    const Tables tables(starts, ids, sorted);
    const size_t q = out.shape(0);
    refuse(keys.shape(0) != tables.count || keys.shape(1) != q, "keys must be (tables, q)");
    check_aligned(keys, out);
    const uint32_t* key = keys.data();
    int64_t* most = out.data();
    nb::gil_scoped_release release;
    for (size_t i = 0; i < q; ++i) {
        size_t total = 0;
        for (size_t t = 0; t < tables.count; ++t)
            tables.bucket(t, key[t * q + i], [&](size_t from, size_t to) { total += to - from; });
        most[i] = static_cast<int64_t>(std::min(total, tables.n));
    }
}

// The rows that share a key with each query, each once, without row own[i]: those of query i are
// out[starts[i]] .. out[starts[i + 1] - 1]. `seen` is as long as the rows and full of zeros.
int64_t list_candidates(Matrix<const uint32_t> keys, Matrix<const uint32_t> starts,
                        Matrix<const int32_t> ids, Matrix<const uint32_t> sorted,
                        List<const int64_t> own, List<uint32_t> seen, List<int32_t> out,
                        List<int64_t> out_starts) {
    const Tables tables(starts, ids, sorted);
    const size_t q = own.shape(0), room = out.shape(0);
    refuse(keys.shape(0) != tables.count || keys.shape(1) != q || seen.shape(0) != tables.n ||
               out_starts.shape(0) != q + 1,
           "shapes must be keys (tables, q), own (q,), seen (n,), starts (q + 1,)");
    check_aligned(keys, own, seen, out, out_starts);
    const uint32_t* key = keys.data();
    const int64_t* self = own.data();
    uint32_t* mark = seen.data();
    int32_t* found = out.data();
    int64_t* first = out_starts.data();
    nb::gil_scoped_release release;
    size_t total = 0;
    for (size_t i = 0; i < q; ++i) {
        const uint32_t stamp = static_cast<uint32_t>(i + 1);
        first[i] = static_cast<int64_t>(total);
        if (self[i] >= 0 && static_cast<size_t>(self[i]) < tables.n) mark[self[i]] = stamp;
        for (size_t t = 0; t < tables.count; ++t) {
            const uint32_t wanted = key[t * q + i];
            tables.bucket(t, wanted, [&](size_t from, size_t to) {
                for (size_t k = from; k < to; ++k) {
                    if (tables.sorted[k] != wanted) continue;
                    const size_t id = static_cast<uint32_t>(tables.ids[k]);
                    refuse(id >= tables.n, "the hash tables are damaged");
                    if (mark[id] == stamp) continue;
                    mark[id] = stamp;
                    refuse(total == room, "out is too short");
                    found[total++] = static_cast<int32_t>(id);
                }
            });
        }
    }
    first[q] = static_cast<int64_t>(total);
    return static_cast<int64_t>(total);
}

// --- listed pairs --------------------------------------------------------------------------------

template <class T>
void listed_distances(const char* name, Matrix<const T> Z, Matrix<const T> X, List<const T> weights,
                      List<const int32_t> ids, List<const int64_t> starts, List<T> out) {
    const size_t q = Z.shape(0), d = Z.shape(1);
    const bool differing = *name == 'd';
    refuse(X.shape(1) != d || starts.shape(0) != q + 1 || out.shape(0) != ids.shape(0) ||
               (differing && weights.shape(0) != d),
           "shapes must be Z (q, d), X (n, d), ids and out (total,), starts (q + 1,)");
    check_aligned(Z, X, weights, ids, starts, out);
    const T *z = Z.data(), *x = X.data(), *w = weights.data();
    const int32_t* rows = ids.data();
    const int64_t* s = starts.data();
    T* values = out.data();
    nb::gil_scoped_release release;
    check_starts(s, q, ids.shape(0));
    check_below(rows, s[0], s[q], X.shape(0));
    if (differing)
        listed<T>().differences(z, x, w, rows, s, values, q, d);
    else
        (*name == 's' ? listed<T>().squares : listed<T>().manhattan)(z, x, rows, s, values, q, d);
}

// Sets are ascending codes, as in samples/sets.py; 1 minus Jaccard's index, 0 for two empty sets.
template <class T>
void listed_jaccard(List<const int32_t> z, List<const int64_t> z_starts, List<const int32_t> x,
                    List<const int64_t> x_starts, List<const int32_t> ids,
                    List<const int64_t> starts, List<T> out) {
    refuse(z_starts.shape(0) < 1 || x_starts.shape(0) < 1 ||
               starts.shape(0) != z_starts.shape(0) || out.shape(0) != ids.shape(0),
           "shapes must be starts (q + 1,) of z and of the list, ids and out (total,)");
    check_aligned(z, z_starts, x, x_starts, ids, starts, out);
    const size_t q = z_starts.shape(0) - 1, n = x_starts.shape(0) - 1;
    const int32_t *a = z.data(), *b = x.data(), *rows = ids.data();
    const int64_t *as = z_starts.data(), *bs = x_starts.data(), *s = starts.data();
    T* values = out.data();
    nb::gil_scoped_release release;
    check_starts(s, q, ids.shape(0));
    check_starts(as, q, z.shape(0));
    check_starts(bs, n, x.shape(0));
    check_below(rows, s[0], s[q], n);
    for (size_t i = 0; i < q; ++i)
        for (int64_t k = s[i]; k < s[i + 1]; ++k) {
            const int32_t *u = a + as[i], *u_end = a + as[i + 1];
            const int32_t *v = b + bs[rows[k]], *v_end = b + bs[rows[k] + 1];
            const int64_t sizes = (u_end - u) + (v_end - v);
            int64_t shared = 0;
            while (u < u_end && v < v_end) {  // no branch that depends on which one is less
                const int32_t first = *u, second = *v;
                shared += first == second;
                u += first <= second;
                v += second <= first;
            }
            const int64_t whole = sizes - shared;
            values[k] = whole ? static_cast<T>(whole - shared) / static_cast<T>(whole) : T(0);
        }
}

// best and nearest (q, k): the least values of each list and their ids, of equal values those of
// smaller ids first; infinity and -1 where a list is shorter than k.
template <class T>
void nearest_listed(List<const T> values, List<const int32_t> ids, List<const int64_t> starts,
                    Matrix<T> best, Matrix<int64_t> nearest) {
    const size_t q = best.shape(0), k = best.shape(1);
    refuse(starts.shape(0) != q + 1 || nearest.shape(0) != q || nearest.shape(1) != k || k < 1 ||
               values.shape(0) != ids.shape(0),
           "shapes must be values and ids (total,), starts (q + 1,), best and nearest (q, k)");
    check_aligned(values, ids, starts, best, nearest);
    const T* v = values.data();
    const int32_t* rows = ids.data();
    const int64_t* s = starts.data();
    T* kept = best.data();
    int64_t* numbers = nearest.data();
    nb::gil_scoped_release release;
    check_starts(s, q, ids.shape(0));
    const auto before = [](T d, int64_t j, T e, int64_t l) { return d < e || (d == e && j < l); };
    for (size_t i = 0; i < q; ++i, kept += k, numbers += k) {
        size_t count = 0;
        for (int64_t c = s[i]; c < s[i + 1]; ++c) {
            const int64_t id = rows[c];
            if (count == k && !before(v[c], id, kept[k - 1], numbers[k - 1])) continue;
            size_t p = count < k ? count++ : k - 1;
            for (; p > 0 && before(v[c], id, kept[p - 1], numbers[p - 1]); --p) {
                kept[p] = kept[p - 1];
                numbers[p] = numbers[p - 1];
            }
            kept[p] = v[c];
            numbers[p] = id;
        }
        std::fill(kept + count, kept + k, std::numeric_limits<T>::infinity());
        std::fill(numbers + count, numbers + k, int64_t(-1));
    }
}

template <class T>
void bind_listed_as(nb::module_& m) {
    const auto bound = [&m](const char* name) {
        m.def(
            name,
            [name](Matrix<const T> Z, Matrix<const T> X, List<const T> weights,
                   List<const int32_t> ids, List<const int64_t> starts, List<T> out) {
                listed_distances<T>(name + sizeof("listed"), Z, X, weights, ids, starts, out);
            },
            nb::arg("Z").noconvert(), nb::arg("X").noconvert(), nb::arg("weights"), nb::arg("ids"),
            nb::arg("starts"), nb::arg("out").noconvert());
    };
    bound("listed_squares");
    bound("listed_manhattan");
    bound("listed_differences");
    m.def("listed_jaccard", listed_jaccard<T>, nb::arg("z"), nb::arg("z_starts"), nb::arg("x"),
          nb::arg("x_starts"), nb::arg("ids"), nb::arg("starts"), nb::arg("out").noconvert());
    m.def("nearest_listed", nearest_listed<T>, nb::arg("values").noconvert(), nb::arg("ids"),
          nb::arg("starts"), nb::arg("best").noconvert(), nb::arg("nearest").noconvert());
}

}  // namespace

void bind_hashing(nb::module_& m) {
    m.def("least_hashes", least_hashes, nb::arg("numbers"), nb::arg("starts"), nb::arg("factors"),
          nb::arg("shifts"), nb::arg("out").noconvert());
    m.def("least_in_parts", least_in_parts, nb::arg("numbers"), nb::arg("starts"),
          nb::arg("factor"), nb::arg("shift"), nb::arg("out").noconvert());
    m.def("least_ranks", least_ranks, nb::arg("values"), nb::arg("starts"),
          nb::arg("ranks").noconvert(), nb::arg("out").noconvert());
    m.def("hash_keys", hash_keys, nb::arg("hashes").noconvert(), nb::arg("out").noconvert());
    m.def("hash_tables", hash_tables, nb::arg("keys").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("ids").noconvert(), nb::arg("sorted").noconvert());
    m.def("count_candidates", count_candidates, nb::arg("keys").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("ids").noconvert(), nb::arg("sorted").noconvert(),
          nb::arg("out").noconvert());
    m.def("list_candidates", list_candidates, nb::arg("keys").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("ids").noconvert(), nb::arg("sorted").noconvert(),
          nb::arg("own"), nb::arg("seen").noconvert(), nb::arg("out").noconvert(),
          nb::arg("out_starts").noconvert());
    bind_listed_as<float>(m);
    bind_listed_as<double>(m);
}

}  // namespace mercer
