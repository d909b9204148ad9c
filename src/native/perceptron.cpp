// Steps of perceptrons (see perceptron.hpp): Rosenblatt, "The perceptron", Psychological Review 65,
// 1958; Freund & Schapire, "Large margin classification using the perceptron algorithm", 1999.
#include "linear_rows.hpp"
#include "loops.hpp"

namespace mercer {
namespace MERCER_ISA {
namespace {

inline void note(const PerceptronMistakes& mistakes, size_t k, size_t row, double value,
                 double time) {
    mistakes.rows[k] = static_cast<int64_t>(row);
    mistakes.values[k] = value;
    mistakes.times[k] = time;
}

template <class T>
inline void add_row(const T* row, double a, double* f, size_t count) {
    for (size_t j = 0; j < count; ++j) f[j] += a * static_cast<double>(row[j]);
}

// The support vector without which the machine changes least: that with the smallest
// alpha^2 k(x, x), the first of equals (in a stream the oldest).
inline size_t least(const double* alpha, const double* squares, size_t r) {
    size_t found = r;
    double smallest = 0;
    for (size_t i = 0; i < r; ++i) {
        if (alpha[i] == 0) continue;
        const double size = alpha[i] * alpha[i] * squares[i];
        if (found == r || size < smallest) {
            found = i;
            smallest = size;
        }
    }
    return found;
}

template <class T>
size_t visit(const T* K, const PerceptronColumns& columns, const int64_t* order, size_t count,
             const PerceptronDual& machine, const PerceptronBudget& budget,
             const PerceptronMistakes& mistakes) {
    const size_t r = columns.r, c = columns.c;
    double *f = columns.f, *alpha = machine.alpha, *lag = machine.lag;
    double bias = *machine.bias, bias_lag = *machine.bias_lag;
    double time = *machine.time, loss = *machine.loss;
    size_t made = 0, support = 0;
    if (budget.most > 0)
        for (size_t i = 0; i < r; ++i) support += alpha[i] != 0 ? 1 : 0;
    for (size_t s = 0; s < count; ++s, time += 1) {
        const size_t j = static_cast<size_t>(order[s]), row = columns.offset + j;
        const double value = columns.y[j] * (f[j] + bias);
        if (!(value <= 0) || columns.step[j] == 0) continue;
        loss -= value;
        note(mistakes, made++, row, value, time);
        const double change = columns.step[j] * columns.y[j], before = alpha[row];
        alpha[row] += change;
        lag[row] += time * change;
        add_row(K + row * c, change, f, c);
        if (machine.learns_bias) {
            bias += change;
            bias_lag += time * change;
        }
        if (budget.most == 0) continue;
        support += (alpha[row] != 0 ? 1 : 0);
        support -= (before != 0 ? 1 : 0);
        if (support <= budget.most) continue;
        const size_t dropped = least(alpha, budget.squares, r);
        add_row(K + dropped * c, -alpha[dropped], f, c);
        alpha[dropped] = 0;
        --support;
    }
    *machine.bias = bias;
    *machine.bias_lag = bias_lag;
    *machine.time = time;
    *machine.loss = loss;
    return made;
}

template <class T>
size_t visit_rows(const T* values, const PerceptronRows& samples, size_t begin,
                  const PerceptronDual& machine, const PerceptronMistakes& mistakes,
                  size_t* reached) {
    double* f = samples.f;
    double bias = *machine.bias, bias_lag = *machine.bias_lag;
    double time = *machine.time, loss = *machine.loss;
    size_t made = 0, s = begin;
    for (; s < samples.count; ++s, time += 1) {
        const double value = samples.y[s] * (f[s] + bias);
        if (!(value <= 0) || samples.step[s] == 0) continue;
        if (samples.slot[s] < 0) break;
        loss -= value;
        note(mistakes, made++, s, value, time);
        const double change = samples.step[s] * samples.y[s];
        machine.alpha[s] += change;
        machine.lag[s] += time * change;
        if (machine.learns_bias) {
            bias += change;
            bias_lag += time * change;
        }
        const T* row = values + static_cast<size_t>(samples.slot[s]) * samples.width;
        for (size_t t = s + 1; t < samples.count; ++t)
            f[t] += change * static_cast<double>(row[samples.column[t]]);
    }
    *machine.bias = bias;
    *machine.bias_lag = bias_lag;
    *machine.time = time;
    *machine.loss = loss;
    *reached = s;
    return made;
}

constexpr double smallest_scale = 1e-9;

// v becomes w, so that products with a tiny scale lose no digits.
inline void rescale(const PerceptronPrimal& machine, size_t d) {
    for (size_t j = 0; j < d; ++j) {
        if (machine.lag != nullptr) machine.lag[j] -= *machine.scales * machine.v[j];
        machine.v[j] *= *machine.scale;
    }
    *machine.scale = 1;
    *machine.scales = 0;
}

template <class T, template <class> class Row>
size_t epoch_as(const LinearRows<T>& X, const int64_t* order, size_t count, const double* y,
                const double* step, const PerceptronPrimal& machine,
                const PerceptronMistakes& mistakes) {
    constexpr size_t ahead = 3;
    double *v = machine.v, *lag = machine.lag, *q = machine.q;
    double &scale = *machine.scale, &scales = *machine.scales, &time = *machine.time;
    double &loss = *machine.loss, &shrunk = *machine.shrunk;
    const bool averages = lag != nullptr;
    size_t made = 0;
    for (size_t s = 0; s < count; ++s) {
        if (s + ahead < count) prefetch(X, static_cast<size_t>(order[s + ahead]));
        const size_t i = static_cast<size_t>(order[s]);
        const Row<T> row(X, i);
        const double value = y[i] * (scale * row.dot(v) + v[X.d]);
        const bool wrong = value <= 0 && step[i] != 0;
        if (machine.decay != 1) {
            scale *= machine.decay;
            if (scale < smallest_scale) rescale(machine, X.d);
        }
        if (wrong) {
            loss -= value;
            note(mistakes, made++, i, value, time);
            const double change = step[i] * y[i];
            row.add_to(v, change / scale);
            if (averages) row.add_to(lag, scales * change / scale);
            if (machine.learns_bias) {
                v[X.d] += change;
                if (averages) lag[X.d] += time * change;
            }
        }
        if (machine.shrink > 0) {
            shrunk += machine.shrink;
            row.each([&](size_t j, double) {
                const double z = v[j];
                if (z > 0) {
                    const double moved = z - (shrunk + q[j]) / scale;
                    v[j] = moved > 0 ? moved : 0;
                } else if (z < 0) {
                    const double moved = z + (shrunk - q[j]) / scale;
                    v[j] = moved < 0 ? moved : 0;
                }
                q[j] += scale * (v[j] - z);
                if (averages) lag[j] += scales * (v[j] - z);
            });
        }
        scales += scale;
        time += 1;
    }
    return made;
}

template <class T>
size_t epoch(const LinearRows<T>& X, const int64_t* order, size_t count, const double* y,
             const double* step, const PerceptronPrimal& machine,
             const PerceptronMistakes& mistakes) {
    return X.columns ? epoch_as<T, SparseRow>(X, order, count, y, step, machine, mistakes)
                     : epoch_as<T, DenseRow>(X, order, count, y, step, machine, mistakes);
}

void votes(const double* G, size_t n, size_t m, const int64_t* place, const double* change,
           const double* counts, size_t mistakes, double bias, const double* start, double* out) {
    for (size_t i = 0; i < n; ++i) {
        const double* row = G + i * m;
        double f = start[i], total = f > 0 ? counts[0] : (f < 0 ? -counts[0] : 0.0);
        for (size_t k = 0; k < mistakes; ++k) {
            f += change[k] * (row[place[k]] + bias);
            total += f > 0 ? counts[k + 1] : (f < 0 ? -counts[k + 1] : 0.0);
        }
        out[i] += total;
    }
}

}  // namespace

extern const PerceptronVoteLoops perceptron_votes;
constinit const PerceptronVoteLoops perceptron_votes = {votes};
extern const PerceptronLoops<float> perceptron32;
extern const PerceptronLoops<double> perceptron64;
constinit const PerceptronLoops<float> perceptron32 = {visit<float>, visit_rows<float>, epoch<float>};
constinit const PerceptronLoops<double> perceptron64 = {visit<double>, visit_rows<double>, epoch<double>};

}  // namespace MERCER_ISA
}  // namespace mercer
