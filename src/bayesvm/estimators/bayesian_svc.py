"""The Bayesian trigonometric support vector classifier."""

from __future__ import annotations

from typing import Any

from bayesvm.estimators._arguments import (
    is_auto,
    label_likelihood,
    label_process,
    many_rows_posterior,
    shares_kernel,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._large import large_process, softmax_process
from bayesvm.estimators._model_evidence import ModelEvidenceMixin
from bayesvm.inference import Inference
from bayesvm.inference.names import from_name
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Logistic
from bayesvm.models import ModelSpec, TrainingData
from bayesvm.solvers import Solver


class BayesianSVC(ModelEvidenceMixin, BayesianClassifier):
    r"""Support vector classifier that tunes itself by the evidence of the training data (BTSVC).

    The latent function has a Gaussian process prior with the given kernel; labels follow a likelihood that is one, and
    has zero loss, for margins beyond one, so that only the support vectors carry the solution. The hyperparameters
    maximise Laplace's approximation of the evidence, Chu2003 (32), with its exact gradient (33); probabilities are
    averaged over the posterior of the latent function, Chu2003 (38), (39). No grid, no validation set, no scaling by
    the user.

    Parameters
    ----------
    kernel : "auto", Kernel, scikit-learn Gaussian process kernel, str or None
        Covariance of the latent function. "auto": it is chosen by an evidence in which the hyperparameters are
        integrated out, among one length scale, one per feature with shrinkage of two strengths, a linear part, a
        rougher function, and one common scale of the inputs; where several are close, predictions are averaged (see
        Notes and ``candidates_``). None: ``Gaussian() + Constant()``, the paper's. The parameters of a given kernel
        are the first start.
    ard : bool
        One length scale per feature (automatic relevance determination) in every part of the given kernel that can
        have it, or of the paper's kernel: nothing is chosen then.
    likelihood : str or likelihood
        "auto": the trigonometric one, the paper's; with more than 3000 rows the logistic one is tried beside it on a
        sample, and the one with the higher evidence is taken. By name:
        "trigonometric", "raised-cosine" (the same shape with a continuous second derivative), "logistic" or "probit"
        (Gaussian process classifiers, not sparse); or an object of :mod:`bayesvm.likelihoods`.
    inference : {"laplace", "ep"} or Inference
        Whose evidence is maximised: Laplace's (the paper's) or that of expectation propagation (closer, and slower).
    solver : {"newton", "smo", "auto"} or Solver
        What finds the mode: semismooth Newton, the native working-set solver, or the one that suits the size of the
        data (the choice is logged). All find the same mode.
    posterior : {"auto", "ep", "laplace"}
        Where predictions come from. "ep": expectation propagation, run once at the hyperparameters that were found; its
        means and variances are better than those of Laplace's method. "laplace": the paper's behaviour, with few
        support vectors. "auto": "laplace" for several classes that share a kernel and are calibrated together, for
        which means are enough, and for more than 3000 rows whose kernel is chosen, "ep" otherwise.
    calibrate : {"auto", "loo", None}
        Correction of the log odds by two numbers (per class) fitted to leave-one-out predictions of the training rows:
        as far as the data justify it, in full, or not at all.
    reduce : "auto", float or None
        Largest change of a prediction at a training row, in posterior standard deviations, for which the posterior is
        carried by few training rows, the basis (:mod:`bayesvm.inference.reduction`); predictions, model files and
        exported models then cost as many. "auto": 0.003 times the root of the number of rows, but at least 0.02 and
        at most 0.06; None for ``posterior="laplace"`` with ``calibrate=None``, the paper's machine. None: all rows with
        a coefficient predict.
    inducing : "auto", int or None
        Inference for many rows. None: exact, whatever the number of rows. "auto": exact up to 3000 rows (two classes
        with a kernel that is chosen: 5000, and the choice is made on a part of them); beyond, by
        inducing inputs and neighbouring rows, as the data need them, with ``kernel``, or without one a Gaussian or a
        Matern kernel with one length scale per feature. A number: by as many inducing inputs at most. Predictions are
        then those of ``inference`` (``posterior`` does not apply); see the guide on large data.
    multi_class : {"shared", "ovr", "softmax"}
        What more than two classes are. "shared": one model, with one kernel and one search for all; "ovr": one model
        per class against the rest, each with a kernel of its own; "softmax": one model with the softmax likelihood
        (instead of ``likelihood``). See Notes.
    warm_start : bool
        Whether a fit that uses inducing inputs or neighbours begins with kernel and hyperparameters of the last one,
        and searches with all rows at once: for the same data with further rows. Inducing inputs are chosen anew among
        all rows. With a ``kernel`` of another form, or other features, nothing is taken over.
    theta : {"optimum", "integrate"}
        Hyperparameters of the predictions: the best ones, or a fixed set of them about the optimum with importance
        weights (see ``integration_``), for several times the cost of a fit.
    optimizer : {"bfgs", None}
        BFGS ascent of the evidence from several starts, or None to keep the hyperparameters of ``kernel``.
    n_starts : int
        Number of starts; the first six are deterministic, further ones are drawn with ``random_state``. A kernel that
        is chosen begins from two at most.
    hyperprior : Hyperprior, optional
        Density of the logarithms of the hyperparameters (:mod:`bayesvm.hyper`). None: flat for one kernel, and the weak
        one of :mod:`bayesvm.hyper.default_prior` where kernels are compared.
    standardize : bool
        Whether features are brought to zero mean and unit variance inside.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied into ``sample_weight``.
    class_prior : array of shape (n_classes,), "empirical" or None
        Class frequencies of the population that is predicted; see Notes. Read at prediction time, so it may be changed
        by ``set_params`` after fitting.
    n_jobs : int, optional
        Starts, or outputs, that are fitted at the same time, and threads among which new rows are divided.
    random_state : int, Generator or RandomState, optional
        Seed of the starts beyond the deterministic ones.
    evidence_tol : float
        Predicted gain in evidence per hyperparameter, in nats, at which the search has converged.
    max_evaluations : int
        Largest number of evaluations of the evidence per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernels_, likelihoods_ : tuples of Kernel and of likelihoods, one per output
        With their learnt parameters; the kernels take inputs in the user's units. An output is a latent function: one
        for two classes, one per class for more. ``kernel_`` and ``likelihood_`` are the common one, where there is one.
    models_ : tuple of FittedModel
        The fitted models, one per set of hyperparameters.
    log_evidence_ : float
        Log evidence at the optimum, summed over the outputs; of the chosen kernel, by the method that decided.
    log_model_evidence_, log_model_evidence_error_ : float
        Log evidence with the hyperparameters integrated out, by which models of different size can be compared, and an
        estimated bound of its error; computed when first asked for (see the property).
    inducing_inputs_, log_evidence_bounds_, approximation_gap_ : array, array, float
        Where inducing inputs or neighbours were used: the inducing inputs, rows of X; lower and upper bound of the log
        evidence, one row per model (the upper one for Gaussian noise without neighbours, otherwise not a number); what
        the approximation leaves open in nats (the distance of the bounds, or the variational term of other
        likelihoods; not a number where rows were conditioned on their neighbours).
    support_, support_vectors_, dual_coef_ : arrays
        Rows with a coefficient that is not zero, those rows of X, and the coefficients, one row per output, before the
        posterior was reduced.
    basis_, n_basis_ : array of int, int
        Rows that predictions are computed from, and their number.
    reduction_error_ : float
        Largest change of a prediction at a training row by the reduction: of the mean in standard deviations, or of the
        standard deviation relative to itself; 0 if nothing was reduced.
    relevance_ : array of shape (d,) or None
        With ARD, :math:`\kappa_l = 1/\ell_l^2` per standardised feature (averaged over the outputs).
    relevances_ : array of shape (n_outputs, d) or None
        The same, per output.
    named_relevance_ : dict or None
        The same as ``relevance_`` by feature name, largest first.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities of the training rows, each predicted without itself (hyperparameters kept, calibration included).
    loo_log_likelihood_ : float
        Sum over the training rows (with their weights) of the logarithm of the given class's leave-one-out probability.
    calibration_ : tuple of Calibration
        Per output: ``scale`` and ``shift`` of the log odds (those of the heaviest member of an average), and the
        ``gain`` in leave-one-out log likelihood, in nats. Of classes that share a kernel: of the latent means, and the
        gain of all classes in equal parts.
    coupling_ : JointCalibration or None
        With several classes that have kernels of their own: the correction of their log odds together.
    candidates_ : tuple of Candidate
        With ``kernel="auto"``: the kernels tried, with their log evidences, model evidences, weights and seconds.
    integration_ : tuple of Integration
        With ``theta="integrate"``, per kept kernel: the number of points, their effective number, and by how much their
        predictions differ.
    classes_, n_features_in_, feature_names_in_ : arrays
        As in scikit-learn.
    converged_, n_iter_, history_, theta_names_ : bool, int, records, names
        Whether the searches converged; evaluations spent; one record per start; names of the entries of theta.

    Notes
    -----
    *The choice.* Kernel, hyperparameters, evidence and support vectors that are reported are those of the candidate
    with the largest weight; ``models_[k].members`` and ``.weights`` say what is averaged. With ``calibrate="auto"``
    every kept candidate is finished by leave-one-out predictions: the variance of its kernel and the common level of
    its length scales are weighted by how well they predict (:mod:`bayesvm.models.places`). The evidence that decides is
    that of expectation propagation; with ``posterior="laplace"`` it is Laplace's. With more than 3000 rows of two
    classes other forms of the kernel, exponential in the distance or the Manhattan distance, predict together with it
    or instead (:mod:`bayesvm.models.forms`): ``candidates_`` and :meth:`summary` list them with their weights as
    "..., exponential" and "..., laplacian", and ``kernel_`` stays the one that the evidence chose.

    *The paper's machine* is ``BayesianSVC(kernel=None, posterior="laplace", calibrate=None)``.

    *Several classes* that share a kernel are one model (:mod:`bayesvm.models.shared_process`): one search of the summed
    one-against-rest evidences, and probabilities :math:`P_k \propto e^{s_k m_k + b_k}` of the latent means whose slopes
    and shifts are fitted to leave-one-out predictions of all classes together. Among the kernels that are tried, the
    means of the likelihood's posterior and of least squares on the signs, and settings of variance and common length
    scale, whatever predicts best in this way is averaged; ``log_evidence_``, ``support_`` and ``predict_latent`` are
    those of the likelihood. Where least squares is best all rows predict (``n_basis_``), which costs little, since only
    means are needed. With more than 700 rows the choice is made on 500 of them. With ``multi_class="ovr"``, or
    without calibration, the classes' probabilities :math:`p_k` are coupled by conditioning independent answers on
    exactly one being "yes": :math:`P_k \propto p_k / (1 - p_k)`, after a joint correction (``coupling_``).

    *Weights* are powers of the likelihood: a row of weight 2 counts as two equal rows. Probabilities then refer to the
    weighted population. ``class_prior="empirical"`` brings them back to the class frequencies of the unweighted
    training rows, and an array brings them to any other frequencies :math:`\pi'_k`, by
    :math:`P'_k \propto P_k \pi'_k / \pi_k` with :math:`\pi_k` the weighted frequencies of the training data.

    ``decision_function`` is the logarithm of the odds of the averaged probability, so its sign (its largest column) is
    always the class that ``predict`` returns; the latent function itself is ``predict_latent``.

    References
    ----------
    Chu2003; Thesis chapter 5.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = BayesianSVC().fit(X, y)
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "auto",
        inference: str | Inference = "laplace",
        solver: str | Solver = "newton",
        posterior: str = "auto",
        calibrate: str | None = "auto",
        reduce: str | float | None = "auto",
        inducing: Any = "auto",
        multi_class: str = "shared",
        warm_start: bool = False,
        theta: str = "optimum",
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inference = inference
        self.solver = solver
        self.posterior = posterior
        self.calibrate = calibrate
        self.reduce = reduce
        self.inducing = inducing
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.theta = theta
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> ModelSpec:
        if data.n_outputs > 1 and self.multi_class == "softmax":
            return softmax_process(self, data)
        likelihood = label_likelihood("trigonometric" if is_auto(self.likelihood) else self.likelihood)
        inference, shared = from_name(self.inference, self.solver, likelihood), shares_kernel(self, data)
        others = (Logistic(),) if is_auto(self.likelihood) else ()
        posterior = many_rows_posterior(self, inference)
        large = large_process(
            self, data, likelihood, inference, shared=shared, posterior=posterior, others=lambda: others
        )
        return large or label_process(self, data, likelihood, inference, Gaussian() + Constant())


__all__ = ["BayesianSVC"]
