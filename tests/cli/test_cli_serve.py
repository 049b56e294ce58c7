"""``bayesvm serve``: what it answers, whom it refuses, and that it works in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("flask")
pytest.importorskip("pandas")

import pandas as pd

from bayesvm import BayesianSVC, save
from bayesvm.cli.app import run
from bayesvm.cli.inspection import info_of
from bayesvm.cli.prediction import load_model
from bayesvm.cli.serve import Service, create_app
from browser import (
    DARK,
    WIDTHS,
    accessibility_script,
    framed,
    needs_axe,
    needs_browser,
    run_browser,
    told,
)

pytestmark = pytest.mark.xdist_group("served models")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, a classifier and a regressor."""
    path = tmp_path_factory.mktemp("serve")
    rng = np.random.default_rng(0)
    n = 80
    size, colour, when = rng.normal(20.0, 5.0, n), rng.choice(["red", "blue", "green"], n), rng.random(n) > 0.5
    value = size + 6.0 * (colour == "red") + rng.normal(size=n)
    table = pd.DataFrame(
        {
            "size": [f"${v:,.2f}" for v in size],
            "colour": colour,
            "old": np.where(when, "yes", "no"),
            "price": value.round(3),
            "kind": np.where(value > 22.0, "<dear>", "cheap"),
        }
    )
    table.to_csv(path / "d.csv", index=False)
    for target, other in (("kind", "price"), ("price", "kind")):
        arguments = ["fit", str(path / "d.csv"), "--target", target, "--drop", other, "--starts", "1", "-q"]
        assert run([*arguments, "--model", str(path / f"{target}.bvm")]) == 0
    return path


def service(folder, name):
    path = str(folder / f"{name}.bvm")
    return Service(load_model(path), info_of(path), f"{name}.bvm")


@pytest.fixture(scope="module")
def client(folder):
    return create_app(service(folder, "kind")).test_client()


ROW = {"size": 30.0, "colour": "red", "old": "yes"}


# -- answers ----------------------------------------------------------------------------------------------------------
def test_the_form_has_the_columns_of_the_table(client):
    found = client.get("/model").get_json()
    fields = {field["name"]: field for field in found["fields"]}
    assert {name: field["kind"] for name, field in fields.items()} == {
        "size": "number",
        "colour": "choice",
        "old": "choice",
    }
    assert set(fields["colour"]["options"]) == {"red", "blue", "green"}
    assert fields["size"]["low"] < fields["size"]["value"] < fields["size"]["high"]
    assert found["target"] == "kind"
    assert found["classes"] == ["<dear>", "cheap"]


def test_predictions_are_those_of_the_model(client, folder):
    found = client.post("/predict", json={"values": ROW}).get_json()
    model = load_model(str(folder / "kind.bvm"))
    proba = model.predict_proba(pd.DataFrame({key: [value] for key, value in ROW.items()}))[0]
    assert found["prediction"]["prediction"] == "<dear>"
    assert found["prediction"]["P(<dear>)"] == pytest.approx(proba[0])
    assert found["remarks"] == []


def test_what_is_typed_as_in_the_table_is_read_as_there(client):
    typed = client.post("/predict", json={"values": {**ROW, "size": "$30.00"}}).get_json()
    assert typed["prediction"] == client.post("/predict", json={"values": ROW}).get_json()["prediction"]


def test_the_most_similar_rows_are_shown_with_their_target(client, folder):
    table = pd.read_csv(folder / "d.csv")
    row = {"size": table["size"][7], "colour": table["colour"][7], "old": table["old"][7]}
    nearest = client.post("/predict", json={"values": row}).get_json()["nearest"]
    assert len(nearest) == 5
    assert nearest[0]["row"] == 9  # the eighth row of data is the ninth of the file
    assert nearest[0]["target"] == table["kind"][7]
    assert nearest[0]["distance"] == pytest.approx(0.0, abs=1e-9)
    assert [case["distance"] for case in nearest] == sorted(case["distance"] for case in nearest)


def test_a_regressor_has_an_interval_and_a_curve_with_a_band(folder):
    client = create_app(service(folder, "price")).test_client()
    found = client.post("/predict", json={"values": ROW}).get_json()["prediction"]
    assert found["lower"] < found["prediction"] < found["upper"]
    curve = client.post("/sweep", json={"values": ROW, "column": "size"}).get_json()
    assert len(curve["along"]) == 41
    at = int(np.argmin(np.abs(np.array(curve["along"]) - 30.0)))
    assert curve["curves"]["prediction"][at] == pytest.approx(found["prediction"], rel=0.05)
    assert set(curve["curves"]) == {"prediction", "std", "lower", "upper"}


def test_a_choice_is_swept_over_its_options(client):
    found = client.post("/sweep", json={"values": ROW, "column": "colour"}).get_json()
    assert set(found["along"]) == {"red", "blue", "green"}
    assert len(found["curves"]["P(cheap)"]) == 3


