// What the binding files share: array types, and one declaration per binding file.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "loops.hpp"

namespace mercer {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

void bind_radial(nb::module_& m);
void bind_distances(nb::module_& m);
void bind_smo(nb::module_& m);
void bind_subsets(nb::module_& m);

}  // namespace mercer
