// What the bindings that compare lists of labelled graphs share: array types, and a list whose numbers
// cannot lead to a wrong address.
#pragma once
#include "bind.hpp"

namespace mercer {

template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void check_starts(const List<const int64_t>& starts, size_t end) {
    bool ascend = starts.shape(0) >= 1 && starts.data()[0] == 0;
    for (size_t i = 1; ascend && i < starts.shape(0); ++i)
        ascend = starts.data()[i - 1] <= starts.data()[i];
    if (!ascend || uint64_t(starts.data()[starts.shape(0) - 1]) != end)
        throw std::out_of_range("starts must ascend from 0 to the number of entries");
}

// A list of graphs with a number for each label.
struct LabelledGraphs {
    const int64_t *nodes, *rows;
    const int32_t* to;
    const uint64_t *labels, *marks;
    size_t count, largest = 0;

    LabelledGraphs(const List<const int64_t>& node_starts, const List<const int64_t>& row_starts,
                   const List<const int32_t>& neighbours, const List<const uint64_t>& names,
                   const List<const uint64_t>& of_edges)
        : nodes(node_starts.data()), rows(row_starts.data()), to(neighbours.data()),
          labels(names.data()), marks(of_edges.shape(0) > 0 ? of_edges.data() : nullptr) {
        check_aligned(node_starts, row_starts, neighbours, names, of_edges);
        wants(marks == nullptr || of_edges.shape(0) == neighbours.shape(0),
              "marks must have one entry for each neighbour, or none");
        wants(row_starts.shape(0) >= 1, "row_starts must have N + 1 entries");
        wants(names.shape(0) + 1 == row_starts.shape(0), "labels must have one entry for each node");
        check_starts(node_starts, names.shape(0));
        check_starts(row_starts, neighbours.shape(0));
        count = node_starts.shape(0) - 1;
        for (size_t g = 0; g < count; ++g) {
            const int64_t size = nodes[g + 1] - nodes[g];
            largest = size > static_cast<int64_t>(largest) ? static_cast<size_t>(size) : largest;
            for (int64_t e = rows[nodes[g]]; e < rows[nodes[g + 1]]; ++e)
                if (to[e] < 0 || to[e] >= size)
                    throw std::out_of_range("neighbours must be nodes of the same graph");
        }
    }
};

}  // namespace mercer