def test_gaps_and_new_categories_are_told(client):
    found = client.post("/predict", json={"values": {**ROW, "colour": "pink", "size": ""}}).get_json()
    assert any("pink" in line or "category" in line for line in found["remarks"])
    assert any("missing" in line for line in found["remarks"])


def test_a_table_is_predicted_whole(client, folder):
    content = (folder / "d.csv").read_bytes()
    found = client.post("/table?name=d.csv", data=content).get_json()
    assert found["rows"] == 80
    assert len(found["shown"]) == 80
    assert found["csv"].splitlines()[0] == "prediction,P(<dear>),P(cheap)"
    assert len(found["csv"].splitlines()) == 81


@pytest.mark.parametrize(
    ("address", "body", "words"),
    [
        ("/predict", {}, "expected a JSON object with 'values'"),
        ("/predict", {"values": {"size": "much"}}, "the form, row 1, column 'size': expected a number, found 'much'"),
        ("/sweep", {"values": {}, "column": "nothing"}, "there is no column 'nothing'"),
    ],
)
def test_mistakes_are_told(client, address, body, words):
    answer = client.post(address, json=body)
    assert answer.status_code == 400
    assert words in answer.get_json()["error"]


def test_a_bad_table_is_told_by_its_name_and_not_by_its_place(client):
    answer = client.post("/table?name=mine.csv", data=b"a,b\n1,2\n")
    assert answer.status_code == 400
    assert answer.get_json()["error"].startswith("mine.csv")
    assert "/tmp" not in answer.get_json()["error"]


# -- who may ask ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_only_this_computer_is_answered(client, headers):
    assert client.post("/predict", json={"values": ROW}, headers=headers).status_code == 403
    assert client.get("/", headers=headers).status_code == 403


def test_nothing_is_loaded_from_elsewhere(client):
    for name in ("/", "/page.css", "/page.js"):
        answer = client.get(name)
        assert answer.status_code == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        links = re.findall(r"https?://[^\"' ]+", answer.get_data(as_text=True))
        assert [link for link in links if not link.startswith("http://www.w3.org/2000/svg")] == []
    assert client.get("/web.py").status_code == 404
    assert client.get("/../service.py").status_code == 404


