// Numbers of the items of sets, which search/minhash.py permutes: the texts of Python are read as they
// are, without an object for each token.
#include <algorithm>
#include <string_view>
#include <vector>

#include <nanobind/stl/pair.h>

#include "bind.hpp"
#include "utf8.hpp"

namespace mercer {
namespace {

uint32_t number_of(std::string_view text) {
    return static_cast<uint32_t>(hash_bytes(text.data(), text.size()) >> 32);
}

// Objects that lie anywhere in memory are asked for some items ahead.
constexpr Py_ssize_t ahead = 48;
inline void prefetch([[maybe_unused]] const void* p) {
#if MERCER_SSE2
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
    _mm_prefetch(static_cast<const char*>(p) + 64, _MM_HINT_T0);
#endif
}

#if defined(Py_LIMITED_API)
#define MERCER_LIST_ITEM PyList_GetItem
#else
#define MERCER_LIST_ITEM PyList_GET_ITEM
#endif

// Appends the number of each item of a list, or of anything else that can be iterated over; `next`
// is the row that will be asked for afterwards.
void add_numbers(PyObject* row, PyObject* next, Utf8& utf8, std::vector<uint32_t>& numbers) {
    if (!PyList_CheckExact(row)) {
        for (nb::handle item : nb::borrow<nb::object>(row))
            numbers.push_back(number_of(utf8.of(item.ptr())));
        return;
    }
    const Py_ssize_t n = PyList_Size(row);  // nothing below runs code that could change the list
    const Py_ssize_t more = next != nullptr && PyList_CheckExact(next) ? PyList_Size(next) : 0;
    numbers.resize(numbers.size() + static_cast<size_t>(n));
    uint32_t* out = numbers.data() + numbers.size() - n;
    for (Py_ssize_t k = 0; k < n; ++k) {
        const Py_ssize_t later = k + ahead;
        if (later < n)
            prefetch(MERCER_LIST_ITEM(row, later));
        else if (later - n < more)
            prefetch(MERCER_LIST_ITEM(next, later - n));
        out[k] = number_of(utf8.of(MERCER_LIST_ITEM(row, k)));
    }
}

// The numbers of 32 bits of all items of rows from..to-1, one row after the other, and where each
// row starts. A TypeError if an item is no text.
std::pair<Numbers<uint32_t>, Numbers<int64_t>> hash_rows(nb::list rows, size_t from, size_t to) {
    wants(from <= to && to <= rows.size(), "the rows must be those of the list");
    std::vector<uint32_t> numbers;
    std::vector<int64_t> starts{0};
    starts.reserve(to - from + 1);
    numbers.reserve(128 * (to - from));
    Utf8 utf8;
    for (size_t i = from; i < to; ++i) {
        const nb::object row = nb::borrow(rows[i]);
        if (i + 2 < to) prefetch(MERCER_LIST_ITEM(rows.ptr(), Py_ssize_t(i) + 2));
        PyObject* next = i + 1 < to ? MERCER_LIST_ITEM(rows.ptr(), Py_ssize_t(i) + 1) : nullptr;
        add_numbers(row.ptr(), next, utf8, numbers);
        starts.push_back(static_cast<int64_t>(numbers.size()));
        utf8.forget();
    }
    return {as_array(std::move(numbers)), as_array(std::move(starts))};
}

Numbers<uint32_t> hash_items(nb::list items) {
    std::vector<uint32_t> numbers;
    Utf8 utf8;
    add_numbers(items.ptr(), nullptr, utf8, numbers);
    return as_array(std::move(numbers));
}

// --- texts with separators -----------------------------------------------------------------------

// How many bytes at the begin, or at the end, are white space as str.strip knows it.
size_t white_at_begin(std::string_view s) {
    const auto u = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
    if (s.empty()) return 0;
    if (u(0) < 0x80) return (u(0) == 0x20 || (u(0) >= 9 && u(0) <= 13) || (u(0) >= 28 && u(0) <= 31));
    if (s.size() >= 2 && u(0) == 0xc2) return u(1) == 0x85 || u(1) == 0xa0 ? 2 : 0;
    if (s.size() < 3) return 0;
    if (u(0) == 0xe1) return u(1) == 0x9a && u(2) == 0x80 ? 3 : 0;   // U+1680
    if (u(0) == 0xe3) return u(1) == 0x80 && u(2) == 0x80 ? 3 : 0;   // U+3000
    if (u(0) != 0xe2) return 0;
    if (u(1) == 0x80) return u(2) <= 0x8a || u(2) == 0xa8 || u(2) == 0xa9 || u(2) == 0xaf ? 3 : 0;
    return u(1) == 0x81 && u(2) == 0x9f ? 3 : 0;  // U+205F
}

std::string_view stripped(std::string_view s) {
    const auto plain = [](char c) { return c > 0x20; };  // most often neither end is white
    if (!s.empty() && plain(s.front()) && plain(s.back())) return s;
    while (const size_t k = white_at_begin(s)) s.remove_prefix(k);
    while (!s.empty()) {
        size_t at = s.size() - 1;  // where the last character begins
        while (at > 0 && (s[at] & 0xc0) == 0x80) --at;
        if (white_at_begin(s.substr(at)) != s.size() - at) break;
        s.remove_suffix(s.size() - at);
    }
    return s;
}

// The same for rows that are texts, which a separator splits; spaces around an item and empty items
// are left out.
std::pair<Numbers<uint32_t>, Numbers<int64_t>> split_rows(nb::list rows, nb::str separator,
                                                          size_t from, size_t to) {
    wants(from <= to && to <= rows.size(), "the rows must be those of the list");
    std::vector<uint32_t> numbers;
    std::vector<int64_t> starts{0};
    numbers.reserve(128 * (to - from));
    Utf8 utf8, of_separator;
    const std::string_view mark = of_separator.of(separator.ptr());
    wants(!mark.empty(), "the separator must not be empty");
    const auto add = [&](const char* begin, size_t length) {
        const std::string_view item = stripped({begin, length});
        if (!item.empty()) numbers.push_back(number_of(item));
    };
    for (size_t i = from; i < to; ++i) {
        const nb::object row = nb::borrow(rows[i]);
        std::string_view text = utf8.of(row.ptr());
        if (mark.size() == 1) {
            for_each_run(Mark(mark[0]), text.data(), text.size(), add);
        } else {
            for (size_t at; (at = text.find(mark)) != text.npos; text.remove_prefix(at + mark.size()))
                add(text.data(), at);
            add(text.data(), text.size());
        }
        starts.push_back(static_cast<int64_t>(numbers.size()));
        utf8.forget();
    }
    return {as_array(std::move(numbers)), as_array(std::move(starts))};
}

}  // namespace

void bind_texts(nb::module_& m) {
    m.def("hash_items", hash_items, nb::arg("items"));
    m.def("hash_rows", hash_rows, nb::arg("rows"), nb::arg("start"), nb::arg("stop"));
    m.def("split_rows", split_rows, nb::arg("rows"), nb::arg("separator"), nb::arg("start"),
          nb::arg("stop"));
}

}  // namespace mercer
