"""How truth values are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.typing import Vector

#: Pairs of words for false and true, in lower case.
WORDS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))


@dataclasses.dataclass(frozen=True)
class TruthFormat:
    """A pair of words for false and true; upper and lower case do not matter.

    Attributes
    ----------
    false, true : str
        The words, in lower case.
    """

    false: str = "false"
    true: str = "true"

    def parse(self, texts: Sequence[str] | np.ndarray) -> Vector:
        """Return 0 and 1, nan for a text that is neither of the words nor one of these numbers."""
        meaning = {self.false: 0.0, "0": 0.0, self.true: 1.0, "1": 1.0}
        return np.array([meaning.get(text.lower(), np.nan) for text in texts], dtype=np.float64)


def find_truth_format(texts: np.ndarray) -> TruthFormat | None:
    """Return the pair of words of which some distinct texts consist; None if there is none or one of the two."""
    if len(texts) > 8:  # two words in all their spellings
        return None
    found = {text.lower() for text in texts}
    return next((TruthFormat(*pair) for pair in WORDS if found == set(pair)), None)


__all__ = ["TruthFormat", "find_truth_format"]
