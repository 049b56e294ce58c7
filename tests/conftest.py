"""Instance lists can be imported from every test folder; hypothesis draws the same examples in every run.

``HYPOTHESIS_PROFILE=explore`` draws new ones.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

if threading.current_thread() is threading.main_thread():
    # Some tests interrupt themselves; a shell may have started them with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDERS = (
    "browser",
    "estimators",
    "hostile",
    "inference",
    "kernels",
    "likelihoods",
    "persistence",
    "solvers",
    "tables",
)
for folder in FOLDERS:
    sys.path.append(str(Path(__file__).parent / folder))
