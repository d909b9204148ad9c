// LinearRows from the arrays of Python, for the binding files of linear machines.
#pragma once
#include "bind.hpp"

#include <stdexcept>
#include <type_traits>

namespace mercer {
namespace {

template <class T>
using Stored = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Whether every number is in [0, size).
template <class Array>
bool within(const Array& numbers, size_t count, size_t size) {
    using Number = std::make_unsigned_t<std::remove_const_t<typename Array::Scalar>>;
    Number largest = 0;  // as unsigned, a negative number is larger than all others
    for (size_t k = 0; k < count; ++k) {
        const Number number = static_cast<Number>(numbers.data()[k]);
        largest = number > largest ? number : largest;
    }
    return count == 0 || largest < size;
}

// n rows of d columns: values row by row (columns and starts are None), or CSR.
template <class T>
LinearRows<T> rows(const Stored<T>& values, const Columns& columns, const Starts& starts, size_t n,
                   size_t d, double bias) {
    const size_t stored = values.shape(0);
    if (!columns.is_valid() || !starts.is_valid()) {
        wants(!columns.is_valid() && !starts.is_valid(), "give both columns and starts or neither");
        wants(d == 0 ? stored == 0 : stored % d == 0 && stored / d == n,
              "values must have n rows of d columns");
        check_aligned(values);
        return {values.data(), nullptr, nullptr, n, d, bias};
    }
    check_aligned(values, columns, starts);
    wants(columns.shape(0) == stored, "values and columns must have the same length");
    wants(starts.shape(0) == n + 1, "starts must have one entry more than there are rows");
    int64_t last = 0;
    bool ascend = true;
    for (size_t i = 0; i <= n; ++i) {
        const int64_t start = starts.data()[i];
        ascend = ascend && start >= last;
        last = start;
    }
    if (!ascend || static_cast<size_t>(last) > stored)
        throw std::out_of_range("starts must ascend from 0 to the number of values");
    if (!within(columns, stored, d)) throw std::out_of_range("columns must be columns of X");
    return {values.data(), columns.data(), starts.data(), n, d, bias};
}

}  // namespace
}  // namespace mercer
