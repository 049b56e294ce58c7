"""`python -m benchmarks`: the quick rows. The longer ones are `python -m benchmarks.<name>`; see docs/performance.md."""

from benchmarks import evaluation

evaluation.main()
