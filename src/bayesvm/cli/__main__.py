"""``python -m bayesvm.cli`` is the same as ``bayesvm``."""

from bayesvm.cli import main

main()
