"""Data made by known laws, for examples, tests and benchmarks."""

from bayesvm.datasets.generators import embed, make_mackey_glass, make_robot_arm, make_sinc

__all__ = ["embed", "make_mackey_glass", "make_robot_arm", "make_sinc"]
