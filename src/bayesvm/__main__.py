"""``python -m bayesvm`` is the same as ``bayesvm``."""

from bayesvm.cli import main

main()
