"""Constructor arguments: one table of what each may be, and the objects that the common ones stand for."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bayesvm.hyper import Flat, Hyperprior, Maximizer, default_hyperprior
from bayesvm.inference import EP, Inference
from bayesvm.inference.names import MANY_ROWS_EP, PREDICTIVE_EP
from bayesvm.kernels import Kernel, as_kernel
from bayesvm.likelihoods import Classification, Logistic, Regression
from bayesvm.likelihoods import from_name as likelihood_from_name
from bayesvm.models import choice_on_part
from bayesvm.models.base import Candidates, SearchOptions, TrainingData
from bayesvm.models.candidates import GrowingKernel, OneKernel
from bayesvm.models.choice_on_part import ChoiceOnPart
from bayesvm.models.chosen_process import ChosenProcess
from bayesvm.models.class_kernels import ClassKernels
from bayesvm.models.gaussian_process import GaussianProcess
from bayesvm.models.joint_process import JointProcess
from bayesvm.models.label_kernels import LabelKernels
from bayesvm.models.shared_process import SharedProcess

#: Largest change of a prediction with ``reduce="auto"``, in standard deviations: least, per root of the number of rows,
#: greatest.
AUTO_REDUCTION = (0.02, 0.003, 0.06)


@dataclasses.dataclass(frozen=True)
class Rule:
    """What an argument may be: a test, and the same in words."""

    accepts: Callable[[Any], bool]
    expected: str


def whole(least: int, *also: Any) -> Rule:
    """Return the rule of an integer of at least ``least``, or one of some other values."""
    words = "".join(f"{value!r} or " for value in also)
    return Rule(
        lambda value: _among(value, also) or (is_whole(value) and value >= least),
        f"{words}an integer of at least {least}",
    )


def real(
    above: float = -np.inf, *also: Any, least: float = -np.inf, most: float = np.inf, what: str = "number"
) -> Rule:
    """Return the rule of a finite number above, of at least or at most some value, or one of some other values."""
    words = "".join(f"{value!r} or " for value in also)
    limits = [f"above {above:g}"] if above > -np.inf else [f"of at least {least:g}"] if least > -np.inf else []
    limits += [f"at most {most:g}"] if most < np.inf else []
    positive = above == 0.0 and most == np.inf
    text = f"a positive {what}" if positive else f"a {what} {' and '.join(limits)}".rstrip()
    return Rule(
        lambda value: _among(value, also) or (is_real(value) and above < value and least <= value <= most),
        words + text,
    )


def one_of(*values: Any) -> Rule:
    """Return the rule of one of some values."""
    listed = [repr(value) for value in values]
    text = " or ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0]
    return Rule(lambda value: _among(value, values), text)


def is_whole(value: object) -> bool:
    """Whether a value is an integer (and not a truth value)."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Whether a value is a finite number (and not a truth value)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _among(value: Any, values: tuple[Any, ...]) -> bool:
    return any(value is other or (isinstance(value, str) and value == other) for other in values)


#: Arguments that mean the same in all estimators that have them.
COMMON: Mapping[str, Rule] = {
    "optimizer": one_of("bfgs", None),
    "theta": one_of("optimum", "integrate"),
    "n_starts": whole(1),
    "max_evaluations": whole(1),
    "evidence_tol": real(0.0, what="number of nats"),
    "hyperprior": Rule(
        lambda value: value is None or isinstance(value, Hyperprior), "None or a bayesvm.hyper.Hyperprior"
    ),
    "calibrate": one_of("auto", "loo", None),
    "reduce": real(0.0, "auto", None, what="number of standard deviations"),
    "inducing": whole(1, "auto", None),
    "multi_class": one_of("shared", "ovr", "softmax"),
    "warm_start": one_of(True, False),
    "max_iter": whole(1),
    "tol": real(0.0, None),
    "cache_size": real(0.0),
    "C": real(0.0),
    "n_draws": whole(2),
}


