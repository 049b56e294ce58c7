"""Choosing what to label: the test error with chosen labels and with labels at random."""

import numpy as np
from sklearn.datasets import make_moons

from bayesvm import GPClassifier, suggest


def machine_of(X, y):
    """Return a machine for few labels.

    They can often be separated; Laplace's method is then over-confident, expectation propagation is not.
    """
    return GPClassifier(likelihood="probit", inference="ep", n_starts=2).fit(X, y)


def error_with(X, y, rows, X_test, y_test):
    return 1.0 - machine_of(X[rows], y[rows]).score(X_test, y_test)


def choose(X, y, first, size, step=5):
    """Return rows to label: the first ones, then a few at a time where a label tells most."""
    rows = list(first)
    while len(rows) < size:
        left = np.setdiff1d(np.arange(len(X)), rows)
        machine = machine_of(X[rows], y[rows])
        rows += list(left[suggest(machine, X[left], min(step, size - len(rows)))])
    return np.array(rows)


def main(runs=3):
    X_test, y_test = make_moons(2000, noise=0.25, random_state=99)
    found = {"50 chosen labels": [], "50 random labels": [], "100 random labels": []}
    for run in range(runs):
        X, y = make_moons(300, noise=0.25, random_state=run)
        order = np.random.default_rng(run).permutation(len(X))
        rows = choose(X, y, order[:10], 50), order[:50], order[:100]
        for errors, chosen in zip(found.values(), rows):
            errors.append(error_with(X, y, chosen, X_test, y_test))
    for name, errors in found.items():
        print(f"error with {name}: {100 * np.mean(errors):.1f} %")


if __name__ == "__main__":
    main()
