"""The report: complete, self-contained, and right when a browser shows it."""

from __future__ import annotations

import html.parser
import json
import re

import numpy as np
import pytest
from model_zoo import data, fitted, models
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC, BayesianSVR, ExtendedSVC, RelevanceVectorRegressor, __version__
from bayesvm.report import collect_facts, measure, render, write_report
from bayesvm.report.effects import strongest_effects
from bayesvm.report.facts import as_plain
from bayesvm.report.performance import of_probabilities, own_performance
from bayesvm.tables import TableEncoder

#: Sections, in their order; those about choices are left out where there was none.
SECTIONS = ["performance", "drivers", "check", "data", "model", "kernels", "search", "use"]


class Checker(html.parser.HTMLParser):
    """Checks that elements are closed in order, and notes addresses and anchors."""

    VOID = ("meta", "link", "br")
    SHAPES = ("line", "polyline", "polygon", "circle")

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.addresses += [values[key] for key in ("src", "href") if key in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in self.SHAPES

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert all(address.startswith(("data:", "#")) for address in checker.addresses)
    own = [name for name in checker.ids if name in SECTIONS]
    assert own == [name for name in SECTIONS if name in own]
    assert {"performance", "data", "search", "use"} <= set(own)
    assert checker.ids[0] == "verdict"
    assert "http" not in page.replace("http-equiv", "")
    assert "@import" not in page
    return page


@pytest.fixture(scope="module")
def model():
    X, y, _ = data(60)
    return fitted(BayesianSVC(None, ard=True, n_starts=2, max_evaluations=30), X, y)


@pytest.fixture(scope="module")
def facts(model):
    X, y, _ = data(60)
    return collect_facts(model, X, y, target="outcome", preparation=["age: 3 missing, replaced by the median 40."])


def test_all_sections_are_there(facts):
    page = checked(render(facts, title="A <title> & more", model="m.bvm"))
    assert "A &lt;title&gt; &amp; more" in page
    assert "age: 3 missing" in page
    assert page.count('<svg role="img"') >= 6  # reliability, ROC, precision and recall, two effects, starts
    assert page.count("<figcaption>") == page.count("<figure>")
    assert "Confusion matrix" in page
    assert re.search(r"load\(&quot;m\.bvm&quot;\)", page)


def test_facts_are_plain_data(facts):
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert checked(render(json.loads(json.dumps(facts)))) == checked(render(facts))


def test_test_data_come_first(model, facts):
    X, y, _ = data(80, seed=5)
    test = as_plain(measure(model, X, y, "test data"))
    page = checked(render(facts, test=test))
    assert page.index("test data") < page.index("leave-one-out")
    assert 'role="note"' in page
    error = np.mean(model.predict(X) != y)
    assert test["figures"][0][1] == pytest.approx(error)
    assert test["figures"][0][2] <= error <= test["figures"][0][3]


def test_intervals_of_frequencies_cover(model):
    from bayesvm.report.performance import _share

    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        figure = _share("x", rng.random(50) < 0.2)
        hits += figure.lower <= 0.2 <= figure.upper
    assert 0.90 < hits / 400 < 0.985
    assert _share("x", np.zeros(10, dtype=bool)).lower == 0.0
    assert _share("x", np.ones(10, dtype=bool)).upper == 1.0


@pytest.mark.xdist_group("fitted models of every estimator")
def test_every_estimator_has_a_report():
    X, labels, targets = data()
    for _, model in models():
        if hasattr(model, "predict"):
            y = labels if hasattr(model, "classes_") else targets
            checked(render(collect_facts(model, X, y)))


def test_a_wrong_label_is_doubted():
    X, y, _ = data(80)
    far = int(np.argmax(X[:, 0]))
    wrong = y.copy()
    wrong[far] = "no"
    facts = collect_facts(fitted(BayesianSVC(None, n_starts=1), X, wrong), X, wrong, rows=range(2, 82))
    assert far + 2 in [row for row, *_ in facts["doubts"]["rows"]]


def test_warnings_say_what_is_the_matter():
    X, y, _ = data(12)
    model = fitted(BayesianSVC(None, n_starts=1, max_evaluations=1), X, y)
    text = " ".join(collect_facts(model, X, y)["warnings"])
    assert "did not converge" in text
    assert "fewer than thirty rows" in text


def test_pipelines_and_files(tmp_path):
    X, y, _ = data()
    table = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    model = fitted(make_pipeline(TableEncoder(), BayesianSVC(None, n_starts=1, max_evaluations=10)), table, y)
    path = tmp_path / "report.html"
    write_report(path, collect_facts(model, table, y))
    checked(path.read_text(encoding="utf-8"))
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


# -- rows of what a new user saw --------------------------------------------------------------------------------------
def relevances(page):
    """Return the names in the picture of the relevances, from top to bottom."""
    return re.findall(r'<span class="name">([^<]*)</span>', page)


def test_relevances_are_largest_first_whatever_the_order_of_the_facts(facts):
    wide = {f"f{i:02d}": float(i + 1) for i in range(30)}  # as a model file gives them back: sorted by name
    page = render({**facts, "relevance": wide})
    assert relevances(page) == [f"f{i:02d}" for i in range(29, 9, -1)]
    assert "The largest 20 of 30." in page


def test_evidences_of_a_regression_are_on_one_scale():
    X, _, targets = data(60)
    model = fitted(BayesianSVR(None, likelihood="soft-insensitive", n_starts=2), X, 1000.0 * targets)
    facts = collect_facts(model, X, 1000.0 * targets)
    best = max(start["value"] for start in facts["starts"])
    assert best == pytest.approx(facts["log_evidence"], abs=1e-6)
    assert facts["log_evidence"] == pytest.approx(model.log_evidence_)
    chosen = fitted(BayesianSVR(n_starts=1), X, 1000.0 * targets)
    facts = collect_facts(chosen, X, 1000.0 * targets)
    assert facts["starts"] == []  # they went over evidences of several models
    row = max(chosen.candidates_, key=lambda candidate: candidate.weight)
    prior = chosen.models_[0].objective.prior.log_density(chosen.models_[0].theta, chosen.theta_names_)[0]
    assert row.log_evidence - prior == pytest.approx(facts["log_evidence"], abs=1e-6)


def test_hyperparameters_of_several_classes_are_named_by_class():
    X, y, targets = data(60)
    classes = np.where(targets > 1.0, "surely", y)
    facts = collect_facts(fitted(BayesianSVC(None, multi_class="ovr", n_starts=1), X, classes), X, classes)
    assert all(list(row["values"]) == ["no", "surely", "yes"] for row in facts["hyperparameters"])
    page = checked(render(facts))
    assert page.index(">no</th>") < page.index(">surely</th>") < page.index(">yes</th>")
    assert {start["output"] for start in facts["starts"]} == {"no", "surely", "yes"}


def test_no_sentence_is_repeated_for_every_feature(facts):
    names = [f"gaussian.lengthscale[f{i}]" for i in range(30)]
    rows = [{"name": n, "value": 1.0, "meaning": "distance over which", "at_bound": True} for n in names]
    page = render({**facts, "hyperparameters": rows, "relevance": {f"f{i}": 1.0 for i in range(30)}})
    assert page.count("distance over which the function") + page.count("<td>distance over which</td>") == 0


def test_features_that_are_switched_off_are_counted_and_no_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = X[:, 0] + 0.1 * rng.normal(size=150)
    facts = collect_facts(fitted(BayesianSVR(ard=True), X, y), X, y)
    assert re.search(r"[1-7] of 8 features are switched off", " ".join(facts["remarks"]))
    assert not any("bound" in line for line in facts["warnings"])


def test_a_search_that_converged_has_starts_that_did():
    X, y, _ = data(60)
    facts = collect_facts(fitted(BayesianSVC(None, n_starts=3), X, y), X, y)
    best = max(facts["starts"], key=lambda start: start["value"])
    assert facts["converged"]
    assert best["status"].startswith("converged")
    assert "stalled" not in render(facts)


def test_intervals_stay_within_what_a_figure_can_be():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(45, 2))
    y = (X[:, 0] > 0.0).astype(int)
    for performance in (
        own_performance(fitted(BayesianSVC(n_starts=1), X, y), X, y),
        of_probabilities(np.array([[1e-9, 1.0]] * 9 + [[0.5, 0.5]]), np.ones(10, dtype=int), [0, 1], "x"),
        of_probabilities(np.array([[1.0, 0.0]] * 9 + [[0.5, 0.5]]), np.ones(10, dtype=int), [0, 1], "x"),
    ):
        for figure in performance.figures:
            assert 0.0 <= figure.lower <= figure.value <= figure.upper
            assert figure.name != "Brier score" or figure.upper <= 2.0


