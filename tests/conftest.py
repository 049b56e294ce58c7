"""Instance lists of kernels and likelihoods can be imported from every test folder."""

import sys
from pathlib import Path

for folder in ("kernels", "likelihoods"):
    sys.path.append(str(Path(__file__).parent / folder))
