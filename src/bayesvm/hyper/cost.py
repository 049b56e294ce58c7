"""What an evaluation of the evidence of many rows needs, before it is computed."""

from __future__ import annotations

import dataclasses
import functools

from bayesvm.hyper import inducing, local
from bayesvm.hyper.inducing import InducingEvidence
from bayesvm.hyper.local import LocalGaussianObjective, LocalObjective
from bayesvm.inference.low_rank import features

#: Floating point operations per second of one core in products of matrices, on the cautious side.
RATE = 1e10
#: Operations per entry of a Gram matrix and of its derivative: the kernel's own function, and those per feature.
ENTRY = 60
FEATURE = 6
#: Newton steps for the mode of a likelihood that is not quadratic, with a start at hand.
STEPS = 3


@dataclasses.dataclass(frozen=True)
class Cost:
    """Memory in bytes and floating point operations of one evaluation with its gradient."""

    memory: float
    operations: float

    @property
    def seconds(self) -> float:
        """Expected time on one core."""
        return self.operations / RATE

    def __str__(self) -> str:
        return f"about {self.memory / 2**20:.0f} MiB and {self.seconds:.2g} s per evaluation"


@functools.singledispatch
def expected_cost(objective: object) -> Cost:
    """Return what an evaluation of the objective needs, as its sizes tell."""
    raise TypeError(f"expected_cost: expected an evidence of many rows, found {type(objective).__name__}")


@expected_cost.register
def _(objective: InducingEvidence) -> Cost:
    n, m, q = objective.n_rows, objective.numbers.size, objective.n_outputs
    steps = 1 if objective.likelihood.traits.quadratic else STEPS
    memory = 8.0 * (min(n * m, inducing.KEPT) + 4 * features.BLOCK + 8 * m * m + 12 * n * q)
    entries = n * m * (ENTRY + FEATURE * objective.inputs.n_features)
    return Cost(memory, n * m * m * (1.0 + q * (steps + 3.0)) + 2.0 * entries)


@expected_cost.register
def _(objective: LocalGaussianObjective) -> Cost:
    sizes, m = [h.rows.size for h in objective.neighbourhoods], objective.rows.size
    kept = min(sum(s * (s + m) for s in sizes), local.KEPT)
    memory = 8.0 * (kept + 2 * objective.n_rows * m + 8 * max(sizes) ** 2)
    entries = sum(s * s for s in sizes) * (ENTRY + FEATURE * objective.n_features)
    return Cost(memory, sum(5.0 * s**3 + 10.0 * s * s * m + 4.0 * s * m * m for s in sizes) + 2.0 * entries)


@expected_cost.register
def _(objective: LocalObjective) -> Cost:
    sizes, q = [h.rows.size for h in objective.neighbourhoods], len(objective.outputs)
    entries = sum(s * s for s in sizes) * (ENTRY + FEATURE * objective.n_features)
    memory = 8.0 * (12 * max(sizes) ** 2 + 2 * q * sum(sizes))
    return Cost(memory, q * sum((STEPS + 5.0) * s**3 for s in sizes) + 2.0 * entries)


__all__ = ["Cost", "expected_cost"]