def test_no_figure_is_of_training_rows_that_were_seen():
    X, labels, targets = data(40)
    for model, y in (
        (BayesianSVR(n_starts=1), targets),
        (RelevanceVectorRegressor(), targets),
        (ExtendedSVC(), labels),
    ):
        found = collect_facts(fitted(model, X, y), X, y)["performance"]
        assert found["source"] in ("leave-one-out", "5-fold cross-validation")
    seen = measure(model, X, labels, "seen")
    assert found["figures"][0][1] >= seen.figures[0].value


def test_leave_one_out_of_a_regressor_is_worse_than_what_it_saw():
    X, _, targets = data(40)
    model = fitted(BayesianSVR(n_starts=1), X, targets)
    own = own_performance(model, X, targets)
    assert own.source == "leave-one-out"
    assert own.figures[0].value > measure(model, X, targets, "seen").figures[0].value
    assert own.figures[0].value == pytest.approx(np.sqrt(np.mean((model.leave_one_out().mean - targets) ** 2)))


def test_starts_that_disagree_are_no_warning():
    X, y, _ = data(60)
    facts = collect_facts(fitted(BayesianSVC(None, n_starts=3), X, y), X, y)
    apart = [{**start, "value": start["value"] - 9.0 * i} for i, start in enumerate(facts["starts"])]
    assert not any("start" in line for line in facts["warnings"])
    assert "of which 1 reached the maximum" in render({**facts, "starts": apart})


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_noise_is_said_to_be_no_better_than_guessing(task):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    model, y = (BayesianSVC(), rng.integers(0, 2, 80)) if task == "classification" else (BayesianSVR(), X[:, 0] * 0)
    y = y if task == "classification" else rng.normal(size=80)
    facts = collect_facts(fitted(model.set_params(n_starts=2), X, y), X, y)
    assert any("no better than always guessing" in line for line in facts["warnings"])
    page = checked(render(facts))
    assert 'class="verdict poor"' in page
    assert "No better than always guessing" in page


