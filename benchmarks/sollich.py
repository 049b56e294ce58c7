"""Checks of ProbabilisticSVC on problems with known answers: `python -m benchmarks.sollich [name ...]`."""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np

from bayesvm.datasets.sollich import label_probability, make_sollich
from bayesvm.estimators.probabilistic_svc import ProbabilisticSVC
from bayesvm.experiments.measures import calibration_error
from bayesvm.experiments.sollich1999 import midpoints
from bayesvm.inference.hinge import Annealing, HingeExactOrEP, NaiveHinge, annealed_evidence, hinge_mode, log_nu
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Hinge
from benchmarks._common import table


def coordinate_descent(K, y, C, sweeps=20000, tol=1e-13):
    """Return the hinge machine by exact minimisation in one coefficient at a time, independent of the library."""
    t, f = np.zeros(y.size), np.zeros(y.size)
    for _ in range(sweeps):
        largest = 0.0
        for i in range(y.size):
            new = min(max(t[i] + (1.0 - y[i] * f[i]) / K[i, i], 0.0), C)
            change = new - t[i]
            if change != 0.0:
                f += change * y[i] * K[:, i]
                t[i] = new
                largest = max(largest, abs(change))
        if largest < tol:
            break
    return f


def mode():
    """The mode is the hinge machine with the same kernel plus constant."""
    worst = 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 2))
        y = np.where(X[:, 0] + 0.8 * rng.normal(size=80) > 0.0, 1.0, -1.0)
        K = (Gaussian(1.0, 0.7) + Constant(0.5)).gram(X)
        f = hinge_mode(K, y, np.full(80, 1.5)).f
        worst = max(worst, float(np.max(np.abs(f - coordinate_descent(K, y, 1.5)))))
    print(
        f"largest difference of decision values from a plain coordinate descent, 10 problems: {worst:.1e} (limit 1e-6)"
    )


def random_problem(rng):
    """Return a small random problem: Gram matrix, labels, C."""
    n = int(rng.integers(1, 4))
    X = rng.uniform(-1.0, 1.0, size=(n, 1))
    kernel = Gaussian(float(np.exp(rng.uniform(-2.0, 2.5))), float(np.exp(rng.uniform(-2.0, 1.0)))) + Constant(0.1)
    return kernel.gram(X) + 1e-6 * np.eye(n), rng.choice([-1.0, 1.0], size=n), float(np.exp(rng.uniform(-1.0, 1.5)))


def brute_force(K, y, C, reach=7.5, points=240):
    """Return ln Q(D) by the midpoint rule in whitened coordinates."""
    L = np.linalg.cholesky(K)
    z = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    w = np.exp(-0.5 * z**2)
    w /= w.sum()
    loss, weight = np.zeros((1,) * y.size), np.ones((1,) * y.size)
    for i in range(y.size):
        f = sum(L[i, j] * z.reshape([-1 if k == j else 1 for k in range(y.size)]) for j in range(i + 1))
        loss = loss + np.maximum(1.0 - y[i] * f, 0.0)
        weight = weight * w.reshape([-1 if k == i else 1 for k in range(y.size)])
    return float(np.log(np.sum(np.exp(-C * loss) * weight)) - y.size * np.log1p(np.exp(-2.0 * C)))


def evidence():
    """The estimates of Q(D) against brute force, 200 random problems with one to three points."""
    rng = np.random.default_rng(0)
    methods = {
        "(8) as printed": NaiveHinge(guarded=False),
        "(8) with I +": NaiveHinge(),
        "marginal, exact": HingeExactOrEP(),
        "marginal, coupled Gaussian": HingeExactOrEP(exact_up_to=0),
    }
    errors = {name: [] for name in methods}
    within = []
    for _ in range(200):
        K, y, C = random_problem(rng)
        truth = brute_force(K, y, C)
        for name, method in methods.items():
            errors[name].append(np.expm1(method.infer(K, y, Hinge(C))[1].value - truth))
        run = annealed_evidence(K, y, Hinge(C), Annealing(2000, 16, 1), rng)
        within.append(abs(run.log_mean - truth) <= 1.96 * run.error)
    rows = [[k, float(np.median(np.abs(v))), float(np.max(np.abs(v)))] for k, v in errors.items()]
    print(table(["estimate", "median relative error", "largest"], rows))
    print(f"annealed: truth within 1.96 standard errors in {100 * np.mean(within):.1f} % (limit 95)")


