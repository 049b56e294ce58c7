"""Relevance vector machines: Tipping's figures, banana, and time against fastrvm at no lower marginal likelihood.

``python -m benchmarks.rvm [ripley] [sinc] [banana] [speed]``
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_limits

from bayesvm.datasets import make_sinc
from bayesvm.estimators.relevance_vector import RelevanceVectorClassifier, RelevanceVectorRegressor
from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, SequentialRVM
from bayesvm.kernels import Gaussian
from bayesvm.likelihoods import GaussianNoise, Logistic
from benchmarks._common import load, table


def ripley(draws: int = 10) -> None:
    """Tipping2001 section 3.2: 100 of Ripley's 250 points, width 0.5: 9.3 %, 4 vectors; then all 250, width learnt."""
    data = load("rsy")
    X, y, train, test = (data[k] for k in ("X", "y", "train", "test"))
    rows = []
    for name, size, make in (
        (
            "given width, 100 points",
            100,
            lambda: RelevanceVectorClassifier(Gaussian(1.0, 0.5 / np.sqrt(2.0)), optimizer=None, standardize=False),
        ),
        ("learnt width, 100 points", 100, RelevanceVectorClassifier),
        ("learnt width, 250 points", 250, RelevanceVectorClassifier),
    ):
        errors, vectors = [], []
        for seed in range(draws if size < 250 else 1):
            chosen = np.random.default_rng(seed).choice(train, size, replace=False)
            machine = make().fit(X[chosen], y[chosen])
            errors.append(100.0 * (1.0 - machine.score(X[test], y[test])))
            vectors.append(int(machine.n_relevance_[0]))
        rows.append([name, float(np.mean(errors)), float(np.std(errors)), float(np.mean(vectors))])
    print(table(["Ripley", "error %", "std", "vectors"], rows))


def sinc(draws: int = 10) -> None:
    """Tipping2001 Table 1: 100 points, Gaussian noise 0.1: error 0.0326, 6.7 vectors."""
    errors, vectors = [], []
    for seed in range(draws):
        X, y, _ = make_sinc(100, noise=0.1, random_state=seed)
        T, _, f = make_sinc(1000, noise=0.1, random_state=1000 + seed)
        machine = RelevanceVectorRegressor().fit(X, y)
        errors.append(float(np.sqrt(np.mean((machine.predict(T) - f) ** 2))))
        vectors.append(int(machine.n_relevance_[0]))
    row = ["learnt width", float(np.mean(errors)), float(np.std(errors)), float(np.mean(vectors))]
    print(table(["sinc", "RMS error", "std", "vectors"], [row]))


def banana(partitions: int = 5) -> None:
    """Tipping2001 Table 2: 10.8 % and 11.4 vectors."""
    data = load("ida_banana")
    errors, vectors, seconds = [], [], []
    for p in range(partitions):
        train, test = data["train"][p], data["test"][p]
        began = time.process_time()
        machine = RelevanceVectorClassifier().fit(data["X"][train], data["y"][train])
        seconds.append(time.process_time() - began)
        errors.append(100.0 * (1.0 - machine.score(data["X"][test], data["y"][test])))
        vectors.append(int(machine.n_relevance_[0]))
    row = [float(np.mean(errors)), float(np.mean(vectors)), float(np.mean(seconds))]
    print(table(["banana error %", "vectors", "CPU s"], [row]))


def speed(n: int = 1000, repeats: int = 5) -> None:
    """Same kernel, same data: time of a whole fit at a given width, and the marginal likelihood reached."""
    try:
        from fastrvm import RVC, RVR
    except ImportError:
        raise SystemExit("missing package: pip install fastrvm") from None
    X, y, _ = make_sinc(n, noise=0.2, random_state=0)
    Z, labels = make_moons(n, noise=0.3, random_state=0)
    rows = []
    for name, A, t, scale, peer in (("sinc", X, y, 2.0, RVR), ("moons", Z, np.where(labels, 1.0, -1.0), 0.7, RVC)):
        likelihood = GaussianNoise(0.01 * float(np.var(t))) if name == "sinc" else Logistic()

        def ours(A=A, t=t, scale=scale, likelihood=likelihood):
            basis = np.column_stack([np.ones(len(A)), Gaussian(1.0, scale).gram(A)])
            return SequentialRVM().maximize(basis, t, likelihood)

        def theirs(A=A, t=t, scale=scale, peer=peer):
            return peer(gamma=0.5 / scale**2, fit_intercept=True).fit(A, t)

        found, other = ours(), theirs()
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(repeats):
            for record, function in zip(times, (ours, theirs)):
                began = time.process_time()
                function()
                record.append(time.process_time() - began)
        mine, peers = (statistics.median(record) for record in times)
        value = _evidence(A, t, scale, other, name == "sinc")
        rows.append(
            [name, mine, peers, mine / peers, found.log_evidence, value, found.active.size, len(other.relevance_)]
        )
    header = ["data", "ours s", "fastrvm s", "ratio", "ln Z ours", "ln Z fastrvm", "vectors", "vectors fastrvm"]
    print(table(header, rows))


def _evidence(A, t, scale, other, quadratic: bool) -> float:
    """Return the marginal likelihood of the other package's solution by our own formula."""
    basis = np.column_stack([np.ones(len(A)), Gaussian(1.0, scale).gram(A)])
    active = np.append(0, 1 + np.asarray(other.relevance_))
    kernel_precisions = np.ravel(other.alpha_)
    bias = float(np.ravel(other.intercept_)[0])
    likelihood = GaussianNoise(1.0 / float(other.beta_)) if quadratic else Logistic()
    problem = (GaussianRVM if quadratic else LaplaceRVM)(basis, t, likelihood)
    # the precision of the constant is not reported: the best one is taken, which favours the other package
    precisions = [np.append(p, kernel_precisions) for p in np.geomspace(1e-4, 1e8, 49)] if bias else []
    values = [problem.state(active, np.log(p), likelihood.theta).value for p in precisions]
    without = problem.state(active[1:], np.log(kernel_precisions), likelihood.theta).value
    return max([without, *values])


PARTS = {"ripley": ripley, "sinc": sinc, "banana": banana, "speed": speed}


def main() -> None:
    """Run the parts that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    with threadpool_limits(limits=1):
        for name in parser.parse_args().parts or PARTS:
            PARTS[name]()


if __name__ == "__main__":
    main()
