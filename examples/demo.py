"""A Bayesian support vector machine trains itself: summary in the terminal; report, model and picture in a folder.

The same as the command ``bayesvm demo``.
"""

from __future__ import annotations

import sys

from bayesvm.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
