"""BayesianSVR: recovery of the noise model, errors, relevance, coverage, outliers, speed.

``python -m benchmarks.svr [sinc] [robot] [housing] [compactiv] [coverage] [outliers] [variance] [speed] [growth]``
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVR
from bayesvm.datasets import make_robot_arm, make_sinc
from bayesvm.experiments.measures import bound_counts
from bayesvm.likelihoods import SoftInsensitive
from benchmarks._common import load, table

TRUE_NOISE = SoftInsensitive(10.0, 0.1, 0.3)
#: Shares of off-bound and on-bound support vectors in Thesis Table 4.3, in per cent, by size and beta.
SHARES = {
    (300, 0.3): (90 / 3, 87 / 3),
    (1000, 0.3): (27.0, 38.8),
    (3000, 0.3): (833 / 30, 1052 / 30),
    (3000, 0.1): (287 / 30, 1303 / 30),
}
#: Largest mean excess of the test error over the noise.
#: The thesis' noise model.
NOISE = "soft-insensitive"
EXCESS = {300: 0.0007, 1000: 0.0004, 3000: 0.0002}


def shares(machine: BayesianSVR) -> tuple[float, float]:
    """Return the shares of off-bound and on-bound support vectors in the training rows, in per cent."""
    off, on = bound_counts(machine)
    n = machine.outlier_score_.shape[0]
    return 100.0 * off / n, 100.0 * on / n


def gaussian_process(kernel: Any) -> GaussianProcessRegressor:
    """Return scikit-learn's regressor with noise, on standardised targets, from one start."""
    return GaussianProcessRegressor(ConstantKernel(1.0) * kernel + WhiteKernel(0.1), normalize_y=True)


def sinc(draws: int = 5) -> None:
    """Table 4.3: C, noise and support vectors, and the excess of the test error over the noise."""
    rows = []
    for n in (300, 1000, 3000):
        for beta in (0.3,) if n < 2000 else (0.3, 0.1):
            found = []
            for seed in range(draws):
                X, y, _ = make_sinc(n, random_state=seed)
                Xt, _, ft = make_sinc(3000, random_state=1000 + seed)
                began = time.process_time()
                machine = BayesianSVR(None, likelihood=NOISE, beta=beta).fit(X, y)
                seconds = time.process_time() - began
                noise = machine.likelihood_
                excess = float(np.mean((machine.predict(Xt) - ft) ** 2))
                found.append([noise.C, noise.epsilon, machine.noise_std_, *shares(machine), excess, seconds])
            mean = np.mean(found, axis=0)
            target = SHARES[n, beta]
            rows.append(
                [
                    n,
                    beta,
                    f"{mean[0]:.2f} ({100 * (mean[0] / 10 - 1):+.1f} %)",
                    float(mean[1]),
                    f"{100 * (mean[2] / np.sqrt(TRUE_NOISE.noise_variance) - 1):+.1f} %",
                    f"{mean[3]:.1f} ({target[0]:.1f})",
                    f"{mean[4]:.1f} ({target[1]:.1f})",
                    f"{mean[5]:.6f} (<= {EXCESS[n]})",
                    float(mean[6]),
                    f"{100 * max(abs(f[0] / 10 - 1) for f in found):.0f} %",
                    f"{100 * max(abs(f[2] / np.sqrt(TRUE_NOISE.noise_variance) - 1) for f in found):.1f} %",
                ]
            )
            print(rows[-1], flush=True)
    head = ["n", "beta", "C", "epsilon", "noise std", "off-bound % (table)", "on-bound %", "excess ASE", "s", "worst C"]
    print(f"sinc data, means of {draws} draws; limits: C within 10 %, noise std within 5 % at n >= 1000")
    print(table([*head, "worst std"], rows))


def robot(draws: int = 5) -> None:
    """Robot arm, 200/200: sum of the two test errors with 2 and 6 inputs, relevance of the irrelevant ones."""
    rows = []
    for n_inputs in (2, 6):
        for seed in range(draws):
            X, Y, _ = make_robot_arm(200, n_inputs=n_inputs, random_state=seed)
            Xt, Yt, Ft = make_robot_arm(200, n_inputs=n_inputs, random_state=1000 + seed)
            began = time.process_time()
            machine = BayesianSVR(None, likelihood=NOISE, ard=True).fit(X, Y)
            seconds = time.process_time() - began
            mean = machine.predict(Xt)
            ase, excess = (float(np.sum(np.mean((mean - T) ** 2, axis=0))) for T in (Yt, Ft))
            kappa = machine.relevances_
            gap = float(np.min(kappa[:, :2].min(axis=1) / kappa[:, 4:].max(axis=1))) if n_inputs == 6 else np.nan
            rows.append([n_inputs, seed, ase, excess, gap, seconds, " ".join(f"{k:.1e}" for k in kappa.ravel())])
            print(rows[-1], flush=True)
        part = rows[-draws:]
        rows.append([n_inputs, "mean", *(float(np.mean([r[i] for r in part])) for i in (2, 3, 4, 5)), ""])
    print("robot arm; limits: mean of the summed ASE 0.0062, ratio of relevances 1000")
    print(table(["inputs", "draw", "ASE", "excess", "ratio", "s", "relevances"], rows))


