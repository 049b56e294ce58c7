"""Instance lists can be imported from every test folder; hypothesis draws the same examples in every run.

``HYPOTHESIS_PROFILE=explore`` draws new ones.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

for folder in ("kernels", "likelihoods", "persistence"):
    sys.path.append(str(Path(__file__).parent / folder))
