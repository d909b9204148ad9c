// Texts of Python as bytes, and arrays that are returned; for bindings that read texts.
#pragma once
#include <string_view>
#include <vector>

#include "bind.hpp"
#include "text_hash.hpp"

namespace mercer {
namespace {

template <class T>
using Numbers = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Numbers<T> as_array(std::vector<T>&& numbers) {
    auto* held = new std::vector<T>(std::move(numbers));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Numbers<T>(held->data(), {held->size()}, owner);
}

// --- texts of Python -----------------------------------------------------------------------------

// The bytes of texts in UTF-8, which live as long as this object and the texts; it is made and
// destroyed while the GIL is held.
class Utf8 {
public:
    Utf8() = default;
    Utf8(const Utf8&) = delete;
    Utf8& operator=(const Utf8&) = delete;
    ~Utf8() { forget(); }
    void forget() {
        for (PyObject* owner : owners) Py_DECREF(owner);
        owners.clear();
    }
    std::string_view of(PyObject* text) {
        if (!PyUnicode_Check(text)) throw nb::type_error("an item is not a text");
#if !defined(Py_LIMITED_API)
        if (PyUnicode_IS_COMPACT_ASCII(text))  // its own bytes: nothing is copied, nor kept with it
            return {static_cast<const char*>(PyUnicode_DATA(text)),
                    static_cast<size_t>(PyUnicode_GET_LENGTH(text))};
#else
        Py_ssize_t size = 0;
        if (const char* bytes = PyUnicode_AsUTF8AndSize(text, &size))
            return {bytes, static_cast<size_t>(size)};
        PyErr_Clear();  // half of a pair of surrogates
#endif
        PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
        if (bytes == nullptr) throw nb::python_error();
        owners.push_back(bytes);
        return {PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes))};
    }

private:
    std::vector<PyObject*> owners;
};

}  // namespace
}  // namespace mercer
