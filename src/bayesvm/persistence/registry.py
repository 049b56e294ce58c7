"""The allow-list: classes that may appear in a model file, each under a name that files keep when code is moved.

The list is made from the library's own source tree, never from a file: dataclasses, enumerations and estimators that
are defined in the layers of :data:`LAYERS`. The name of a class is that of its layer and its own, as in
``kernels.Gaussian``; versions 1 and 2 of the format also named the module (``kernels.gaussian.Gaussian``), which is
ignored. When a class is renamed or moved to another layer, its old name is entered in :data:`RENAMED`, so that files
written before still load.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from sklearn.base import BaseEstimator

from bayesvm.kernels.inputs import Inputs

#: Packages whose classes may be stored.
LAYERS = (
    "kernels",
    "likelihoods",
    "linalg",
    "solvers",
    "inference",
    "hyper",
    "models",
    "estimators",
    "tables",
    "distributed",
)

#: Old name -> present name.
RENAMED: Mapping[str, str] = {
    "distributed.BayesianSVC": "distributed.DistributedSVC",
    "distributed.BayesianSVR": "distributed.DistributedSVR",
    "estimators.Approximation": "models.Approximation",
    "estimators.Calibration": "models.Calibration",
    "estimators.Candidate": "models.Candidate",
    "estimators.LSMachine": "models.LeastSquaresModel",
    "estimators.Levels": "models.Levels",
    "estimators.Machine": "models.GaussianProcessModel",
    "estimators.Mode": "models.Mode",
    "estimators.OnlineMachine": "models.OnlineModel",
    "estimators.Refinement": "models.Refinement",
    "estimators.RelevanceMachine": "models.RelevanceVectorModel",
    "estimators.ScaleCalibration": "models.ScaleCalibration",
    "estimators.Standardizer": "models.Standardizer",
    "estimators.TargetScale": "models.TargetScale",
    "hyper.ClimbStatus": "hyper.SearchStatus",
    "hyper.NormalizedObjective": "hyper.HingeObjective",
    "hyper.ScaledObjective": "hyper.FixedProductObjective",
    "hyper.SharedObjective": "hyper.EvidenceObjective",
    "inference.Anchors": "inference.GroupCentres",
    "inference.Annealed": "inference.AnnealedEstimate",
    "inference.CoupledHinge": "inference.HingeExactOrEP",
    "inference.Gaussian": "inference.VariationalGaussian",
    "inference.Guide": "inference.Proposal",
    "inference.Online": "inference.OnlineUpdate",
    "inference.PatternMoments": "inference.HingeMoments",
    "inference.Relevance": "inference.RVMResult",
    "inference.RelevanceStart": "inference.RVMStart",
    "inference.SequentialRelevance": "inference.SequentialRVM",
    "inference.State": "inference.RVMState",
}

#: Classes that are no more: they are read as mappings of their fields, for the migration of what holds them.
REMOVED = frozenset({"distributed.Shape", "distributed.SummedEvidence", "estimators.Nodes"})

#: Classes that are no more, and what to do about a file that holds one.
COMMITTEE = (
    "a committee of blocks, which releases after 0.1 do not have; predict with bayesvm 0.1, or fit the same data anew: "
    "DistributedSVC and DistributedSVR fit one machine to all rows"
)
GONE: Mapping[str, str] = {
    f"distributed.{name}": COMMITTEE
    for name in ("CommitteeModel", "CommitteeRule", "Ensemble", "Expert", "LocalMembers", "Member", "Rule")
}


@functools.cache
def own_classes() -> Mapping[str, type]:
    """Return the classes of this library that may be stored, by name."""
    found: dict[str, type] = {}
    for layer in LAYERS:
        for module in _modules(f"bayesvm.{layer}"):
            for cls in vars(module).values():
                if inspect.isclass(cls) and cls.__module__ == module.__name__ and storable(cls):
                    other = found.setdefault(f"{layer}.{cls.__name__}", cls)
                    if other is not cls:
                        raise TypeError(f"{cls!r} and {other!r} would have the same name in a model file")
    return found


def present_name(name: str) -> str:
    """Return the name that this release gives to a class of the library, from one that any release may have written."""
    layer, _, rest = name.partition(".")
    short = f"{layer}.{rest.rpartition('.')[2]}"
    return RENAMED.get(short, short)


def storable(cls: type) -> bool:
    """Whether instances of a class are plain data: a dataclass, an enumeration, an estimator or kernel inputs."""
    plain = dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum | BaseEstimator | Inputs)
    return plain and not inspect.isabstract(cls)


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(info.name)


class Registry:
    """Names of classes and classes of names.

    Parameters
    ----------
    extra : iterable of type
        Classes of the caller's own that are trusted beside those of the library; their name is ``module:qualname``.
    """

    def __init__(self, extra: Iterable[type] = ()) -> None:
        extra = tuple(extra)
        for cls in extra:
            if not inspect.isclass(cls) or not storable(cls):
                raise TypeError(f"classes: expected dataclasses, enumerations or estimators, found {cls!r}")
        self._classes = {**own_classes(), **{f"{cls.__module__}:{cls.__qualname__}": cls for cls in extra}}
        self._names = {cls: name for name, cls in self._classes.items()}

    def name_of(self, cls: type) -> str | None:
        """Return the name of a class, None if it may not be stored."""
        return self._names.get(cls)

    def class_of(self, name: object) -> type | None:
        """Return the class of a name, None if it is not on the list."""
        if not isinstance(name, str):
            return None
        return self._classes.get(name if ":" in name else present_name(name))


__all__ = ["GONE", "LAYERS", "REMOVED", "RENAMED", "Registry", "own_classes", "present_name", "storable"]
