// Products with the upper triangle of a symmetric matrix; called by gram/build.py.
#pragma once
#include <cstddef>

namespace mercer {

struct TriangleLoops {
    // A strip A (h, w) of a symmetric matrix: h <= w rows from the diagonal on, so that its first h
    // columns are a symmetric square. V (w, c) and out (w, c), c a multiple of 16. Adds A V to the
    // first h rows of out, and the transpose of what is right of the square, times the first h rows
    // of V, to the others.
    void (*add_strip)(const float* A, size_t h, size_t w, const float* V, size_t c, double* out);
};

}  // namespace mercer
