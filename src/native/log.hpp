// log for one positive value, written so that the compiler vectorises the loop around it: split
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), then log m = 2 atanh(s) with s = (m - 1) / (m + 1), by
// its odd series, and add e ln 2 in two parts. Numbers below the smallest normal number give the
// logarithm of this number, -87.3 (-708.4). Everything is static: see the rule in loops.hpp.
#pragma once
#include "exp.hpp"

namespace mercer {
namespace {

inline float log_one(float x) {
    x = x < 1.17549435e-38f ? 1.17549435e-38f : x;
    const int32_t shifted = bits_as<int32_t>(x) - 0x3f3504f3;  // bits of sqrt(1/2)
    const int32_t e = shifted >> 23;
    const float m = bits_as<float>((shifted & 0x007fffff) + 0x3f3504f3);
    const float s = (m - 1) / (m + 1), t = s * s;
    float p = 1.0f / 9;  // |s| < 0.172: the next term is below 1e-9
    p = p * t + 1.0f / 7;
    p = p * t + 1.0f / 5;
    p = p * t + 1.0f / 3;
    const float n = static_cast<float>(e);
    return n * 0.693359375f + (2 * s + (2 * s * t * p - n * 2.12194440e-4f));
}

inline double log_one(double x) {
    x = x < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : x;
    const int64_t shifted = bits_as<int64_t>(x) - 0x3fe6a09e667f3bcdLL;  // bits of sqrt(1/2)
    const int64_t e = shifted >> 52;
    const double m = bits_as<double>((shifted & 0x000fffffffffffffLL) + 0x3fe6a09e667f3bcdLL);
    const double s = (m - 1) / (m + 1), t = s * s;
    double p = 1.0 / 21;  // |s| < 0.172: the next term is below 1e-18
    p = p * t + 1.0 / 19;
    p = p * t + 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    // e + 1.5 * 2^52 as a float has e in its low bits: no 64-bit conversion instruction is needed
    const double n = bits_as<double>(e + bits_as<int64_t>(6755399441055744.0)) - 6755399441055744.0;
    return n * 6.93147180369123816490e-01 + (2 * s + (2 * s * t * p + n * 1.90821492927058770002e-10));
}

}  // namespace
}  // namespace mercer
