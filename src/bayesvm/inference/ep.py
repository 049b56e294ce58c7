r"""Expectation propagation (Minka2001; Opper2000; RasmussenWilliams2006 section 3.6).

Each likelihood term is replaced by a Gaussian *site* :math:`\exp(\nu_i f_i - \tfrac12 \tau_i f_i^2)`. With the cavity
:math:`\mathcal N(m_{-i}, v_{-i})`, the posterior marginal without its own site, and
:math:`Z_i(m) = \int p(y_i|f)\, \mathcal N(f; m, v_{-i})\, df`, the site is set so that the marginal has the moments of
the tilted distribution: with :math:`g = \partial_m \ln Z_i` and :math:`h = \partial_m^2 \ln Z_i` at the cavity's mean,

.. math:: \tau_i = \frac{-h}{1 + v_{-i} h}, \qquad \nu_i = \frac{g - m_{-i} h}{1 + v_{-i} h} .

At the fixed point

.. math:: \ln Z = \sum_i \ln Z_i + \tfrac12 \nu^\top m - \tfrac12 \ln |I + K T|
          - \sum_i \ln \int \mathcal N(f; m_{-i}, v_{-i})\, e^{\nu_i f - \tau_i f^2/2}\, df

is stationary in all sites, so that only its explicit derivatives remain:

.. math:: \frac{\partial \ln Z}{\partial K} = \tfrac12 \alpha \alpha^\top - \tfrac12 R, \qquad
          \frac{\partial \ln Z}{\partial \phi} = \sum_i \partial_\phi \ln Z_i, \qquad \alpha = \nu - T m .

All sites are updated at the same time, one factorisation per sweep: a Newton step for the means with the variances of
the sweep before. Sweeps are damped while they overshoot. Once they contract, the response of the marginals to the sites
(:mod:`bayesvm.linalg.site_posterior`) stands for the factorisation: the fixed point is found for marginals that respond
as predicted, by mixed steps (:mod:`bayesvm.solvers.anderson`) of :math:`O(n^2)` each, and the next sweep is made
there. Its residual is of second order in the one before, so that a few factorisations are enough. Where that does not
help, and for losses that are not convex, whose precisions can be negative, the sweeps themselves are mixed. Sites too
weak to matter are dropped from the factor, which keeps it small for sparse likelihoods; since :math:`\ln Z` is
stationary, a dropped site of size :math:`\varepsilon` changes it by :math:`\varepsilon^2` only.
"""

from __future__ import annotations

import collections
import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.base import Evidence, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.inference.leave_one_out import Marginals
from bayesvm.inference.native_sweep import native_iterate
from bayesvm.inference.sweep import GramPrior, Mask, Matched, SitePrior, SiteTerms, Sweep, evidence_terms
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.site_posterior import PlainSitePosterior
from bayesvm.solvers.anderson import AndersonMixer
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import Newton
from bayesvm.typing import Matrix, Vector

#: Residual below which sweeps are mixed.
CONTRACTING = 0.5
#: Earlier sweeps that mixing looks at.
DEPTH = 5
#: Mixed sweeps within which the residual has to halve.
MIXTURES = 10
#: Predicted sweeps at most, between two with a factorisation.
PREDICTIONS = 25
#: Residual below which sweeps are predicted; where that multiplies the residual by more than USEFUL it was too early.
PREDICTED = 0.25
USEFUL = 0.3
#: Copies of a row beyond which nothing is predicted: its marginal is far from a linear function of the sites.
COPIES = 1e3
#: A dropped site re-enters when it is this many times the size at which it is dropped.
REENTRY = 4.0
#: Heaviest damping.
SMALLEST_STEP = 0.1
#: Sweeps without a new smallest residual after which the iteration has stalled or oscillates.
PATIENCE = 40
#: Residual at which the weakest sites can be named, where the fixed point cannot be predicted from a larger one.
ROUGH = 1e-2
#: The same where the residual is what rounding leaves: there is nothing more to match.
SETTLED = 5
#: Residual below which a lack of progress is put down to rounding.
ROUNDING = 1e-5


