"""Choosing what to label: half the labels, the same error as labels at random."""

import numpy as np
from sklearn.datasets import make_moons

from bayesvm import GPClassifier, suggest


def error_with(X, y, rows, X_test, y_test):
    return 1.0 - GPClassifier(n_starts=1).fit(X[rows], y[rows]).score(X_test, y_test)


def choose(X, y, first, size, step=5):
    """Return rows to label: the first ones, then a few at a time where a label tells most."""
    rows = list(first)
    while len(rows) < size:
        left = np.setdiff1d(np.arange(len(X)), rows)
        machine = GPClassifier(n_starts=1).fit(X[rows], y[rows])
        rows += list(left[suggest(machine, X[left], min(step, size - len(rows)))])
    return np.array(rows)


def main(runs=3):
    X_test, y_test = make_moons(2000, noise=0.25, random_state=99)
    chosen, random = [], []
    for run in range(runs):
        X, y = make_moons(300, noise=0.25, random_state=run)
        order = np.random.default_rng(run).permutation(len(X))
        chosen.append(error_with(X, y, choose(X, y, order[:10], 40), X_test, y_test))
        random.append(error_with(X, y, order[:80], X_test, y_test))
    print(f"error with 40 chosen labels: {100 * np.mean(chosen):.1f} %")
    print(f"error with 80 random labels: {100 * np.mean(random):.1f} %")


if __name__ == "__main__":
    main()
