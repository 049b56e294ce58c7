"""``bayesvm serve``: a page on this computer on which one plays with a model; extra ``serve``."""

from bayesvm.cli.serve.service import Service
from bayesvm.cli.serve.web import create_app, serve

__all__ = ["Service", "create_app", "serve"]
