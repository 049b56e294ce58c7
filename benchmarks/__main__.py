"""`python -m benchmarks [--json FILE]`: the rows of evaluation, growth and speed.

The longer ones are `python -m benchmarks.<name>`; see docs/performance.md.
"""

import sys

from benchmarks import evaluation, growth, speed

given = sys.argv[1:]
evaluation.main(given)
growth.main(["--sizes", "100,200,400,800", "--machines", "BayesianSVC();SVC, grid", *given])
speed.main(given)
