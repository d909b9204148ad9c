// exp for one value, written so that the compiler vectorises the loop around it: round to nearest
// by adding and subtracting a large constant, Cody-Waite reduction to |r| <= ln(2)/2, a polynomial
// (minimax on that interval), and scaling by 2^n in two exact steps, so that subnormal results are
// right too. Everything is static: see the rule in loops.hpp.
#pragma once
#include <cstdint>
#include <cstring>

namespace mercer {
namespace {

template <class To, class From>
inline To bits_as(From x) {
    To out;
    memcpy(&out, &x, sizeof out);
    return out;
}

inline float exp_one(float x) {
    x = x < -104.0f ? -104.0f : x;  // exp of smaller x rounds to 0
    x = x > 89.0f ? 89.0f : x;      // exp of larger x rounds to infinity
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    const float shifted = x * 1.44269504088896341f + magic;
    const float n = shifted - magic;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;  // Cephes expf's minimax polynomial for (exp(r) - 1 - r) / r^2
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    // Read the integer from the low bits of `shifted`: to convert NaN to an integer is undefined.
    const int32_t k = bits_as<int32_t>(shifted) - bits_as<int32_t>(magic);
    const int32_t half = k >> 1;
    const float scale1 = bits_as<float>((half + 127) << 23);
    const float scale2 = bits_as<float>((k - half + 127) << 23);
    return p * scale1 * scale2;
}

// exp(x) = p 2^k for a number that needs no bounds.
struct ExpParts {
    double p;
    int64_t k;
};
inline ExpParts exp_parts(double x) {
    const double magic = 6755399441055744.0;  // 1.5 * 2^52
    const double shifted = x * 1.4426950408889634074 + magic;
    const double n = shifted - magic;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.60590438368216145994e-10;  // Taylor, degree 13: truncation below 1e-17 on |r| < .35
    p = p * r + 2.08767569878680989792e-9;
    p = p * r + 2.50521083854417187751e-8;
    p = p * r + 2.75573192239858906526e-7;
    p = p * r + 2.75573192239858906526e-6;
    p = p * r + 2.48015873015873015873e-5;
    p = p * r + 1.98412698412698412698e-4;
    p = p * r + 1.38888888888888888889e-3;
    p = p * r + 8.33333333333333333333e-3;
    p = p * r + 4.16666666666666666667e-2;
    p = p * r + 1.66666666666666666667e-1;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1.0;
    // The same; it also needs no 64-bit conversion instruction.
    return {p, bits_as<int64_t>(shifted) - bits_as<int64_t>(magic)};
}

inline double exp_one(double x) {
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    const ExpParts e = exp_parts(x);
    const int64_t half = e.k >> 1;
    const double scale1 = bits_as<double>((half + 1023) << 52);
    const double scale2 = bits_as<double>((e.k - half + 1023) << 52);
    return e.p * scale1 * scale2;
}

}  // namespace
}  // namespace mercer
