"""The support vector classifier of the general formulation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayesvm.estimators._arguments import Rule, one_of, real
from bayesvm.estimators._margin_classifier import MarginClassifier
from bayesvm.likelihoods.dual import Dual
from bayesvm.typing import Vector


class ExtendedSVC(MarginClassifier):
    r"""Support vector classifier with given hyperparameters: hard, :math:`L_1`, :math:`L_2`, :math:`L_e` margins.

    Minimises :math:`\tfrac12 \|w\|^2 + \sum_i C_i\, \psi(\xi_i)`, :math:`\xi_i = [1 - y_i f(x_i)]_+`, by its dual,
    Thesis (B.17).

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        None: ``Gaussian()`` with a squared length scale of half the number of features times their mean variance (close
        to scikit-learn's ``gamma="scale"``). Inputs are not standardised.
    C : float
        Price of a margin violation. The price of sample i is :math:`C_i = w_i C`, with :math:`w_i` the product of its
        sample weight and the weight of its class.
    epsilon : float
        Half the length of the quadratic part of the ``"le"`` loss.
    loss : {"l1", "l2", "le", "hard"}
        ======== ==================================================================================================
        "l1"     :math:`\psi(\xi) = \xi`, the classical machine
        "l2"     :math:`\psi(\xi) = \xi^2/2`
        "le"     :math:`\psi(\xi) = \xi^2/4\epsilon` up to :math:`2\epsilon`, then :math:`\xi - \epsilon`; Thesis (B.7)
        "hard"   no violation is allowed; ``C`` plays no part. For data that can be separated.
        ======== ==================================================================================================
    multi_class : {"ovr", "ovo"}
        Several classes: each against the rest, or each against each.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    tol : float, optional
        Largest violation (gap) of the optimality conditions, in units of f. None: 1e-3, and 1e-9 for up to 200 rows,
        where that costs nothing.
    max_iter : int
        Largest number of sweeps per machine; a sweep is as many steps as there are rows, each step moving two
        coefficients.
    cache_size : float
        Megabytes for columns of the Gram matrix.
    shrinking : bool
        Whether variables that seem settled are set aside for a while; it changes the time, not the result.
    warm_start : bool
        Whether a fit starts from the coefficients of the one before, if they are a point of the new problem. A fit that
        was interrupted (Ctrl-C) is continued by the next one.
    n_jobs : int, optional
        Machines that are fitted at the same time, in threads.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    support_, support_vectors_ : arrays
        Rows with a coefficient that is not zero in some machine, and those rows of X.
    n_support_ : array, shape (n_classes,)
        How many of them belong to each class.
    dual_coef_ : array, shape (n_machines, n_support)
        :math:`y_i \alpha_i`, one row per machine; zero where a machine does not need the row.
    intercept_ : array, shape (n_machines,)
        Bias: the middle of the interval that the optimality conditions leave to it.
    kernel_ : Kernel
        The kernel that was used.
    gap_, dual_objective_ : arrays, shape (n_machines,)
        Violation of the optimality conditions and value of the dual objective.
    n_iter_, n_steps_ : arrays of int, shape (n_machines,)
        Number of sweeps (begun) and of steps.
    converged_ : bool
        Whether all gaps are at most ``tol``.
    classes_, n_features_in_, feature_names_in_ : arrays
        As in scikit-learn.

    Notes
    -----
    With two classes f is ``dual_coef_ @ kernel_.gram(support_vectors_, X) + intercept_``, as in scikit-learn's ``SVC``,
    and with ``loss="l1"`` the solution is the same. With more classes ``dual_coef_`` has one row per machine over all
    support vectors, not scikit-learn's packed form; the one-vs-one machines are ordered (0, 1), (0, 2), ..., (1, 2),
    ... and positive for the first class of the pair.

    References
    ----------
    Thesis appendices B.1 and C.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import ExtendedSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> ExtendedSVC(C=10.0, loss="l2").fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "loss": one_of("l1", "l2", "le", "hard"),
        "epsilon": real(least=0.0),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        epsilon: float = 0.5,
        loss: str = "l1",
        multi_class: str = "ovr",
        class_weight: Any = None,
        tol: float | None = None,
        max_iter: int = 10_000,
        cache_size: float = 500.0,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _dual(self, y: Vector) -> Dual:
        C, epsilon = float(self.C), float(self.epsilon)
        if self.loss == "le" and epsilon == 0.0:
            raise ValueError("epsilon: expected a positive number with loss='le', found 0.0")
        bounds = {"l1": C, "le": C, "l2": np.inf, "hard": np.inf}
        bends = {"l1": 0.0, "le": 2.0 * epsilon / C, "l2": 1.0 / C, "hard": 0.0}
        return Dual.margin(y, bounds[self.loss], bend=bends[self.loss])


__all__ = ["ExtendedSVC"]