@dataclasses.dataclass(frozen=True)
class EP(Inference):
    """Expectation propagation with parallel updates.

    Parameters
    ----------
    tol : float
        Mismatch of moments (means in standard deviations, variances relative) at which the fixed point counts as found;
        or, if that is more, the mismatch that rounding leaves.
    max_iter : int
        Largest number of sweeps, each with one factorisation.
    drop : float
        Sites that change mean and variance by less than this, relative to the cavity, are left out of the factor.
    prune : float
        For :meth:`posterior` only: once the fixed point is roughly known the weakest sites are left out, as many as
        together move no mean by more than about this many standard deviations, and the others are fitted again.
    """

    tol: float = 1e-7
    max_iter: int = 200
    drop: float = 1e-8
    prune: float = 0.0

    def check(self, likelihood: Likelihood) -> None:
        """Refuse nothing: every likelihood of this library has a tilted distribution with finite moments."""

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; ``warm_start`` may also be latent values, as Laplace's method leaves them."""
        sweep, status, n_iter = self.iterate(GramPrior(K), y, likelihood, _start(K, y, likelihood, warm_start))
        q, M = sweep.matched.marginals, sweep.factor.support
        terms = evidence_terms(sweep)
        dK = gram_cotangent(q.alpha, sweep.posterior.matrix(), M, M)
        dphi = np.sum(q.copies * likelihood.tilted_theta(y, q.cavity_mean, q.cavity_var), axis=1)
        posterior = Posterior.of(q.alpha.copy(), sweep.factor)
        return posterior, Evidence(sum(terms.values()), terms, M, dK, dphi, status, sweep.sites, n_iter)

    def posterior(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, float, Status, Marginals]:
        """Return posterior, log evidence, status and marginals, at a lower cost than with derivatives."""
        prior, sites, frozen = GramPrior(K), _start(K, y, likelihood, warm_start), np.zeros(y.size, dtype=bool)
        if self.prune:
            sites, frozen = self._without_weakest(prior, y, likelihood, sites)
        sweep, status, _ = self.iterate(prior, y, likelihood, sites, frozen)
        posterior = Posterior.of(sweep.posterior.alpha.copy(), sweep.factor)
        return posterior, sum(evidence_terms(sweep).values()), status, sweep.matched.marginals

    def _without_weakest(
        self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sites: Matrix
    ) -> tuple[Matrix, Mask]:
        """Return rough sites without the weakest ones, and which these are.

        They show early: as soon as the fixed point can be predicted. No site below the average of the budget matters.
        """
        known = PREDICTED if likelihood.traits.convex else ROUGH
        rough = EP(max(known, self.tol), self.max_iter, max(self.drop, self.prune / y.size))
        matched = rough._settled(prior, y, likelihood, sites, self.tol)
        frozen = _weakest(matched, self.prune)
        return np.where(frozen, 0.0, matched.image), frozen

    def _settled(self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sites: Matrix, tol: float) -> Matched:
        """Return what matches at a rough fixed point, where it can be predicted to match to ``tol``."""
        found = self._natively(prior, y, likelihood, sites, False, settle=tol)
        if found is not None:
            return found[0].matched
        sweep, *_ = self.iterate_in_numpy(prior, y, likelihood, sites)
        if not (ROUGH < sweep.residual < self.tol and isinstance(sweep.posterior, PlainSitePosterior)):
            return sweep.matched
        steps = _Steps(dataclasses.replace(self, tol=tol), y, likelihood, False, sweep)
        return steps.settled(sweep, sweep.posterior) or sweep.matched

    def iterate(
        self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sites: Matrix, frozen: Mask | bool = False
    ) -> tuple[Sweep, Status, int]:
        """Sweep until the moments match, ``frozen`` sites staying at zero; return the last sweep, status and number."""
        found = self._natively(prior, y, likelihood, sites, frozen)
        return found or self.iterate_in_numpy(prior, y, likelihood, sites, frozen)

    def _natively(
        self,
        prior: SitePrior,
        y: Vector,
        likelihood: SiteTerms,
        sites: Matrix,
        frozen: Mask | bool,
        settle: float = 0.0,
    ) -> tuple[Sweep, Status, int] | None:
        """Return what native code finds, None if it does not know a part or leaves the end to NumPy."""
        if not isinstance(prior, GramPrior):
            return None
        limits = self.tol, self.drop, self.max_iter
        return native_iterate(prior.K, y, likelihood, sites, np.broadcast_to(frozen, y.shape), limits, settle)

    def iterate_in_numpy(
        self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sites: Matrix, frozen: Mask | bool = False
    ) -> tuple[Sweep, Status, int]:
        """Do the same for what native code does not know, or does not bring to an end."""
        sweep = self._sweep(prior, y, likelihood, sites, frozen)
        best, since = sweep.residual, 0
        steps = _Steps(self, y, likelihood, frozen, sweep)
        for n_iter in range(1, self.max_iter + 1):
            if sweep.residual <= self.tol:
                return sweep, Status.CONVERGED, n_iter
            if since > SETTLED and sweep.residual <= _rounding(prior, sweep):
                return sweep, Status.CONVERGED, n_iter
            if since > PATIENCE:
                return sweep, Status.STALLED if best < ROUNDING else Status.OSCILLATES, n_iter
            new = self._proper(prior, y, likelihood, sweep, steps.target(sweep), frozen)
            steps.learn(sweep, new)
            since = 0 if new.residual < best else since + 1
            best = min(best, new.residual)
            sweep = new
        return sweep, Status.MAX_ITER, self.max_iter

    def _proper(
        self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sweep: Sweep, target: Matrix, frozen: Mask | bool
    ) -> Sweep:
        """Return the sweep at the target, or nearer to the last one if negative precisions leave no posterior there."""
        for _ in range(20):
            try:
                return self._sweep(prior, y, likelihood, target, frozen)
            except NotPositiveDefiniteError:
                if np.all(target[0] >= 0.0):
                    raise
                target = 0.5 * (target + sweep.sites)
        return sweep

    def _sweep(self, prior: SitePrior, y: Vector, likelihood: SiteTerms, sites: Matrix, frozen: Mask | bool) -> Sweep:
        """Compute the posterior with the given sites and the sites that match its cavities."""
        sites = _bounded(prior, sites)
        posterior = prior.posterior(*sites)
        marginals = Marginals.of_sites(posterior, likelihood.copies)
        return Sweep(sites, posterior, self._match(y, likelihood, sites, marginals, frozen))

    def _match(self, y: Vector, likelihood: SiteTerms, sites: Matrix, q: Marginals, frozen: Mask | bool) -> Matched:
        """Return the sites that match the moments at the cavities of given marginals."""
        (tau, nu), copies = sites, likelihood.copies
        mean, var = q.cavity_mean, q.cavity_var
        good = var > 0.0  # a cavity can be improper only next to negative precisions
        var = np.where(good, var, q.var)
        tilted = likelihood.tilted(y, mean, var)
        # next to a log-concave term the variance cannot grow; at a kink of a large weight it does by rounding
        bend = np.minimum(tilted.bend, 0.0) if likelihood.traits.convex else tilted.bend
        left = np.maximum(1.0 + var * bend, 1e-12)
        image = copies * np.stack([-bend / left, (tilted.slope - mean * bend) / left])
        least = np.where(tau == 0.0, REENTRY * self.drop, self.drop)  # what was dropped re-enters at a higher level
        weak = (np.abs(image[0]) * var < least) & (copies * np.abs(tilted.slope) * np.sqrt(var) < least) | frozen
        image[:, weak] = 0.0
        image[:, ~good] = sites[:, ~good]
        apart = np.abs(tilted.slope - q.alpha / copies) * var / np.sqrt(q.var)
        wider = np.abs(var * left / q.var - 1.0)
        ignored = weak & (tau == 0.0) & (nu == 0.0)
        residual = float(np.max(np.where(ignored, 0.0, np.maximum(apart, wider)), initial=0.0))
        return Matched(q, tilted, image, residual)


