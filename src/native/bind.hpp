// For all binding files: array types, and one declaration per binding file. The rule for arrays:
// matrices, and all arrays that are written to, are never converted (noconvert), because values
// written to a converted copy would be lost. Vectors that are only read may be converted.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "loops.hpp"

namespace mercer {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// Compilers assume that the address of a number is a multiple of its size.
template <class... Arrays>
void check_aligned(const Arrays&... arrays) {
    const auto aligned = [](const auto& A) {
        return reinterpret_cast<std::uintptr_t>(A.data()) % A.itemsize() == 0;
    };
    if (!(aligned(arrays) && ...))
        throw std::invalid_argument("arrays must be aligned: copy them by np.require(A, None, 'A')");
}

inline void wants(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

void bind_arc_cosine(nb::module_& m);
void bind_bins(nb::module_& m);
void bind_radial(nb::module_& m);
void bind_convolutions(nb::module_& m);
void bind_density(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_distances(nb::module_& m);
void bind_documents(nb::module_& m);
void bind_edit(nb::module_& m);
void bind_embedding(nb::module_& m);
void bind_graph_edit(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_hashing(nb::module_& m);
void bind_shapley(nb::module_& m);
void bind_smo(nb::module_& m);
void bind_kmers(nb::module_& m);
void bind_linear_svm(nb::module_& m);
void bind_link(nb::module_& m);
void bind_nearest(nb::module_& m);
void bind_neighbour_process(nb::module_& m);
void bind_neighbourhood(nb::module_& m);
void bind_perceptron(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_triangle(nb::module_& m);
void bind_row_search(nb::module_& m);
void bind_series(nb::module_& m);
void bind_sets(nb::module_& m);
void bind_subsequences(nb::module_& m);
void bind_subsets(nb::module_& m);
void bind_texts(nb::module_& m);
void bind_walks(nb::module_& m);

}  // namespace mercer