def housing(splits: int = 20) -> None:
    """Boston housing, random 481/25 splits, ARD, against scikit-learn's ARD Gaussian process on the same splits."""
    data = load("boston")
    X, y = data["X"], data["y"]
    rows = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:481], order[481:]
        began = time.process_time()
        machine = BayesianSVR(None, likelihood=NOISE, ard=True).fit(X[train], y[train])
        seconds = time.process_time() - began
        ours = float(np.mean((machine.predict(X[test]) - y[test]) ** 2))
        shift, scale = X[train].mean(axis=0), X[train].std(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer = gaussian_process(RBF(np.full(13, np.sqrt(13.0)))).fit((X[train] - shift) / scale, y[train])
        theirs = float(np.mean((peer.predict((X[test] - shift) / scale) - y[test]) ** 2))
        rows.append([seed, ours, theirs, seconds])
        print(rows[-1], flush=True)
    values = np.array([row[1:] for row in rows])
    rows.append(["mean", *map(float, values.mean(axis=0))])
    rows.append(["s.e.", *map(float, values.std(axis=0, ddof=1) / np.sqrt(splits))])
    print("Boston housing, ASE; limit 8.5, and below scikit-learn's or within its standard error")
    print(table(["split", "BayesianSVR", "sklearn GPR", "s"], rows))


def compactiv(splits: int = 3) -> None:
    """Computer activity, 2000/6192, ARD."""
    data = load("compactiv")
    X, y = data["X"], data["y"]
    rows = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:2000], order[2000:]
        began = time.process_time()
        machine = BayesianSVR(None, likelihood=NOISE, ard=True).fit(X[train], y[train])
        seconds = time.process_time() - began
        error = machine.predict(X[test]) - y[test]
        rows.append([seed, float(np.mean(error**2)), float(np.mean(np.abs(error))), machine.n_iter_, seconds])
        print(rows[-1], flush=True)
    rows.append(["mean", *(float(np.mean([row[i] for row in rows])) for i in (1, 2)), "", ""])
    print("computer activity; limit of the ASE 6.3")
    print(table(["split", "ASE", "AAE", "evaluations", "s"], rows))


def coverage(draws: int = 20) -> None:
    """Share of new targets inside 95 % intervals, sinc, n = 1000: own noise model and Gaussian noise."""
    rows = []
    for name, noise, limits in (("own", None, "94 to 96"), ("gaussian", 0.2, "93 to 97")):
        inside = []
        for seed in range(draws):
            X, y, _ = make_sinc(1000, noise=noise, random_state=seed)
            Xt, yt, _ = make_sinc(3000, noise=noise, random_state=1000 + seed)
            low, high = BayesianSVR(None, likelihood=NOISE).fit(X, y).predict_interval(Xt)
            inside.append(100.0 * float(np.mean((yt >= low) & (yt <= high))))
        rows.append([name, float(np.mean(inside)), min(inside), max(inside), limits])
        print(rows[-1], flush=True)
    print(f"coverage of 95 % intervals in per cent, {draws} draws")
    print(table(["noise", "mean", "lowest", "highest", "limits of the mean"], rows))


