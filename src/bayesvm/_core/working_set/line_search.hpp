// Exact minimisation of a dual objective along a line in one or two of its variables.
#pragma once
#include "terms.hpp"

namespace bayesvm::working_set {

// One variable of the line a + t p: its index, its value and its share of the direction (0: it stays).
struct Mover {
  Index index;
  double value;
  double direction;
};

// Minimise  slope t + curvature t^2 / 2 + sum over both movers of h(value + direction t)  over t >= 0 within the
// bounds, where slope and curvature belong to the quadratic form alone. The values of the movers become those at the
// minimum; bounds and kinks are met exactly. Segments between kinks are walked in turn (the quadrants of Thesis Table
// C.2). Returns t.
double minimize_on_line(const Terms& terms, Mover& first, Mover& second, double slope, double curvature);

} // namespace bayesvm::working_set
