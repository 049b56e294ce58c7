"""Compare losses on data with gross outliers; writes losses_under_outliers.png.

The table has the error on clean data, the noise and the outliers that were found, and the evidence.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from bayesvm import BayesianSVR
from bayesvm.datasets import make_sinc

LIKELIHOODS = ("soft-insensitive", "smooth-insensitive", "huber", "gaussian-noise")


def contaminated(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sinc data with Gaussian noise of 0.1, of which a share is thrown far off, and the rows that were."""
    rng = np.random.default_rng(seed)
    X, y, _ = make_sinc(n, noise=0.1, random_state=rng)
    rows = rng.choice(n, size=round(share * n), replace=False)
    y[rows] += rng.choice([-1.0, 1.0], size=rows.size) * rng.uniform(2.0, 5.0, size=rows.size)
    return X, y, rows


def main() -> None:
    """Fit every loss with and without outliers and print a table."""
    Xt = np.linspace(-10.0, 10.0, 400)[:, None]
    ft = np.sinc(Xt[:, 0] / np.pi)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    print(f"{'loss':20s} {'outliers':>8s} {'RMSE':>8s} {'noise':>8s} {'found':>8s} {'ln P(D)':>10s}")
    for share, axis in zip((0.0, 0.05), axes):
        X, y, rows = contaminated(200, share, seed=0)
        axis.plot(X, y, ".", color="0.6")
        axis.set(title=f"{share:.0%} outliers", xlabel="x", ylim=(-1.0, 1.6))
        for name in LIKELIHOODS:
            machine = BayesianSVR(likelihood=name, n_starts=1).fit(X, y)
            found_f = machine.predict(Xt)
            axis.plot(Xt, found_f, label=name)
            rmse = float(np.sqrt(np.mean((found_f - ft) ** 2)))
            worst = np.argsort(-machine.outlier_score_)[: rows.size]
            found = f"{np.isin(worst, rows).sum()}/{rows.size}"
            noise, evidence = machine.noise_std_, machine.log_evidence_
            print(f"{name:20s} {share:8.0%} {rmse:8.4f} {noise:8.4f} {found:>8s} {evidence:10.2f}")
    axes[0].legend()
    figure.savefig("losses_under_outliers.png", dpi=120)


if __name__ == "__main__":
    main()
