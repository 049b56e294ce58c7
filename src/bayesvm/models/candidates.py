"""Which kernels are tried: the given one, a list of them, or a family in which each contains the one before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesvm.kernels import Kernel, Linear
from bayesvm.models.base import FittedModel, KernelCandidate, ModelSpec, TrainingData
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class OneKernel:
    """One kernel; its own parameters are the first start if they are ``given`` by the user."""

    kernel: Kernel
    given: bool = False

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the kernel."""
        yield KernelCandidate(self.kernel, given=self.given, n_starts=spec.options.n_starts)


@dataclasses.dataclass(frozen=True)
class ListOfKernels:
    """Several kernels, compared by their evidence; their own parameters are the first starts if ``given``."""

    kernels: tuple[Kernel, ...]
    given: bool = False

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the kernels in their order."""
        for kernel in self.kernels:
            yield from OneKernel(kernel, self.given)(spec, data, tried)


@dataclasses.dataclass(frozen=True)
class KnownModels:
    """Kernels and hyperparameters of an earlier fit, one of each per output; nothing is chosen, and one start is made.

    Parameters
    ----------
    kernels : tuple of Kernel
        With their learnt parameters.
    thetas : tuple of arrays
        All hyperparameters.
    changes : tuple of mappings
        Fields of the specification that were chosen with each kernel.
    """

    kernels: tuple[Kernel, ...]
    thetas: tuple[Vector, ...]
    changes: tuple[Mapping[str, Any], ...]

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the kernel of the output, or of the last one there was; another likelihood starts as it is given."""
        k = min(data.index, len(self.kernels) - 1)
        own = dataclasses.replace(spec, **self.changes[k])
        fits = own.objective(self.kernels[k], data).theta0.size == self.thetas[k].size
        starts = [self.thetas[k]] if fits else ()
        yield KernelCandidate(self.kernels[k], starts=starts, given=not fits, changes=self.changes[k])


@dataclasses.dataclass(frozen=True)
class GrowingKernel:
    """Gaussian plus constant, then with a linear part, then the better of the two with one length scale per feature.

    Each kernel contains the one before it, and starts from its optimum: the evidence of a larger kernel can be lower
    only by what the tolerance of the search leaves.
    """

    kernel: Kernel

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the three kernels."""
        n_starts = spec.options.n_starts
        yield KernelCandidate(self.kernel, "gaussian + constant", n_starts=n_starts)
        if not tried:
            return
        plain = tried[0]
        gaussian, constant = plain.kernel.leaves()
        wider = gaussian + Linear(0.01 / data.n_features) + constant
        yield KernelCandidate(wider, "gaussian + linear + constant", [_theta(wider, plain)], n_starts=min(2, n_starts))
        best = max(tried, key=lambda model: model.maximum.value)
        relevant = best.kernel.with_ard().bind(data.n_features)
        yield KernelCandidate(relevant, f"{_form(best.kernel)} with ard", [_theta(relevant, best)])


def _theta(kernel: Kernel, model: FittedModel) -> Vector:
    """Return a start with the given kernel and the likelihood of a model."""
    return np.concatenate([kernel.theta, model.likelihood.theta])


def _form(kernel: Kernel) -> str:
    return " + ".join(type(leaf).__name__.lower() for leaf in kernel.leaves())


__all__ = ["GrowingKernel", "KnownModels", "ListOfKernels", "OneKernel"]
