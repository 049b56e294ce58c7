"""Distributed fits: one block is the plain estimator, many blocks have the right gradient, all sources agree."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import bayesvm
import bayesvm.exceptions
from bayesvm.distributed import DistributedSVC, DistributedSVR, load, save
from bayesvm.distributed.objective import BlockEvidence
from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
from bayesvm.testing import five_point


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 2.0, 1.0]
    f = X[:, 0] + np.sin(X[:, 1])
    return X, np.where(f + 0.4 * rng.normal(size=n) > 0.0, "yes", "no"), f + 0.2 * rng.normal(size=n)


X, LABELS, TARGETS = data()
QUICK = {"n_starts": 1, "random_state": 0}


def svc(**options):
    return DistributedSVC(**{**QUICK, "block_size": 30, "posterior": "laplace", **options})


def svr(**options):
    return DistributedSVR(**{**QUICK, "block_size": 30, "likelihood": "huber", **options})


# -- one block ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"ard": True}, {"class_weight": "balanced"}], ids=["plain", "ard", "balanced"])
def test_one_block_is_the_plain_classifier(options):
    ours = DistributedSVC(n_starts=2, **options).fit(X, LABELS)
    plain = bayesvm.BayesianSVC(None, n_starts=2, reduce=None, **options).fit(X, LABELS)
    assert ours.n_blocks_ == 1
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)
    assert ours.loo_log_likelihood_ == pytest.approx(plain.loo_log_likelihood_, abs=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_block_is_the_plain_regressor(weighted):
    weights = np.random.default_rng(1).uniform(0.0, 2.0, len(X)) if weighted else None
    ours = DistributedSVR(n_starts=1).fit(X, TARGETS, weights)
    plain = bayesvm.BayesianSVR(None, likelihood="soft-insensitive", n_starts=1).fit(X, TARGETS, weights)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)
    for a, b in zip(ours.predict(X, return_std=True), plain.predict(X, return_std=True)):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(ours.predict_interval(X), plain.predict_interval(X), atol=1e-8)


def test_one_block_with_several_classes_and_outputs():
    y = np.digitize(TARGETS, [-1.0, 1.0])
    ours, plain = DistributedSVC(n_starts=1).fit(X, y), bayesvm.BayesianSVC(None, n_starts=1, reduce=None).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-8)
    Y = np.column_stack([TARGETS, X[:, 2]])
    for share in (True, False):
        options = {"likelihood": "huber", "n_starts": 1, "share_hyperparameters": share}
        ours, plain = DistributedSVR(**options).fit(X, Y), bayesvm.BayesianSVR(None, **options).fit(X, Y)
        np.testing.assert_allclose(ours.predict(X), plain.predict(X), atol=1e-7)


# -- many blocks -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [svc, svr])
def test_the_gradient_of_the_summed_evidence(make):
    machine = make(ard=True, max_evaluations=6, likelihood="raised-cosine" if make is svc else "huber")
    with pytest.warns(bayesvm.exceptions.ConvergenceWarning):
        machine.fit(X, LABELS if make is svc else TARGETS)
    assert machine.n_blocks_ == 4
    theta = np.array([0.1, *([0.4] * (len(machine.theta_names_) - 1))])
    gradient = machine.log_evidence(theta, gradient=True)[1]
    numeric = five_point(machine.log_evidence, theta)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)


def test_the_sum_is_that_of_the_blocks():
    machine = svc().fit(X, LABELS)
    theta = machine.models_[0].theta
    blocks = [handle.result() for handle in machine.models_[0].objective.blocks.handles]
    total = sum(machine.models_[0].objective.block_evidence.objective(block).evaluate(theta).value for block in blocks)
    assert machine.log_evidence_ == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("partition", ["random", "clustered"])
@pytest.mark.parametrize("committee", ["rbcm", "gpoe"])
def test_committees_predict(partition, committee):
    Xt, yt, tt = data(300, 1)
    options = {"partition": partition, "committee": committee}
    plain = bayesvm.BayesianSVC(None, n_starts=1, posterior="laplace").fit(X, LABELS)
    assert svc(**options).fit(X, LABELS).score(Xt, yt) > plain.score(Xt, yt) - 0.05  # blocks of 30 rows against 120
    machine = svr(**options).fit(X, TARGETS)
    assert (
        machine.score(Xt, tt)
        > bayesvm.BayesianSVR(None, n_starts=1, likelihood="huber").fit(X, TARGETS).score(Xt, tt) - 0.1
    )
    low, high = machine.predict_interval(Xt)
    assert 0.85 < np.mean((tt >= low) & (tt <= high)) <= 1.0


def test_far_from_the_data_the_prior_returns():
    machine = svr().fit(X, TARGETS)
    far = np.full((1, 3), 1e4)
    constant = machine.models_[0].kernel.diag(machine._standardizer.inputs(far))
    std = machine.predict(far, return_std=True, return_noise=False)[1]
    known = machine.predict(X[:1], return_std=True, return_noise=False)[1]
    assert std[0] > 3.0 * known[0]
    assert std[0] <= np.sqrt(constant[0]) * machine._targets.scale[0] * (1.0 + 1e-9)


def test_more_blocks_than_the_first_search_uses():
    machine = svc(block_size=10, likelihood="raised-cosine").fit(X, LABELS)
    assert machine.n_blocks_ == 12
    assert len(machine.history_) == 2
    last = machine.history_[-1]
    assert last.evaluations <= 8
    assert last.value == pytest.approx(machine.log_evidence_, abs=1e-9)
    assert machine.log_evidence_ >= machine.log_evidence(last.start)
    trigonometric = svc(block_size=10).fit(X, LABELS)
    assert trigonometric.history_[-1].value == pytest.approx(trigonometric.log_evidence(), abs=1e-6)


@pytest.mark.parametrize("share", [True, False])
def test_several_outputs_share_their_members(share):
    Y = np.column_stack([TARGETS, X[:, 2], TARGETS])
    machine = svr(share_hyperparameters=share).fit(X, Y)
    assert [model.n_outputs for model in machine.models_] == ([3] if share else [1, 1, 1])
    assert len({id(model.members) for model in machine.models_}) == 1
    assert len(machine.temper_) == len(machine.kernels_) == len(machine.calibration_) == 3
    mean, std = machine.predict(X, return_std=True)
    np.testing.assert_allclose(mean[:, 0], mean[:, 2], atol=1e-9)
    np.testing.assert_allclose(std[:, 0], std[:, 2], atol=1e-9)
    alone = svr().fit(X, TARGETS)
    if not share:
        np.testing.assert_allclose(mean[:, 0], alone.predict(X), atol=1e-9)
        assert machine.log_evidence_ == pytest.approx(
            2.0 * alone.log_evidence_ + svr().fit(X, X[:, 2]).log_evidence_, abs=1e-8
        )


def test_a_fit_that_fails_changes_nothing():
    machine = svc().fit(X, LABELS)
    before = dict(vars(machine))
    with pytest.raises(ValueError, match="positive weight in every class"):
        machine.fit(X[:, :2], LABELS, (LABELS == "yes").astype(float))
    assert vars(machine).keys() == before.keys()
    assert all(vars(machine)[name] is value for name, value in before.items())


def test_a_committee_has_no_joint_draws():
    with pytest.raises(TypeError, match="no joint posterior"):
        svc().fit(X, LABELS).sample(X[:2])


def test_posteriors_that_a_member_cannot_keep_are_refused():
    inference = bayesvm.inference.FactorAnalysed()
    with pytest.raises(IncompatibleError, match="one curvature per row"):
        svc(likelihood="logistic", inference=inference, posterior=None, optimizer=None).fit(X, LABELS)


def test_threads_change_nothing():
    one, two = svc().fit(X, LABELS), svc(n_jobs=2).fit(X, LABELS)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_failing_block_is_named(monkeypatch):
    whole = BlockEvidence.objective

    def broken(self, block):
        if block.number == 2:
            raise NotPositiveDefiniteError("its matrix has no factor")
        return whole(self, block)

    monkeypatch.setattr(BlockEvidence, "objective", broken)
    with pytest.raises(NotPositiveDefiniteError, match="1 of 4 blocks could not be evaluated: block 2: its matrix"):
        svr().fit(X, TARGETS)
    with pytest.raises(NotPositiveDefiniteError, match="block 2"):
        svr(block_size=10).fit(X, TARGETS)


def test_a_clone_uses_the_same_client():
    marker = object()
    assert clone(svc(client=marker)).client is marker


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_size": 1}, "block_size: expected an integer of at least 2"),
        ({"partition": "sorted"}, "partition: expected"),
        ({"committee": "vote"}, "committee: expected"),
        ({"checkpoint": "c", "n_starts": 9, "random_state": None}, "expected a random_state"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        svc(**options).fit(X, LABELS)


# -- saved models ------------------------------------------------------------------------------------------------------
def test_saved_committees_predict_member_by_member(tmp_path):
    machine = svc().fit(X, LABELS)
    expected = machine.predict_proba(X)
    save(machine, tmp_path / "model")
    assert len(list((tmp_path / "model").glob("member-*.npz"))) == 4
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)
    with pytest.raises(ValueError, match="no longer there"):
        loaded.log_evidence()
    with pytest.raises(ValueError, match="holds a model already"):
        save(machine, tmp_path / "model")
    (tmp_path / "model" / "member-0000002.npz").unlink()
    with pytest.raises(ValueError, match="1 of 4 members are missing"):
        load(tmp_path / "model")


def test_one_file_holds_a_committee_too(tmp_path):
    machine = svr().fit(X, TARGETS)
    bayesvm.save(machine, tmp_path / "model.bvm")
    np.testing.assert_array_equal(bayesvm.load(tmp_path / "model.bvm").predict(X), machine.predict(X))


def test_nothing_of_dask_is_imported_without_need(tmp_path):
    machine = svc().fit(X, LABELS)
    save(machine, tmp_path / "model")
    code = (
        "import sys, numpy as np, bayesvm; from bayesvm.distributed import load; "
        f"load({str(tmp_path / 'model')!r}).predict(np.zeros((2, 3))); "
        "sys.exit(any(name.split('.')[0] in ('dask', 'distributed') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


# -- scikit-learn ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", [DistributedSVC, DistributedSVR])
def test_scikit_learn_takes_them(cls):
    from sklearn.utils.estimator_checks import check_estimator

    options = {"posterior": "laplace"} if cls is DistributedSVC else {"likelihood": "huber"}
    check_estimator(cls(n_starts=1, evidence_tol=0.3, **options), on_skip=None)
