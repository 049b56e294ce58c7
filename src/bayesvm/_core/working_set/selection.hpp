// The loops over all active variables; the time of the solver is spent here. Everything is finite (kHuge stands for
// infinity).
#pragma once
#include "terms.hpp"

namespace bayesvm::working_set {

// Smallest g + up and largest g + down, with their positions: the two ends of the optimality conditions.
struct Extremes {
  double low, high;
  Index low_at, high_at;
};

Extremes extremes(const double* g, const double* up, const double* down, Index n);

// g += x a + y b, and the extremes of the new g.
Extremes advance(double* g, const double* a, double x, const double* b, double y, const double* up, const double* down,
                 Index n);

// Partner of a variable that grows with slope `level`: position of the largest (g + down - level)^2 / (quad_i + quad -
// 2 column) among those with g + down > level; -1 if there is none. Second-order selection with the equality
// constraint.
Index partner(const double* g, const double* down, const double* quad, const double* column, double level,
              double quad_i, Index n);

// Position of the largest one-variable gain v^2 / quad, v the violation without equality constraint; -1 if there is
// none.
Index best_single(const double* g, const double* up, const double* down, const double* quad, Index n);

// Position of the variable that gains most together with `self` (slope g_i, curvature quad_i); -1 if none helps.
Index best_second(const double* g, const double* up, const double* down, const double* quad, const double* column,
                  double g_i, double quad_i, Index self, Index n);

// g += x a.
void add(double* g, const double* a, double x, Index n);

} // namespace bayesvm::working_set
