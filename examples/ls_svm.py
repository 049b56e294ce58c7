"""Three levels of inference: evidence against the width, ranked kernels, class priors; writes ls_svm.png."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from bayesvm import BayesianLSSVC
from bayesvm.kernels import Gaussian, Linear, Matern52


def main():
    X, y = make_moons(200, noise=0.25, random_state=0)
    X_new, y_new = make_moons(1000, noise=0.25, random_state=1)

    machine = BayesianLSSVC(random_state=0).fit(X, y)
    gamma, effective = machine.gamma_[0], machine.gamma_eff_[0]
    print(f"kernel {machine.kernel_.kernel}, gamma {gamma:.3f}, effective parameters {effective:.1f}")
    print(f"log evidence {machine.log_evidence_:.2f}, test accuracy {machine.score(X_new, y_new):.3f}")
    for lengthscale in (0.2, 0.4, 0.8, 1.6):
        print(f"  length scale {lengthscale}: log evidence {machine.log_evidence(np.log([lengthscale])):.2f}")

    for rank in BayesianLSSVC([Linear(), Gaussian(), Matern52()], random_state=0).fit(X, y).compare():
        print(f"  p = {rank.probability:.3f}  {rank.kernel}")

    rare = np.concatenate([np.flatnonzero(y_new == 0), np.flatnonzero(y_new == 1)[:50]])
    for prior in (None, [0.91, 0.09]):
        accuracy = np.mean(machine.predict(X_new[rare], class_prior=prior) == y_new[rare])
        print(f"second class rare, class prior {prior}: accuracy {accuracy:.3f}")

    widths = np.geomspace(0.1, 5.0, 60)
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    axes.semilogx(widths, [machine.log_evidence(np.log([width])) for width in widths])
    axes.set(xlabel="length scale", ylabel="log evidence", title="Third level of inference")
    figure.savefig("ls_svm.png", dpi=120)


if __name__ == "__main__":
    main()
