// Near-duplicates among documents, called by the room dedup: shingles and the keys of their bands,
// and the walk that keeps a document or removes it for one that is kept.
#include <algorithm>
#include <string_view>
#include <vector>

#include <nanobind/stl/pair.h>

#include "bind.hpp"
#include "utf8.hpp"

namespace mercer {
namespace {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// --- shingles ------------------------------------------------------------------------------------

// Runs of `size` words, or of `size` characters, as hashes of 64 bits; a document with fewer has one
// shingle, and one without any has none.
class Shingles {
public:
    Shingles(bool words, size_t size) : words(words), size(size) {
        wants(size >= 1, "size must be 1 or more");
    }
    const std::vector<uint64_t>& of(std::string_view text) {
        found.clear();
        if (words)
            of_words(text);
        else
            of_characters(text);
        return found;
    }

private:
    bool words;
    size_t size;
    std::vector<uint64_t> found, tokens;
    std::vector<size_t> places;

    void of_words(std::string_view text) {
        tokens.clear();
        for_each_run(Blanks{}, text.data(), text.size(), [&](const char* begin, size_t length) {
            tokens.push_back(hash_bytes(begin, length));
        });
        if (tokens.empty()) return;
        const size_t run = std::min(size, tokens.size());
        found.resize(tokens.size() - run + 1);
        for (size_t i = 0; i < found.size(); ++i) {
            uint64_t x = tokens[i];
            for (size_t k = 1; k < run; ++k) x = folded(x ^ secret[2], tokens[i + k] ^ secret[3]);
            found[i] = x;
        }
    }
    void of_characters(std::string_view text) {
        places.clear();
        for (size_t k = 0; k < text.size(); ++k)
            if ((text[k] & 0xc0) != 0x80) places.push_back(k);
        if (places.empty()) return;
        const size_t run = std::min(size, places.size()), count = places.size() - run + 1;
        places.push_back(text.size());
        found.resize(count);
        for (size_t i = 0; i < count; ++i)
            found[i] = hash_bytes(text.data() + places[i], places[i + run] - places[i]);
    }
};

// Two numbers of 64 bits that are those of no other sequence of shingles.
void digest(const std::vector<uint64_t>& shingles, uint64_t* out) {
    uint64_t a = shingles.size(), b = ~a;
    for (size_t i = 0; i < shingles.size(); ++i) {
        const uint64_t place = (i + 1) * 0x9e3779b97f4a7c15u;
        a += folded(shingles[i] ^ secret[0], place ^ secret[1]);
        b += folded(shingles[i] + place, (shingles[i] ^ secret[3]) | 1);
    }
    out[0] = a;
    out[1] = b;
}

// The texts of a list, all of them held for as long as they are read without the GIL.
struct Texts {
    Utf8 utf8;
    std::vector<std::string_view> bytes;
    explicit Texts(const nb::list& texts) {
        bytes.reserve(texts.size());
        for (nb::handle text : texts) bytes.push_back(utf8.of(text.ptr()));
    }
};

// What is read of each document: the keys of its bands, a digest of its shingles, a hash of its
// bytes, how many characters it has and how many shingles. Documents without any have keys of 0.
void sign_documents(nb::list documents, bool words, size_t size, List<const uint32_t> factors,
                    List<const uint32_t> shifts, Matrix<uint64_t> keys, Matrix<uint64_t> digests,
                    List<uint64_t> contents, List<int64_t> lengths, List<int64_t> counts) {
    const size_t n = documents.size(), bands = keys.shape(0), hashes = factors.shape(0);
    wants(keys.shape(1) == n && digests.shape(0) == n && digests.shape(1) == 2 &&
              contents.shape(0) == n && lengths.shape(0) == n && counts.shape(0) == n,
          "shapes must be keys (bands, n), digests (n, 2), contents, lengths, counts (n,)");
    wants(bands >= 1 && hashes >= bands && hashes % bands == 0 && shifts.shape(0) == hashes,
          "factors and shifts must have as many functions for each band");
    check_aligned(factors, shifts, keys, digests, contents, lengths, counts);
    const size_t r = hashes / bands;
    const uint32_t *a = factors.data(), *b = shifts.data();
    uint64_t *key = keys.data(), *print = digests.data(), *content = contents.data();
    int64_t *length = lengths.data(), *count = counts.data();
    const Texts texts(documents);
    Shingles shingles(words, size);
    nb::gil_scoped_release release;
    std::vector<uint32_t> numbers, least(hashes);
    for (size_t i = 0; i < n; ++i) {
        const std::string_view text = texts.bytes[i];
        const std::vector<uint64_t>& found = shingles.of(text);
        content[i] = hash_bytes(text.data(), text.size());
        length[i] = static_cast<int64_t>(count_characters(text.data(), text.size()));
        count[i] = static_cast<int64_t>(found.size());
        digest(found, print + 2 * i);
        if (found.empty()) {
            for (size_t t = 0; t < bands; ++t) key[t * n + i] = 0;
            continue;
        }
        numbers.resize(found.size());
        for (size_t k = 0; k < found.size(); ++k) numbers[k] = static_cast<uint32_t>(found[k] >> 32);
        const int64_t ends[2] = {0, static_cast<int64_t>(numbers.size())};
        loops->hashes.least_hashes(numbers.data(), ends, a, b, least.data(), 1, hashes);
        for (size_t t = 0; t < bands; ++t) {
            uint64_t x = secret[0];
            for (size_t k = 0; k < r; ++k) x = folded(x ^ least[t * r + k], secret[1] ^ x >> 7);
            key[t * n + i] = x;
        }
    }
}

// Numbers that look random, sorted: first by their upper bits, then within runs of a few.
void sort_hashes(std::vector<uint64_t>& x, std::vector<uint64_t>& room, std::vector<uint32_t>& ends) {
    const size_t n = x.size();
    if (n < 32 || n > 65536) {
        std::sort(x.begin(), x.end());
        return;
    }
    int bits = 5;
    while ((size_t(1) << bits) < n) ++bits;
    const int shift = 64 - bits;
    room.resize(n);
    ends.assign((size_t(1) << bits) + 1, 0);
    for (const uint64_t v : x) ++ends[(v >> shift) + 1];
    for (size_t k = 1; k < ends.size(); ++k) ends[k] += ends[k - 1];
    for (const uint64_t v : x) room[ends[v >> shift]++] = v;  // ends[k] moves to the end of run k
    uint32_t begin = 0;
    for (size_t k = 0; k + 1 < ends.size(); ++k) {
        if (ends[k] - begin > 16)
            std::sort(room.begin() + begin, room.begin() + ends[k]);
        else
            for (size_t i = begin + 1; i < ends[k]; ++i) {
                const uint64_t v = room[i];
                size_t j = i;
                for (; j > begin && room[j - 1] > v; --j) room[j] = room[j - 1];
                room[j] = v;
            }
        begin = ends[k];
    }
    x.swap(room);
}

// The different shingles of each document, ascending, and where each document starts.
std::pair<Numbers<uint64_t>, Numbers<int64_t>> shingle_documents(nb::list documents, bool words,
                                                                 size_t size) {
    const Texts texts(documents);
    Shingles shingles(words, size);
    std::vector<uint64_t> values, one, room;
    std::vector<uint32_t> ends;
    std::vector<int64_t> starts{0};
    {
        nb::gil_scoped_release release;
        for (const std::string_view text : texts.bytes) {
            one = shingles.of(text);
            sort_hashes(one, room, ends);
            values.insert(values.end(), one.begin(), std::unique(one.begin(), one.end()));
            starts.push_back(static_cast<int64_t>(values.size()));
        }
    }
    return {as_array(std::move(values)), as_array(std::move(starts))};
}

// --- the walk ------------------------------------------------------------------------------------

// How many numbers two ascending lists share.
size_t shared(const uint64_t* a, size_t n, const uint64_t* b, size_t m) {
    size_t i = 0, j = 0, count = 0;
    while (i < n && j < m) {
        const uint64_t x = a[i], y = b[j];
        count += x == y;
        i += x <= y;
        j += y <= x;
    }
    return count;
}

// Walks over documents from the most preferred to the least. Document d has the shingles
// values[begins[d]] .. values[ends[d] - 1] and is in the buckets buckets[places[d]] ..
// buckets[places[d + 1] - 1]. It is compared with the documents in them that are kept; if the
// largest of Jaccard's indices is `threshold` or more, it is removed for that document (the first
// of equal ones). Otherwise it is kept, and entered into its buckets, of which each takes `most`.
// The first `fixed` documents are kept unseen; with `within` false, no others are entered.
//
// partners[d] is -1 for what is kept. Returns how many pairs were compared, and how many buckets
// were full when a document should have been entered.
std::pair<int64_t, int64_t> walk_documents(List<const uint64_t> values, List<const int64_t> begins,
                                           List<const int64_t> ends, List<const int64_t> places,
                                           List<const int64_t> buckets, int64_t n_buckets, double threshold, int64_t most,
                                           int64_t fixed, bool within, List<int64_t> partners,
                                           List<double> similarities) {
    const size_t n = partners.shape(0);
    wants(begins.shape(0) == n && ends.shape(0) == n && places.shape(0) == n + 1 &&
              similarities.shape(0) == n,
          "shapes must be places (n + 1,), begins, ends, partners, similarities (n,)");
    wants(n_buckets >= 0 && most >= 1 && fixed >= 0 && n < (size_t(1) << 31),
          "give most >= 1, fixed >= 0, n_buckets >= 0");
    check_aligned(values, begins, ends, places, buckets, partners, similarities);
    const uint64_t* x = values.data();
    const int64_t *s = begins.data(), *e = ends.data(), *p = places.data(), *in = buckets.data();
    int64_t* partner = partners.data();
    double* similarity = similarities.data();
    nb::gil_scoped_release release;
    bool right = p[0] >= 0 && p[n] <= static_cast<int64_t>(buckets.shape(0));
    for (size_t i = 0; i < n; ++i)
        right = right && p[i] <= p[i + 1] && s[i] >= 0 && s[i] <= e[i] &&
                e[i] <= static_cast<int64_t>(values.shape(0));
    wants(right, "begins, ends and places must ascend and stay within their lists");
    std::vector<int64_t> sizes(static_cast<size_t>(n_buckets) + 1, 0);
    for (int64_t k = p[0]; k < p[n]; ++k) {
        wants(in[k] >= 0 && in[k] < n_buckets, "a bucket is out of range");
        ++sizes[static_cast<size_t>(in[k]) + 1];
    }
    std::vector<int64_t> room(sizes.size(), 0);  // where the kept members of each bucket are
    for (size_t b = 1; b < sizes.size(); ++b) room[b] = room[b - 1] + std::min(sizes[b], most);
    std::vector<uint32_t> members(static_cast<size_t>(room.back())), held(sizes.size(), 0);
    std::vector<uint32_t> seen(n, 0xffffffffu);
    std::vector<uint8_t> full(sizes.size(), 0);
    int64_t compared = 0;
    for (size_t d = 0; d < n; ++d) {
        partner[d] = -1;
        similarity[d] = 0;
        const size_t size = static_cast<size_t>(e[d] - s[d]);
        const bool given = static_cast<int64_t>(d) < fixed;
        for (int64_t k = p[d]; !given && k < p[d + 1]; ++k) {
            const uint32_t* kept = members.data() + room[static_cast<size_t>(in[k])];
            for (uint32_t j = 0; j < held[static_cast<size_t>(in[k])]; ++j) {
                const uint32_t other = kept[j];
                if (seen[other] == d) continue;
                seen[other] = static_cast<uint32_t>(d);
                const size_t theirs = static_cast<size_t>(e[other] - s[other]);
                const auto least = static_cast<double>(std::min(size, theirs));
                if (least < threshold * static_cast<double>(std::max(size, theirs))) continue;
                ++compared;
                const size_t both = shared(x + s[d], size, x + s[other], theirs);
                const double J = static_cast<double>(both) / static_cast<double>(size + theirs - both);
                if (J < threshold) continue;
                if (partner[d] < 0 || J > similarity[d] ||
                    (J == similarity[d] && static_cast<int64_t>(other) < partner[d])) {
                    partner[d] = other;
                    similarity[d] = J;
                }
            }
        }
        if (partner[d] >= 0 || !(given || within)) continue;
        for (int64_t k = p[d]; k < p[d + 1]; ++k) {
            const size_t b = static_cast<size_t>(in[k]);
            if (held[b] < static_cast<uint64_t>(most))
                members[static_cast<size_t>(room[b]) + held[b]++] = static_cast<uint32_t>(d);
            else
                full[b] = 1;
        }
    }
    return {compared, std::count(full.begin(), full.end(), uint8_t(1))};
}

// Jaccard's index of pairs of ascending lists: values[begins[k]] .. values[ends[k] - 1] and the same of
// the others. Two empty lists have 0: documents without shingles are like nothing.
void compare_documents(List<const uint64_t> values, List<const int64_t> begins,
                       List<const int64_t> ends, List<const uint64_t> others,
                       List<const int64_t> other_begins, List<const int64_t> other_ends,
                       List<double> out) {
    const size_t n = out.shape(0);
    wants(begins.shape(0) == n && ends.shape(0) == n && other_begins.shape(0) == n &&
              other_ends.shape(0) == n,
          "shapes must be begins, ends, other_begins, other_ends, out (pairs,)");
    check_aligned(values, begins, ends, others, other_begins, other_ends, out);
    const uint64_t *x = values.data(), *z = others.data();
    const int64_t *s = begins.data(), *e = ends.data();
    const int64_t *t = other_begins.data(), *f = other_ends.data();
    const auto most = static_cast<int64_t>(values.shape(0));
    const auto other_most = static_cast<int64_t>(others.shape(0));
    double* index = out.data();
    nb::gil_scoped_release release;
    for (size_t k = 0; k < n; ++k) {
        wants(s[k] >= 0 && s[k] <= e[k] && e[k] <= most && t[k] >= 0 && t[k] <= f[k] &&
                  f[k] <= other_most,
              "begins and ends must ascend and stay within their lists");
        const auto a = static_cast<size_t>(e[k] - s[k]), b = static_cast<size_t>(f[k] - t[k]);
        const size_t both = shared(x + s[k], a, z + t[k], b);
        index[k] = both ? static_cast<double>(both) / static_cast<double>(a + b - both) : 0;
    }
}

}  // namespace

void bind_documents(nb::module_& m) {
    m.def("sign_documents", sign_documents, nb::arg("documents"), nb::arg("words"), nb::arg("size"),
          nb::arg("factors"), nb::arg("shifts"), nb::arg("keys").noconvert(),
          nb::arg("digests").noconvert(), nb::arg("contents").noconvert(),
          nb::arg("lengths").noconvert(), nb::arg("counts").noconvert());
    m.def("shingle_documents", shingle_documents, nb::arg("documents"), nb::arg("words"),
          nb::arg("size"));
    m.def("compare_documents", compare_documents, nb::arg("values"), nb::arg("begins"),
          nb::arg("ends"), nb::arg("others"), nb::arg("other_begins"), nb::arg("other_ends"),
          nb::arg("out").noconvert());
    m.def("walk_documents", walk_documents, nb::arg("values").noconvert(), nb::arg("begins"),
          nb::arg("ends"), nb::arg("places"), nb::arg("buckets"), nb::arg("n_buckets"), nb::arg("threshold"), nb::arg("most"),
          nb::arg("fixed"), nb::arg("within"), nb::arg("partners").noconvert(),
          nb::arg("similarities").noconvert());
}

}  // namespace mercer