def test_what_can_be_predicted_is_said_to_be_better_than_guessing(facts):
    assert not any("no better" in line for line in facts["warnings"])
    assert 'class="verdict good"' in render(facts)
    assert "Clearly better than always guessing" in render(facts)


def test_how_sparse_the_solution_is_is_told(facts):
    assert re.search(r"The solution rests on \d+ of 60 training rows", render(facts))
    dense = collect_facts(fitted(BayesianSVC(n_starts=1, likelihood="logistic"), *data(60)[:2]), *data(60)[:2])
    told = "The solution is not sparse: it rests on {vectors} of 60 rows; "
    told += "predictions are computed from {basis} of them."
    assert told.format(**dense["support"]) in dense["remarks"]


def test_pixels_lead_to_a_word_about_standardising():
    digits = load_digits(n_class=2)
    X, y = digits.data[:80], digits.target[:80]
    model = BayesianSVC(None, n_starts=1, max_evaluations=5)
    assert any("values of one kind" in line for line in collect_facts(fitted(model, X, y), X, y)["warnings"])
    plain = fitted(BayesianSVC(None, n_starts=1, max_evaluations=5, standardize=False), X, y)
    assert not any("values of one kind" in line for line in collect_facts(plain, X, y)["warnings"])


def test_the_page_names_file_date_and_version(facts):
    page = render({**facts, "source": "people.csv"})
    assert f"people.csv · 60 rows · 2 features · BayesianSVC · bayesvm {__version__} · {facts['created']}" in page


