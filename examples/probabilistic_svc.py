"""Sollich1999, Figure 2: C of a support vector machine from its normalised evidence; writes probabilistic_svc.png."""

from bayesvm import ProbabilisticSVC
from bayesvm.datasets import make_sollich
from bayesvm.kernels import Gaussian
from bayesvm.plots import EvidenceCurveDisplay


def main() -> None:
    X, y, _ = make_sollich(50, C=2.0, random_state=1)
    machine = ProbabilisticSVC(
        Gaussian(1.25, 0.05), C=2.0, tune="C", evidence="naive", standardize=False, n_nodes=50, random_state=0
    ).fit(X, y)
    curve = machine.evidence_curve()
    print(f"C by the naive evidence Q(D):      {curve.naive_best:.2f}")
    print(f"C by the normalised evidence P(D): {machine.C_[0]:.2f} (the data were drawn with C = 2)")
    print(f"ln P(D) = {machine.log_evidence_:.2f} +- {machine.log_evidence_error_:.2f}")
    for row, p, q in zip(X[:5, 0], machine.predict_proba(X[:5])[:, 1], machine.predict_rejection(X[:5])):
        print(f"x = {row:.2f}: P(y = 1) = {p:.3f} if decided, not decided with probability {q:.3f}")
    EvidenceCurveDisplay.from_estimator(machine).figure_.savefig("probabilistic_svc.png", dpi=120)


if __name__ == "__main__":
    main()