def normalization():
    """P(D) sums to one over all inputs and labels: three input points, uniform Q(x), n = 2 and 3."""
    K3, C = Gaussian(1.5, 0.6).gram(np.array([[0.0], [0.5], [1.2]])), 1.7
    L = np.linalg.cholesky(K3)
    points, reach = 160, 7.5
    z = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    W = (w[:, None, None] * w[:, None] * w).ravel()
    N = np.mean(np.exp(log_nu(L @ Z, C)), axis=0)
    for n in (2, 3):
        normalizer = float(W @ N**n)
        total = 0.0
        for rows in itertools.product(range(3), repeat=n):
            K = K3[np.ix_(rows, rows)] + 1e-9 * np.eye(n)
            for labels in itertools.product((-1.0, 1.0), repeat=n):
                total += np.exp(HingeExactOrEP().infer(K, np.array(labels), Hinge(C))[1].value) / 3.0**n
        print(f"n = {n}: the sum of P(D) over all {6**n} data sets is {total / normalizer:.6f}")


def two_class_draws(count, n, n_extra=0):
    """Yield draws of the model of Figure 2 that have both labels (the model also makes data sets with one)."""
    found, seed = 0, 0
    while found < count:
        X, y, f = make_sollich(n, n_extra=n_extra, random_state=seed)
        seed += 1
        if np.unique(y[:n]).size == 2:
            found += 1
            yield seed - 1, X, y, f


def figure2():
    """Figure 2: n = 50, l = 0.05, true C = 2, C K_0 = 2.5; 20 draws of the model."""
    rows = []
    for seed, X, y, _ in two_class_draws(20, 50):
        shared = {"C": 2.0, "tune": "C", "standardize": False, "random_state": seed}
        paper = {**shared, "evidence": "naive"}
        full = ProbabilisticSVC(Gaussian(1.25, 0.05), inputs=midpoints, **paper).fit(X, y)
        empirical = ProbabilisticSVC(Gaussian(1.25, 0.05), **paper).fit(X, y)
        coupled = ProbabilisticSVC(Gaussian(1.25, 0.05), inputs=midpoints, evidence="marginal", **shared).fit(X, y)
        naive = ProbabilisticSVC(Gaussian(1.25, 0.05), normalized=False, **paper).fit(X, y)
        noise = int(np.sum(full.predict(X) != y))
        said = any("no interior maximum" in remark for remark in full.remarks_)
        rows.append([seed, noise, naive.C_, full.C_, empirical.C_, coupled.C_, full.log_evidence_error_, said])
        print(*rows[-1], flush=True)
    print(table(["draw", "training errors", "naive C", "full C", "empirical", "marginal", "error", "said"], rows))
    C = np.array([[row[2], row[3], row[4], row[5]] for row in rows])
    print(
        "medians: naive {:.2f}, full {:.2f} (limits 1.5 to 3.2), empirical {:.2f}, marginal {:.2f}".format(
            *np.median(C, axis=0)
        )
    )
    print(f"full above naive in {int(np.sum(C[:, 1] > C[:, 0]))} of {len(rows)} (limit 18)")


def calibration():
    """Probabilities on data from the model: n = 200, 10 draws, 4000 test samples each."""
    rows = []
    for seed, X, y, f in two_class_draws(10, 200, 4000):
        machine = ProbabilisticSVC(
            Gaussian(1.25, 0.05),
            C=2.0,
            inputs=midpoints,
            average=True,
            n_starts=1,
            standardize=False,
            random_state=seed,
        ).fit(X[:200], y[:200])
        new, labels = X[200:], y[200:]
        errors = [calibration_error(machine.predict_proba(new, average=a)[:, 1], labels > 0) for a in (True, False)]
        truth = calibration_error(label_probability(f[200:], 2.0), labels > 0)
        rows.append([seed, machine.C_, *errors, truth, float(machine.effective_sample_size_)])
        print(*rows[-1], flush=True)
    print(table(["draw", "C", "ECE averaged", "ECE of the mode", "ECE of the truth", "smallest ESS"], rows))
    print("means: averaged {:.4f} (limit 0.05), mode {:.4f}".format(*np.mean([r[2:4] for r in rows], axis=0)))


def large():
    """A full fit with 1000 samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.6 * rng.normal(size=1000) > 0.0, 1, -1)
    began, cpu = time.perf_counter(), time.process_time()
    machine = ProbabilisticSVC(n_jobs=2, random_state=0).fit(X, y)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"n = 1000: {wall:.1f} s ({cpu:.1f} s of processor time), {machine.n_iter_} evaluations (limit 120 s)")
    print(
        f"C = {machine.C_:.3g}, {machine.kernel_!r}, "
        f"ln P(D) = {machine.log_evidence_:.2f} +- {machine.log_evidence_error_:.2f}"
    )
    print(*machine.remarks_, sep="\n")


BENCHMARKS = {f.__name__: f for f in (mode, evidence, normalization, figure2, calibration, large)}


def main(names):
    """Run the benchmarks of the given names, all if none is given."""
    for name in names or BENCHMARKS:
        print(f"-- {name}: {BENCHMARKS[name].__doc__}")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