def check_arguments(estimator: Any, own: Mapping[str, Rule] | None = None) -> None:
    """Refuse constructor arguments out of range, each with what was expected and what was found.

    ``own`` holds the rules of arguments that only this estimator has, or that mean something else in it.
    """
    rules = {**COMMON, **(own or {})}
    for name, value in estimator.get_params(deep=False).items():
        if name in rules and not rules[name].accepts(value):
            raise ValueError(f"{name}: expected {rules[name].expected}, found {value!r}")


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for anything that scikit-learn takes as ``random_state``."""
    if random_state is None or isinstance(random_state, int | np.integer | np.random.Generator):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


def search_options(estimator: Any) -> SearchOptions:
    """Return how the estimator searches for its hyperparameters."""
    maximizer = Maximizer(
        tol=float(estimator.evidence_tol),
        max_evaluations=int(estimator.max_evaluations),
        n_jobs=estimator.n_jobs,
    )
    given = estimator.random_state  # one seed per specification: whatever is drawn again for it is the same
    seed = int(given) if is_whole(given) else int(generator(given).integers(2**31))
    return SearchOptions(estimator.optimizer is not None, int(estimator.n_starts), maximizer, seed)


def hyperprior(estimator: Any) -> Hyperprior:
    """Return the density of theta that the estimator was given, flat if none."""
    return Flat() if estimator.hyperprior is None else estimator.hyperprior


def kernel_candidates(estimator: Any, default: Kernel, *, auto: bool = True) -> Candidates:
    """Return the kernels that the arguments ``kernel`` and ``ard`` of an estimator ask for."""
    if is_auto(estimator.kernel) and auto and not estimator.ard and estimator.optimizer is not None:
        return GrowingKernel(default)
    if is_auto(estimator.kernel) and not auto:
        as_kernel(estimator.kernel)  # refuses it: nothing is chosen here
    return OneKernel(given_kernel(estimator, default), has_kernel(estimator))


def given_kernel(estimator: Any, default: Kernel) -> Kernel:
    """Return the one kernel that the arguments ``kernel`` and ``ard`` ask for; ``default`` for None and "auto"."""
    kernel = as_kernel(estimator.kernel) if has_kernel(estimator) else default
    return kernel.with_ard() if estimator.ard else kernel


def has_kernel(estimator: Any) -> bool:
    """Whether the estimator was given a kernel of the user's."""
    return estimator.kernel is not None and not is_auto(estimator.kernel)


def is_auto(value: Any) -> bool:
    """Whether an argument leaves the choice to the data."""
    return isinstance(value, str) and value == "auto"


def chooses(estimator: Any) -> bool:
    """Whether the kernel is chosen: it is "auto", and neither ``ard`` asks for a form nor are its parameters given."""
    return is_auto(estimator.kernel) and not estimator.ard and estimator.optimizer is not None


def integrates(estimator: Any) -> bool:
    """Whether predictions are averaged over the hyperparameters."""
    return bool(estimator.theta == "integrate" and estimator.optimizer is not None)


def proper_hyperprior(estimator: Any, data: TrainingData, spread: float | None = None) -> Hyperprior:
    """Return the density of theta for models that are compared: the default one, unless a proper one was given."""
    given = estimator.hyperprior
    if given is None:
        return default_hyperprior(data.distance, spread=spread)
    if isinstance(given, Flat):
        raise ValueError("hyperprior: expected None or a proper density, since models are compared, found Flat()")
    return given


def label_likelihood(value: Any) -> Classification:
    """Return the likelihood of labels that a name or an object stands for."""
    likelihood = likelihood_from_name(value) if isinstance(value, str) else value
    if not isinstance(likelihood, Classification) or not likelihood.traits.normalized:
        raise ValueError(
            "likelihood: expected 'trigonometric', 'raised-cosine', 'logistic', 'probit' or an object for two classes "
            f"that is a normalised probability, found {value!r}"
        )
    return likelihood


