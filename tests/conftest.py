"""Instance lists of kernels, likelihoods and fitted models can be imported from every test folder."""

import sys
from pathlib import Path

for folder in ("kernels", "likelihoods", "persistence"):
    sys.path.append(str(Path(__file__).parent / folder))
