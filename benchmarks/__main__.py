"""`python -m benchmarks [--json FILE]`: the quick rows.

The longer ones are `python -m benchmarks.<name>`; see docs/performance.md.
"""

from benchmarks import evaluation, growth, speed

evaluation.main()
growth.main(["--sizes", "100,200,400,800", "--machines", "BayesianSVC();SVC, grid"])
speed.main(["ringnorm", "small", "ep", "noise", "sinc"])
