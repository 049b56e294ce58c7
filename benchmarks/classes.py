"""Several classes: the default machine beside own kernels per class, the joint softmax model and the strongest peers.

``python -m benchmarks.classes [--sets a,b] [--splits N] [--machines a;b] [--out FILE]``

*digits*: the permutations of seeds 0 to N - 1, the first 1000 rows to train, 797 to test. *usps 2000*: the first 2000
training rows, *usps*: all 7291, both with the 2007 test rows (one split). *iris*, *wine*: 70 % to train. *glass-like*:
six classes of 9 to 76 rows with heavy tails, *vehicle-like*: four classes of two clusters each in 18 inputs, drawn anew
for every split. Results are written to FILE as they come, and a second run goes on where the first ended. Processor
seconds of one thread.

``python -m benchmarks.classes show FILE`` prints the table of a file.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.typing import Indices, Matrix
from benchmarks._common import load
from benchmarks.choice import Split, classified, scikit_gpc, show


def glass_like(seed: int) -> tuple[Matrix, Indices]:
    """Draw six classes of very different sizes with heavy tails and covariances of their own, 9 inputs."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for k, size in enumerate((70, 76, 17, 13, 9, 29)):
        centre, mixing = rng.normal(size=9), 0.6 * np.eye(9) + 0.35 * rng.normal(size=(9, 9))
        rows.append(centre + rng.standard_t(4, size=(size, 9)) @ mixing)
        labels += [k] * size
    return np.vstack(rows), np.array(labels)


def vehicle_like(seed: int) -> tuple[Matrix, Indices]:
    """Draw four classes of two clusters each: 18 inputs, ten of which inform, six are mixtures of these."""
    shape = {"n_informative": 10, "n_redundant": 6, "n_classes": 4, "n_clusters_per_class": 2}
    return make_classification(846, 18, **shape, class_sep=1.3, flip_y=0.03, random_state=seed)


def split_of(name: str, k: int) -> Split:
    """Return one split of a set."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.RandomState(k).permutation(y.size)
        return X[order[:1000]], y[order[:1000]], X[order[1000:]], y[order[1000:]]
    if name.startswith("usps"):
        data = load("usps")
        n = 2000 if name == "usps 2000" else 7291
        X, y = data["X"].astype(float), data["y"]
        return X[:n], y[:n], X[7291:], y[7291:]
    makers: dict[str, Callable[[], Any]] = {
        "iris": lambda: load_iris(return_X_y=True),
        "wine": lambda: load_wine(return_X_y=True),
        "glass-like": lambda: glass_like(k),
        "vehicle-like": lambda: vehicle_like(k),
    }
    X, y = makers[name]()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=k)
    return X_train, y_train, X_test, y_test


MACHINES: dict[str, Callable[[int], Any]] = {
    "BayesianSVC()": lambda d: BayesianSVC(random_state=0),
    "own kernels": lambda d: BayesianSVC(multi_class="ovr", random_state=0),
    "softmax": lambda d: GPClassifier(multi_class="softmax", calibrate="auto", random_state=0),
    "SVC, sigmoid": lambda d: SigmoidSVC(),
    "logistic regression": lambda d: make_pipeline(
        StandardScaler(), LogisticRegressionCV(scoring="neg_log_loss", max_iter=5000)
    ),
    "sklearn GPC": scikit_gpc,
}
SETS = ("iris", "wine", "glass-like", "vehicle-like", "digits", "usps 2000", "usps")


def measure(sets: list[str], splits: int, machines: list[str], out: Path) -> None:
    """Run what is missing in the file."""
    known = json.loads(out.read_text()) if out.exists() else {}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's machines warn about bounds and iterations
        for name in sets:
            for k in range(1 if name.startswith("usps") else splits):
                data = split_of(name, k)
                for machine in machines:
                    key = f"{name}|{k}|{machine}"
                    if key not in known:
                        known[key] = classified(MACHINES[machine](data[0].shape[1]), data)
                        out.write_text(json.dumps(known, indent=0))
    show(out)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("show", nargs="*", help="show FILE")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--machines", default=";".join(MACHINES))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/classes.json"))
    args = parser.parse_args()
    if args.show:
        show(Path(args.show[1]))
    else:
        measure(args.sets.split(","), args.splits, args.machines.split(";"), args.out)


if __name__ == "__main__":
    main()
