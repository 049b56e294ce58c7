"""scikit-learn faces: thin compositions of the layers below. All public ones are importable from :mod:`bayesvm`."""