class _Steps:
    """From sweep to sweep: damped while they overshoot, then by the predicted response of the marginals, or mixed."""

    def __init__(self, method: EP, y: Vector, likelihood: SiteTerms, frozen: Mask | bool, first: Sweep) -> None:
        self._method, self._y, self._likelihood, self._frozen = method, y, likelihood, frozen
        self._convex = likelihood.traits.convex
        self._step, self._mixer = 1.0, AndersonMixer(DEPTH)
        self._shares = np.ones(y.size)  # how far each site goes, where sweeps are damped
        self._mix_below = CONTRACTING
        self._trail = collections.deque[float](maxlen=MIXTURES)  # residuals of sweeps that were mixed in a row
        self._predict_below = PREDICTED if self._convex and np.max(likelihood.copies) <= COPIES else 0.0
        # in units of the marginals; a point that occurs c times counts as c points with a c-th of its site each
        var = first.matched.marginals.var
        self._scale = np.stack([var, np.sqrt(var)]) / np.sqrt(likelihood.copies)

    def target(self, sweep: Sweep) -> Matrix:
        """Return the sites of the next sweep."""
        if self._predicts(sweep) and isinstance(sweep.posterior, PlainSitePosterior):
            settled = self.settled(sweep, sweep.posterior)
            return self._damped(sweep) if settled is None else settled.image
        if self._mixes(sweep):
            return self._mixed(self._mixer, sweep.sites, sweep.image, self._step)
        return self._damped(sweep)

    def learn(self, old: Sweep, new: Sweep) -> None:
        """Adapt to what the last step has brought."""
        if new.residual > old.residual:
            self._step = max(0.7 * self._step, SMALLEST_STEP)
        elif new.residual < 0.5 * old.residual:
            self._step = min(1.0, 1.2 * self._step)
        worse = new.residual > 2.0 * old.residual or new.residual > CONTRACTING
        if self._predicts(old):
            if new.residual > USEFUL * old.residual:
                self._predict_below = USEFUL * old.residual
        elif self._mixes(old):
            self._trail.append(old.residual)
            if worse or (len(self._trail) == MIXTURES and new.residual > 0.5 * self._trail[0]):
                self._mix_below = USEFUL * old.residual
        turned = np.any(_missing(old, self._likelihood) * _missing(new, self._likelihood) < 0.0, axis=0)
        self._shares = np.where(turned, 0.7 * self._shares, np.minimum(1.2 * self._shares, 1.0))
        if worse or not self._mixes(old):
            self._mixer.forget()
            self._trail.clear()

    def _predicts(self, sweep: Sweep) -> bool:
        return sweep.residual < self._predict_below

    def _mixes(self, sweep: Sweep) -> bool:
        return sweep.residual < self._mix_below

    def _damped(self, sweep: Sweep) -> Matrix:
        r"""Return the sites after a share :math:`s` of the way of each to its image; sites that vanish go all the way.

        The share is smaller for every time that the site had to turn back, and its precision changes by
        :math:`s / (1 - s)` at most, in units of its marginal: a site of a large weight is nothing on one side of a kink
        and precise on the other, so that any share of the whole way can be too long.
        """
        change, share = sweep.image - sweep.sites, self._shares
        length = (1.0 - share) * np.abs(change[0]) * sweep.matched.marginals.var
        wanted = np.where(sweep.image[0] == 0.0, 1.0, share)
        part = wanted * share / np.maximum(share, wanted * length)  # exactly one for what goes all the way
        return np.asarray(sweep.sites + change * part)

    def _mixed(self, mixer: AndersonMixer, sites: Matrix, image: Matrix, step: float) -> Matrix:
        """Return the mixture of the last steps, with sites that mixing made impossible replaced by their images."""
        mixed = mixer.next((self._scale * sites).ravel(), (self._scale * image).ravel(), step)
        target = mixed.reshape(2, -1) / self._scale
        bad = (target[0] < 0.0) & (self._convex | (image[0] >= 0.0)) | (image[0] == 0.0)
        return np.where(bad, image, target)

    def settled(self, sweep: Sweep, posterior: PlainSitePosterior) -> Matched | None:
        """Return what matches the moments of marginals that respond to the sites as predicted from the sweep.

        Rows off the support keep their marginals. None where that promises little: sweeps go on with damping.
        """
        response, support, mixer = posterior.response(), posterior.factor.support, AndersonMixer(DEPTH)
        goal = max(0.1 * self._method.tol, 0.1 * sweep.residual**2)  # the error of the prediction is of second order
        sites, matched, moved = sweep.sites, sweep.matched, np.zeros(support.size)
        least, best = USEFUL * sweep.residual, None
        for _ in range(PREDICTIONS):
            trial = self._mixed(mixer, sites, matched.image, 1.0)
            dtau, dnu = (trial - sweep.sites)[:, support]
            moved, wider = response.moved(dtau, dnu, moved)
            mean, var = posterior.mean.copy(), posterior.var.copy()
            mean[support] += moved
            var[support] += wider
            q = Marginals.under(trial, mean, var, self._likelihood.copies)
            if not (np.all(var > 0.0) and np.all(q.rest > 0.0)):
                break
            sites = trial
            matched = self._method._match(self._y, self._likelihood, sites, q, self._frozen)
            if matched.residual < least:
                least, best = matched.residual, matched
            if matched.residual <= goal:
                break
        return best