# -- models without a table -------------------------------------------------------------------------------------------
def test_a_model_saved_from_python_can_be_served(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    save(BayesianSVC(n_starts=1).fit(X, X[:, 0] > 0.0), tmp_path / "m.bvm")
    client = create_app(service(tmp_path, "m")).test_client()
    fields = client.get("/model").get_json()["fields"]
    assert [field["name"] for field in fields] == ["x0", "x1"]
    assert fields[0]["low"] is not None
    found = client.post("/predict", json={"values": {"x0": 2.0, "x1": 0.0}}).get_json()
    assert str(found["prediction"]["prediction"]) == "True"
    assert found["nearest"] == []


def test_rows_are_kept_only_if_they_may_be(folder, tmp_path):
    arguments = ["fit", str(folder / "d.csv"), "--target", "kind", "--fast", "--starts", "1", "-q", "--no-cases"]
    assert run([*arguments, "--model", str(tmp_path / "m.bvm")]) == 0
    assert "cases" not in info_of(str(tmp_path / "m.bvm"))
    assert len(info_of(str(folder / "kind.bvm"))["cases"]["rows"]) == 80


# -- the command ------------------------------------------------------------------------------------------------------
def started(folder):
    code = "import sys; from bayesvm.cli import main; main(sys.argv[1:])"
    arguments = [sys.executable, "-c", code, "serve", str(folder / "kind.bvm"), "--no-open", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_the_command_serves_on_this_computer_until_it_is_interrupted(folder, capsys):
    from urllib.request import urlopen

    with started(folder) as process:
        watchdog = threading.Timer(60.0, process.kill)
        watchdog.start()
        try:
            address = json.loads(process.stdout.readline())["address"]
            assert address.startswith("http://127.0.0.1:")
            with urlopen(f"{address}model") as answer:
                assert json.load(answer)["target"] == "kind"
            taken = ["--port", address.rstrip("/").rpartition(":")[2]]
            assert run(["serve", str(folder / "kind.bvm"), "--no-open", "--json", *taken]) == 2
            assert "is taken" in json.loads(capsys.readouterr().out)["error"]["message"]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            watchdog.cancel()
            process.kill()


def test_what_is_missing_is_named(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "flask", None)
    assert run(["serve", str(folder / "kind.bvm"), "--no-open"]) == 2
    assert "pip install 'bayesvm[serve]'" in capsys.readouterr().err


# -- in a browser -----------------------------------------------------------------------------------------------------
READY = """
  const wait = async test => { for (let i = 0; i < 100 && !test(); i++) await new Promise(r => setTimeout(r, 50)); };
  const $ = id => doc.getElementById(id);
  await wait(() => doc.body.dataset.state === 'ready');
"""


@pytest.fixture(scope="module")
def address(folder):
    """Serve a classifier and, beside it, the frames in which tests look at it; return the address."""
    import flask
    from werkzeug.serving import make_server

    app = create_app(service(folder, "kind"))
    frames = {}

    def frame(number):
        answer = flask.Response(frames[number], mimetype="text/html")
        answer.headers["Content-Security-Policy"] = ""
        return answer

    app.add_url_rule("/frame/<int:number>", view_func=frame)
    app.after_request_funcs[None].insert(0, _without_policy)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", frames
    server.shutdown()


def _without_policy(response):
    """Let the frames of the tests, and axe-core in the page, run; the policy itself is tested above."""
    response.headers.pop("Content-Security-Policy", None)
    return response


def looked_at(address, folder, width, script, *, dark=False):
    root, frames = address
    number = len(frames)
    frames[number] = framed(f"{root}/", width, READY + script)
    size = f"--window-size={max(width, 500)},1000"
    options = ["--dump-dom", "--timeout=20000", size, *([DARK] if dark else [])]
    output, errors = run_browser(f"{root}/frame/{number}", folder, "--virtual-time-budget=15000", *options)
    assert errors == []
    return told(output)


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_or_overlaps(address, tmp_path, width):
    found = looked_at(address, tmp_path, width, "return checks(doc);")
    assert found["width"] == width
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert found["overlapping"] == []
    assert found["smallest"] >= 11


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_obstacle_for_anybody(address, tmp_path, dark):
    assert looked_at(address, tmp_path, 800, accessibility_script(), dark=dark) == []


@needs_browser
def test_the_prediction_moves_with_the_slider(address, tmp_path):
    script = """
      const text = () => $('prediction').textContent, range = $('field-0-range');
      const seen = [];
      for (const value of [range.min, range.max]) {
        const before = text();
        range.value = value; range.dispatchEvent(new view.Event('input'));
        await wait(() => text() !== before);
        seen.push([text(), $('field-0').value, doc.querySelector('#sweep .dot').getAttribute('cx')]);
      }
      return {seen, title: $('title').textContent, cases: $('nearest').rows.length,
        columns: [...$('nearest').rows[0].cells].map(c => c.textContent)};"""
    found = looked_at(address, tmp_path, 1400, script)
    (low, small, left), (high, large, right) = found["seen"]
    assert low.startswith("kind: cheap")
    assert high.startswith("kind: <dear>")
    assert float(small) < float(large)
    assert float(left) < float(right)
    assert found["title"] == "What kind will be"
    assert found["cases"] == 6
    assert found["columns"] == ["row", "kind", "size", "colour", "old"]


@needs_browser
def test_the_picture_can_be_dragged(address, tmp_path):
    script = """
      const svg = doc.querySelector('#sweep svg'), frame = svg.getBoundingClientRect();
      svg.setPointerCapture = () => {};
      const before = $('field-0').value;
      svg.dispatchEvent(new view.PointerEvent('pointerdown', {clientX: frame.left + 0.9 * frame.width, clientY: 9,
        pointerId: 1, buttons: 1}));
      await wait(() => $('field-0').value !== before);
      return [before, $('field-0').value].map(Number);"""
    before, after = looked_at(address, tmp_path, 1400, script)
    assert after > before


@needs_browser
def test_a_file_is_uploaded(address, tmp_path, folder):
    rows = json.dumps((folder / "d.csv").read_text())
    script = f"""
      const data = new view.DataTransfer();
      data.items.add(new view.File([{rows}], 'mine.csv'));
      $('file').files = data.files;
      $('file').dispatchEvent(new view.Event('change'));
      await wait(() => $('rows').rows.length > 0);
      return {{rows: $('rows').rows.length, note: $('table-note').textContent, link: !$('download').hidden}};"""
    found = looked_at(address, tmp_path, 800, script)
    assert found == {"rows": 81, "note": "80 rows", "link": True}


@needs_browser
def test_a_mistake_is_shown(address, tmp_path):
    script = """
      $('field-0').value = 'much'; $('field-0').dispatchEvent(new view.Event('input'));
      await wait(() => doc.body.dataset.state === 'refused');
      return $('remarks').textContent;"""
    assert "expected a number, found 'much'" in looked_at(address, tmp_path, 800, script)


@needs_browser
@pytest.mark.parametrize("width", [pytest.param(w, marks=pytest.mark.slow if w != 800 else ()) for w in WIDTHS])
@pytest.mark.parametrize("dark", [False, True])
def test_screenshots_are_light_or_dark(address, tmp_path, dark, width):
    image = pytest.importorskip("matplotlib.image")
    root, frames = address
    number = len(frames)
    frames[number] = framed(f"{root}/", width, READY + "return {};", height=900)
    options = [f"--screenshot={tmp_path / 'page.png'}", f"--window-size={max(width, 500)},900"]
    run_browser(f"{root}/frame/{number}", tmp_path, "--virtual-time-budget=15000", *options, *([DARK] * dark))
    pixels = image.imread(tmp_path / "page.png")[:, :width, :3]
    assert pixels.mean() < 0.35 if dark else pixels.mean() > 0.8
    assert pixels.std() > 0.05