def outliers(draws: int = 20) -> None:
    """Sinc with Gaussian noise of 0.1 and 5 % gross outliers: RMSE on clean test data against scikit-learn's GPR."""
    rows = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y, _ = make_sinc(200, noise=0.1, random_state=rng)
        bad = rng.choice(200, size=10, replace=False)
        y[bad] += rng.choice([-1.0, 1.0], size=10) * rng.uniform(2.0, 5.0, size=10)
        Xt, _, ft = make_sinc(1000, random_state=rng)
        machine = BayesianSVR(None, likelihood=NOISE).fit(X, y)
        shift, scale = X.mean(axis=0), X.std(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer = gaussian_process(RBF(1.0)).fit((X - shift) / scale, y)
        ours = float(np.sqrt(np.mean((machine.predict(Xt) - ft) ** 2)))
        theirs = float(np.sqrt(np.mean((peer.predict((Xt - shift) / scale) - ft) ** 2)))
        found = np.isin(np.argsort(-machine.outlier_score_)[:10], bad).mean()
        rows.append([seed, ours, theirs, "yes" if ours < theirs else "NO", float(found)])
    print(f"5 % outliers: lower RMSE in {sum(row[3] == 'yes' for row in rows)} of {draws} draws")
    print(table(["draw", "BayesianSVR", "sklearn GPR", "lower", "outliers found"], rows))


def variance(draws: int = 5) -> None:
    """Variance of the kernel fixed at that of the targets, as in the thesis, against learnt: evidence and errors."""
    rows = []
    cases = []
    for seed in range(draws):
        X, y, _ = make_sinc(300, random_state=seed)
        Xt, _, ft = make_sinc(2000, random_state=1000 + seed)
        cases.append(("sinc 300", X, y, Xt, ft, False))
        X, Y, _ = make_robot_arm(200, random_state=seed)
        Xt, _, Ft = make_robot_arm(1000, random_state=1000 + seed)
        cases.append(("robot 2", X, Y[:, 0], Xt, Ft[:, 0], True))
    for name in ("boston", "reg_yacht", "reg_energy"):
        data = load(name)
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(data["y"]))
            train, test = order[: min(400, 3 * len(order) // 4)], order[min(400, 3 * len(order) // 4) :]
            X, y = data["X"], np.asarray(data["y"], dtype=float)
            cases.append((name, X[train], y[train], X[test], y[test], True))
    for name, X, y, Xt, yt, ard in cases:
        record: list[Any] = [name]
        for fixed in (True, False):
            began = time.process_time()
            machine = BayesianSVR(None, likelihood=NOISE, ard=ard, fix_variance=fixed).fit(X, y)
            error = float(np.mean((machine.predict(Xt) - yt) ** 2))
            record += [machine.log_evidence_, error, time.process_time() - began]
        rows.append(record)
        print(record, flush=True)
    names = list(dict.fromkeys(row[0] for row in rows))
    means = [[n, *(float(np.mean([r[i] for r in rows if r[0] == n])) for i in range(1, 7))] for n in names]
    print("variance fixed at that of the targets against learnt, means")
    print(table(["data", "evidence", "ASE", "s", "evidence (learnt)", "ASE (learnt)", "s (learnt)"], means))


def speed(repeats: int = 3) -> None:
    """One start, one thread, sinc: against scikit-learn's Gaussian process regressor."""
    rows = []
    with threadpool_limits(limits=1):
        for n, limit in ((1000, 5), (2000, 8)):
            X, y, _ = make_sinc(n, random_state=0)
            Z = (X - X.mean(axis=0)) / X.std(axis=0)
            seconds: list[list[float]] = []
            for _ in range(repeats if n == 1000 else 1):
                a = time.process_time()
                BayesianSVR(None, likelihood=NOISE, n_starts=1).fit(X, y)
                b = time.process_time()
                gaussian_process(RBF(1.0)).fit(Z, y)
                seconds.append([b - a, time.process_time() - b])
            ours, theirs = np.median(seconds, axis=0)
            rows.append([n, float(ours), float(theirs), float(theirs / ours), f">= {limit}"])
            print(rows[-1], flush=True)
    print("sinc, one start, one thread, CPU seconds")
    print(table(["n", "BayesianSVR [s]", "sklearn GPR [s]", "ratio", "limit"], rows))


def growth() -> None:
    """Cost from n = 500 to 4000, one start, default beta: the exponent of the growth."""
    sizes, rows = (500, 1000, 2000, 4000), []
    with threadpool_limits(limits=1):
        for n in sizes:
            X, y, _ = make_sinc(n, random_state=0)
            records = []
            for _ in range(3 if n < 2000 else 1):
                began = time.process_time()
                machine = BayesianSVR(None, likelihood=NOISE, n_starts=1).fit(X, y)
                records.append(time.process_time() - began)
            rows.append([n, float(np.median(records)), machine.n_iter_, *shares(machine)])
            print(rows[-1], flush=True)
    exponent = float(np.polyfit(np.log(sizes), np.log([row[1] for row in rows]), 1)[0])
    print(f"growth of the cost: n^{exponent:.2f} (limit 2.5)")
    print(table(["n", "s", "evaluations", "off-bound %", "on-bound %"], rows))


def main() -> None:
    """Run what is named, or everything."""
    jobs = {job.__name__: job for job in (sinc, robot, housing, compactiv, coverage, outliers, variance, speed, growth)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*jobs, []], default=[])
    for name in parser.parse_args().names or jobs:
        jobs[name]()


if __name__ == "__main__":
    main()