def label_process(
    estimator: Any, data: TrainingData, likelihood: Classification, inference: Inference, default: Kernel
) -> GaussianProcess:
    """Return what a classifier with a Gaussian process fits: one kernel, or an average of those that it chooses."""
    shared = shares_kernel(estimator, data)
    joint = shared and estimator.calibrate is not None
    asked = estimator.posterior
    if is_auto(asked):  # the means of the mode are enough for classes that are calibrated together
        asked = None if joint else "ep"
    many = chooses(estimator) and not shared and data.n_rows > choice_on_part.MANY
    posterior = (
        many_rows_posterior(estimator, inference)
        if many
        else predictive_posterior(asked, estimator.inference, inference)
    )
    options: dict[str, Any] = {
        "posterior": posterior,
        "calibrate": estimator.calibrate,
        "reduce": reduction_tolerance(estimator, data, posterior, joint=joint),
        "options": search_options(estimator),
        "shared": shared,
    }
    kernels: Candidates = kernel_candidates(estimator, default)
    if not (chooses(estimator) or integrates(estimator)):
        kind = JointProcess if joint else GaussianProcess
        return kind(kernels, likelihood, inference, hyperprior=hyperprior(estimator), **options)
    prior = proper_hyperprior(estimator, data)
    if joint and not integrates(estimator):
        return SharedProcess(ClassKernels(), likelihood, inference, hyperprior=prior, **options)
    if chooses(estimator):
        few = LabelKernels() if estimator.hyperprior is None else LabelKernels((1.0,))
        kernels = ChoiceOnPart(few, (Logistic(),) if is_auto(estimator.likelihood) else ())
    options["integrate"] = integrates(estimator)
    return ChosenProcess(kernels, likelihood, inference, hyperprior=prior, **options)


def shares_kernel(estimator: Any, data: TrainingData) -> bool:
    """Whether there are several classes that are to have one kernel."""
    return data.n_outputs > 1 and estimator.multi_class == "shared"


def noise_likelihood(value: Any) -> Regression:
    """Return the noise model that a name or an object stands for."""
    likelihood = likelihood_from_name(value) if isinstance(value, str) else value
    if not isinstance(likelihood, Regression):
        raise ValueError(
            "likelihood: expected 'soft-insensitive', 'smooth-insensitive', 'huber', 'laplace', 'epsilon-insensitive', "
            f"'gaussian-noise' or an object for real targets, found {value!r}"
        )
    return likelihood


def in_units(likelihood: Regression, data: TrainingData, *, given: bool) -> Regression:
    """Return a noise model in the units used inside.

    One that was ``given`` as an object is in the user's units, one by name in units of the standard deviation of the
    targets.
    """
    return likelihood.rescaled(1.0 / float(data.scale[0]) if given else data.spread)


def predictive_posterior(posterior: Any, name: Any, inference: Inference) -> EP | None:
    """Return the method of the predictions, None if it is that of the evidence."""
    if posterior not in (None, "ep") and posterior != name:
        raise ValueError(f"posterior: expected None, 'ep' or the method of inference, {name!r}, found {posterior!r}")
    return PREDICTIVE_EP if posterior == "ep" and not isinstance(inference, EP) else None


def many_rows_posterior(estimator: Any, inference: Inference) -> EP | None:
    """Return the method of a classifier's predictions with many rows: the evidence's, unless "ep" is asked for."""
    asked = None if is_auto(estimator.posterior) else estimator.posterior
    return MANY_ROWS_EP if predictive_posterior(asked, estimator.inference, inference) else None


def reduction_tolerance(
    estimator: Any, data: TrainingData, method: EP | None = None, *, joint: bool = False
) -> float | None:
    """Return the largest change of a prediction, in standard deviations, for which the posterior is reduced.

    "auto" leaves a machine as it is whose predictions come, uncalibrated, from the posterior that found the
    hyperparameters: the machine of a paper; and one of ``joint`` classes, which the support vectors predict. ``method``
    is the one that gives another posterior, if there is one. Otherwise the tolerance grows with the root of the number
    of rows: changes have either sign, so that their effect on the likelihood of as many new rows falls with that root.
    """
    if not isinstance(estimator.reduce, str):
        return None if estimator.reduce is None else float(estimator.reduce)
    if method is None and (joint or estimator.calibrate is None):
        return None
    least, rate, greatest = AUTO_REDUCTION
    return min(max(least, rate * float(np.sqrt(np.sum(data.counts)))), greatest)


__all__ = [
    "Rule",
    "check_arguments",
    "chooses",
    "generator",
    "given_kernel",
    "has_kernel",
    "hyperprior",
    "in_units",
    "integrates",
    "is_auto",
    "is_real",
    "is_whole",
    "kernel_candidates",
    "label_likelihood",
    "label_process",
    "many_rows_posterior",
    "noise_likelihood",
    "one_of",
    "predictive_posterior",
    "proper_hyperprior",
    "real",
    "reduction_tolerance",
    "search_options",
    "shares_kernel",
    "whole",
]
