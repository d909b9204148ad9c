// Loops of linear support vector machines; called by the solvers/linear_*.py files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// n rows of d columns: dense when `columns` is null, else CSR with each row's entries at
// starts[i] .. starts[i + 1]. There is one more column with the constant `bias`, so vectors of
// weights have d + 1 entries.
template <class T>
struct LinearRows {
    const T* values;
    const int32_t* columns;
    const int64_t* starts;
    size_t n, d;
    double bias;
};

// min over beta of |X' beta|^2 / 2 + sum_i (curvature_i beta_i^2 / 2 - target_i beta_i +
// epsilon |beta_i|): the dual of every loss. If losses are squared, curvature = 1 / (2 C) and beta
// has no bounds, else curvature = 0 and |beta| <= C; if one_sided, beta has the sign of the target.
struct LinearLoss {
    double epsilon;
    bool squared, one_sided;
};

// The numbers of a row are stored together, because rows are visited in random order;
// square = |x|^2.
struct LinearVariable {
    double beta, target, C, square;
};

// The variables that are not set aside: the first *count of `active`, a permutation. `violation` is
// the largest violation of the last epoch, `random` the state of the shuffle (not 0).
struct ActiveSet {
    int64_t* active;
    size_t* count;
    double* violation;
    uint64_t* random;
};

// For each of n rows the dual variable nearest(f) = soft(t - f, epsilon) * step, brought into
// [low, high].
struct LinearBox {
    const double *t, *step, *low, *high;
    double epsilon;
    size_t n;
};

struct LinearBoxLoops {
    // near = nearest(f); slope = step if near is neither at a bound nor at the kink, else 0.
    void (*nearest)(const LinearBox& box, const double* f, double* near, double* slope);
    // sum_i change_i (nearest(f + size change)_i - near_i).
    double (*along)(const LinearBox& box, const double* f, const double* change, double size,
                    const double* near);
};

template <class T>
struct LinearLoops {
    // f[i] = x_i w.
    void (*outputs)(const LinearRows<T>& X, const double* w, double* f);
    // w += sum_i c[i] x_i; rows with c[i] = 0 are skipped.
    void (*combine)(const LinearRows<T>& X, const double* c, double* w);
    // out[i] = |x_i|^2, without the bias.
    void (*squares)(const LinearRows<T>& X, double* out);
    // The lower triangle of H (d + 1, d + 1) += sum_i h[i] x_i x_i'; sparse rows with ascending
    // columns.
    void (*gram)(const LinearRows<T>& X, const double* h, double* H);
    // Epochs of coordinate descent on the dual; w = X' beta is updated. Stops when the violation of
    // an epoch is at most tol; returns the number of epochs.
    size_t (*dual_epochs)(const LinearRows<T>& X, LinearVariable* variables, const LinearLoss& loss,
                          double* w, const ActiveSet& set, size_t epochs, double tol);
    // The dual of Crammer and Singer's machine: min |W|^2 / 2 + sum_im [m != code_i] alpha_im over
    // alpha_im <= C_i [m == code_i], sum_m alpha_im = 0; W (d + 1, k) = X' alpha is updated.
    size_t (*class_epochs)(const LinearRows<T>& X, const int64_t* code, const double* C,
                           const double* squares, size_t k, double* W, double* alpha,
                           const ActiveSet& set, size_t epochs, double tol);
    // min over v of sum_j |v_j| + g v + |q|^2 / 2. When v_j changes, q changes by x_j times this
    // change; here the rows x_j of X are the columns of the data. No bias.
    size_t (*lasso_epochs)(const LinearRows<T>& X, const double* g, const double* squares, double* v,
                           double* q, const ActiveSet& set, size_t epochs, double tol);
};

}  // namespace mercer
