"""The web server: this computer alone can reach it, and the page loads nothing from elsewhere."""

from __future__ import annotations

import logging
import threading
import webbrowser
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from bayesvm.cli.console import Reporter
from bayesvm.cli.exit_codes import UsageError
from bayesvm.cli.serve.service import Service
from bayesvm.tables import DataError

HOST = "127.0.0.1"
#: Names under which a browser on this computer may ask.
OWN = (HOST, "localhost")
#: Largest upload in bytes.
LARGEST = 50_000_000
#: The files of the page, and their types.
ASSETS = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'"


def create_app(service: Service) -> Any:
    """Return the application of a model.

    ====================  ==========================================================================
    address               what it gives
    ====================  ==========================================================================
    ``/``                 the page
    ``/model``            the model and the fields of the form
    ``/predict``          prediction and similar cases of the values that are posted
    ``/sweep``            the prediction as one column moves
    ``/table?name=``      predictions of a table whose file is posted
    ====================  ==========================================================================

    Errors are ``{"error": message}`` with status 400. Requests under another name than this computer's, or from a page
    of another origin, are refused: a page of the web could otherwise ask through the reader's browser.
    """
    flask = _flask()
    app = flask.Flask("bayesvm", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = LARGEST
    app.json.sort_keys = False  # columns stay in the order of the table

    def only_this_computer() -> Any:
        request = flask.request
        host = urlsplit(f"//{request.host}").hostname
        origin = request.headers.get("Origin")
        if host not in OWN or (origin is not None and origin != f"http://{request.host}"):
            return flask.jsonify(error="this page answers to this computer alone"), 403
        return None

    def asset(name: str = "page.html") -> Any:
        if name not in ASSETS:
            flask.abort(404)
        text = files("bayesvm.cli.serve").joinpath(name).read_text(encoding="utf-8")
        return flask.Response(text, mimetype=ASSETS[name])

    def predict() -> Any:
        return flask.jsonify(service.predict(_posted(flask)["values"]))

    def sweep() -> Any:
        body = _posted(flask)
        return flask.jsonify(service.sweep(body["values"], str(body.get("column"))))

    def table() -> Any:
        return flask.jsonify(service.table(flask.request.get_data(), flask.request.args.get("name", "table.csv")))

    app.before_request(only_this_computer)
    app.after_request(_with_policy)
    app.register_error_handler(DataError, lambda error: (flask.jsonify(error=str(error).splitlines()[0]), 400))
    app.add_url_rule("/", view_func=asset)
    app.add_url_rule("/<name>", view_func=asset)
    app.add_url_rule("/model", "model", lambda: flask.jsonify(service.description()))
    for address, answer in (("/predict", predict), ("/sweep", sweep), ("/table", table)):
        app.add_url_rule(address, view_func=answer, methods=["POST"])
    return app


def _with_policy(response: Any) -> Any:
    """Return an answer that tells the browser to load nothing from elsewhere and to keep nothing."""
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    return response


def _posted(flask: Any) -> dict[str, Any]:
    """Return the JSON object that was posted, which holds ``values``."""
    body = flask.request.get_json(silent=True)
    if not isinstance(body, dict) or not isinstance(body.get("values"), dict):
        raise DataError("expected a JSON object with 'values'")
    return body


def _flask() -> Any:
    try:
        import flask
    except ImportError:
        raise UsageError("bayesvm serve needs flask: pip install 'bayesvm[serve]'") from None
    return flask


def serve(service: Service, port: int, say: Reporter, *, open_page: bool) -> None:
    """Answer until Ctrl-C; port 0 takes one that is free."""
    app = create_app(service)
    from werkzeug.serving import make_server

    try:
        server = make_server(HOST, port, app, threaded=True)
    except (OSError, SystemExit):
        raise UsageError(f"port {port} of this computer is taken; say --port with another, or 0 for any") from None
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # not a line per request
    address = f"http://{HOST}:{server.server_port}/"
    say.heading(f"{service.description()['name']}: {address}")
    say.lines(["this computer alone can reach it; Ctrl-C ends it"])
    say.result({"address": address})
    if open_page:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say.say("ended")
    finally:
        server.server_close()


__all__ = ["HOST", "create_app", "serve"]
