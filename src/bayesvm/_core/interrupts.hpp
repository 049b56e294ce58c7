// Ctrl-C in the middle of a long calculation.
#pragma once
#include <nanobind/nanobind.h>

namespace bayesvm {

// To be called without the GIL: raises KeyboardInterrupt, or what else a handler raises, if a signal has arrived.
inline void let_interrupts_in() {
  const nanobind::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

} // namespace bayesvm