def test_the_choice_of_the_kernel_is_shown_where_there_was_one(facts):
    assert 'id="kernels"' not in render(facts)
    X, y, _ = data(60)
    tried = collect_facts(fitted(BayesianSVC("auto", n_starts=1), X, y), X, y)
    assert len(tried["candidates"]) > 1
    assert "Choice of the kernel" in checked(render(tried))
    weighted = [
        {"kernel": "a", "output": "", "kept": True, "log_evidence": -3.0, "log_model_evidence": -5.0, "weight": 0.9,
         "seconds": 1.0},
        {"kernel": "<b>", "output": "", "kept": False, "log_evidence": -4.0, "log_model_evidence": None, "weight": 0.1,
         "seconds": 2.0},
    ]  # fmt: skip
    page = checked(render({**facts, "candidates": weighted}))
    assert "90.0%" in page
    assert "log model evidence [nats]" in page
    assert "&lt;b&gt;" in page


def test_the_choice_of_the_kernel_is_by_class():
    X, y, targets = data(60)
    classes = np.where(targets > 1.0, "surely", y)
    facts = collect_facts(fitted(BayesianSVC("auto", multi_class="ovr", n_starts=1), X, classes), X, classes)
    found = facts["candidates"]
    assert list(dict.fromkeys(row["output"] for row in found)) == ["no", "surely", "yes"]
    for label in ("no", "surely", "yes"):
        values = [row["weight"] for row in found if row["output"] == label]
        assert values == sorted(values, reverse=True)
    assert "Kernels that were tried" in checked(render(facts))


def test_effects_show_all_of_several_classes():
    X, y, targets = data(60)
    classes = np.where(targets > 1.0, "<surely>", y)
    facts = collect_facts(fitted(BayesianSVC(n_starts=1), X, classes), X, classes)
    assert facts["effects"]["events"] == ["<surely>", "no", "yes"]
    for curve in facts["effects"]["curves"]:
        np.testing.assert_allclose(np.sum(curve["means"], axis=0), 1.0)
    page = checked(render(facts))
    assert '<li class="key k0">&lt;surely&gt;</li>' in page
    assert 'class="line k2"' in page


def test_effects_are_means_of_predictions_and_lie_in_their_band():
    X, _, targets = data(60)
    model = fitted(BayesianSVR(n_starts=1), X, targets)
    (effect, *_) = strongest_effects(model, X, ["a", "b"], [])
    rows = X[np.linspace(0, 59, 40).astype(int)]
    column = ["a", "b"].index(effect.feature)
    for value, mean in zip(effect.values, effect.means[:, 0]):
        moved = rows.copy()
        moved[:, column] = value
        assert mean == pytest.approx(model.predict(moved).mean())
    assert np.all((effect.lower <= effect.means[:, 0]) & (effect.means[:, 0] <= effect.upper))
    assert effect.feature == "a"  # the stronger one


def test_facts_of_an_older_file_are_shown(facts):
    older = {k: v for k, v in facts.items() if k not in ("effects", "candidates", "remarks", "created", "version")}
    performance = {k: v for k, v in facts["performance"].items() if k not in ("baseline", "confusion")}
    checked(render({**older, "performance": performance}))


def test_each_of_several_classes_is_judged():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5, 1.0, 2.0], size=4000)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in proba]]
    found = of_probabilities(proba, y, ["a", "b", "c"], "test data").per_class
    assert [c.label for c in found] == ["a", "b", "c"]
    assert sum(c.rows for c in found) == 4000
    for k, c in enumerate(found):
        assert abs(c.rows - c.expected) < 4.0 * c.deviation
        assert c.found == pytest.approx(np.mean(proba[y == c.label].argmax(axis=1) == k))
    never = of_probabilities(np.tile([0.8, 0.1, 0.1], (10, 1)), np.array(["a"] * 10), ["a", "b", "c"], "test data")
    assert np.isnan(never.per_class[1].found)
    assert as_plain(never)["per_class"][1][2] is None
    assert of_probabilities(proba[:, :2], y, ["a", "b"], "test data").per_class == ()
