"""Saved committees: one file, a folder with a file per member, and files of earlier versions of the format."""

import json
from pathlib import Path

import numpy as np
import pytest

import bayesvm
from bayesvm.distributed import DistributedSVC, load

CORPUS = Path(__file__).parent / "corpus" / "0.1-format-2"
STORED = json.loads((CORPUS / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(STORED["expected"]))
def test_models_of_version_2_predict_as_before(name):
    folder = (CORPUS / name).is_dir()
    model = load(CORPUS / name) if folder else bayesvm.load(CORPUS / f"{name}.bvm")
    X, Y, expected = np.array(STORED["X"]), np.array(STORED["y"]), dict(STORED["expected"][name])
    assert model.log_evidence_ == expected.pop("log_evidence_")
    if "log_density" in expected:
        targets = Y if name == "svr-two-outputs" else Y[:, 0]
        np.testing.assert_allclose(model.log_density(X, targets), expected.pop("log_density"), rtol=1e-9)
    for method, values in expected.items():
        found = np.asarray(getattr(model, method)(X))
        assert found.dtype.kind in "Ui" or np.allclose(found, values, rtol=1e-9, atol=1e-12)
        assert found.dtype.kind == "f" or found.tolist() == values
    assert sum(m.n_outputs for m in model.models_) == len(model.kernels_) == len(model.likelihoods_)
    assert all(m.n_outputs == len(m.calibrations) == len(m.rules) == 1 for m in model.models_)
    assert model.n_iter_ == sum(record.evaluations for record in model.history_)
    assert model.get_params()["optimizer"] == "bfgs"
    assert model.get_params()["evidence_tol"] == 0.1
    with pytest.raises(ValueError, match="no longer there"):
        model.log_evidence()


def test_an_estimator_of_version_2_that_was_not_fitted():
    model = bayesvm.load(CORPUS / "not-fitted.bvm")
    assert model.get_params() == DistributedSVC(block_size=7).get_params()
