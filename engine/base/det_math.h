// Elementary functions with the same bits on every compiler and machine, within 2 units in the last place.
// Made only of + - * / sqrt, comparisons, integers and std::fma, which IEEE 754 fixes exactly.
#pragma once

namespace servetwin {

// Special values follow C: det_log(0) is -infinity, det_log of a negative is NaN, det_exp overflows to
// infinity.
double det_exp(double x);
double det_log(double x);
double det_log2(double x);
// log(1 + x), accurate near 0.
double det_log1p(double x);
// x to the y for x >= 0; NaN for a negative x.
double det_pow(double x, double y);
// log(k!) for k >= 0, absolute error below 1e-12 times its value plus 1e-14.
double det_log_factorial(double k);
// The x below which a standard normal variable falls with probability p, for 0 < p < 1; infinite at the ends.
double det_normal_quantile(double p);

}  // namespace servetwin
