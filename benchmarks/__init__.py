"""Measurements, each a ratio against a peer or a limit in the same run."""