def _missing(sweep: Sweep, likelihood: SiteTerms) -> Matrix:
    """Return by how much the precision of each site, and the pull on its mean, fall short of what matches."""
    q = sweep.matched
    return np.stack([q.image[0] - sweep.sites[0], likelihood.copies * q.tilted.slope - q.marginals.alpha])


def _start(K: Matrix, y: Vector, likelihood: Likelihood, warm_start: Vector | None) -> Matrix:
    """Return the first sites: given ones, or those of Laplace's method at given latent values or at a rough mode."""
    if warm_start is not None and warm_start.ndim == 2:
        return warm_start
    traits = likelihood.traits
    if not (traits.convex and traits.smoothness >= 1):
        return np.zeros((2, y.size))
    f = Newton(tol=1e-2, max_iter=20).solve(K, y, likelihood).f if warm_start is None else warm_start
    d = likelihood.derivatives(y, f)
    if not np.all(np.isfinite(d.loss)):
        return np.zeros((2, y.size))
    return np.stack([d.curvature, d.curvature * f - d.gradient])


def _bounded(prior: SitePrior, sites: Matrix) -> Matrix:
    r"""Return the sites, none so precise that the rounding of :math:`B = I + T^{1/2} K T^{1/2}` could exceed one.

    The product of a precision and its prior variance is at most :math:`1 / (4 n \epsilon)`, with :math:`\epsilon` the
    distance of 1 to the next number: the norm of B is then at most :math:`1 / (4 \epsilon)`. Weights of a million at
    points that contradict each other would lead beyond; a site that is cut keeps its centre.
    """
    most = 1.0 / (4.0 * sites.shape[1] * np.finfo(float).eps)
    ratio = sites[0] * prior.diagonal()
    return sites if np.all(ratio <= most) else sites * (most / np.maximum(ratio, most))


def _rounding(prior: SitePrior, sweep: Sweep) -> float:
    r"""Return the residual that rounding leaves: its unit times the trace of :math:`B = I + T^{1/2} K T^{1/2}`.

    It is above the tolerance where sites are far more precise than the prior, as those of a noise that is next to
    nothing.
    """
    return float(np.finfo(float).eps * (sweep.sites.shape[1] + np.abs(sweep.sites[0]) @ prior.diagonal()))


def _weakest(matched: Matched, budget: float) -> Mask:
    """Return which sites may go: the weakest ones, whose effects on their own means add up to the budget at most.

    Effects are per copy and rounded before they are ranked, so that repeated and weighted rows are treated alike.
    """
    q = matched.marginals
    effect = np.abs(matched.tilted.slope) * np.sqrt(q.cavity_var)
    level = np.floor(64.0 * np.log2(np.maximum(effect, 1e-300)))
    order = np.argsort(level, kind="stable")
    total = np.cumsum((q.copies * effect)[order])
    over = np.flatnonzero(total > budget)
    cut = level[order][over[0]] if over.size else np.inf
    return np.asarray(level < cut)


__all__ = ["EP"]
