// The extension module mercer._native: the choice of instruction set, and the loops of each
// binding file. The Python modules validate, encode and explain; the bindings only unpack arrays
// and release the GIL while a loop runs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bind.hpp"

NB_MODULE(_native, m) {
    using namespace mercer;
    // Loops let go of the GIL and take it again, which in another interpreter of the process waits for
    // ever.
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
        throw nanobind::import_error(
            "Mercer works in the main interpreter of a process alone, as numpy does: import it there, "
            "use processes in place of subinterpreters, and under mod_wsgi set "
            "\"WSGIApplicationGroup %{GLOBAL}\".");
    const char* wanted = std::getenv("MERCER_ISA");
    if (wanted != nullptr && *wanted != 0 && !use_isa(wanted)) {
        const std::string message = std::string("MERCER_ISA=") + wanted +
                                    ": this machine has no such instruction set; unset it, or give "
                                    "portable, avx2 or avx512.";
        throw nanobind::import_error(message.c_str());
    }
    m.def("isa", [] { return loops->isa; });
    m.def("use_isa", [](const char* name) { return use_isa(name); });
    m.def("available_isas", [] {
        const char* names[3];
        const int count = available_isas(names);
        return std::vector<std::string>(names, names + count);
    });
    bind_arc_cosine(m);
    bind_bins(m);
    bind_radial(m);
    bind_convolutions(m);
    bind_density(m);
    bind_descent(m);
    bind_distances(m);
    bind_documents(m);
    bind_edit(m);
    bind_embedding(m);
    bind_graph_edit(m);
    bind_graphs(m);
    bind_hashing(m);
    bind_shapley(m);
    bind_smo(m);
    bind_kmers(m);
    bind_linear_svm(m);
    bind_link(m);
    bind_nearest(m);
    bind_neighbour_process(m);
    bind_neighbourhood(m);
    bind_perceptron(m);
    bind_trees(m);
    bind_triangle(m);
    bind_row_search(m);
    bind_series(m);
    bind_sets(m);
    bind_subsequences(m);
    bind_subsets(m);
    bind_texts(m);
    bind_walks(m);
}
