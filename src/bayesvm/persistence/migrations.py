"""How files of older releases are read: changes of stored fields, class by class.

When a class of the library changes its fields in a way that a default cannot cover, the version of the format is
raised in :mod:`bayesvm.persistence.container` and a function is added here that turns the fields of the older version
into those of the next. The corpus of the tests holds files of every version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.persistence import version2
from bayesvm.persistence.registry import present_name


def _padded_signed_factor(fields: dict[str, Any]) -> dict[str, Any]:
    """Version 1 kept the factor on the points with positive curvature alone, ``at`` their positions within the support."""
    at, positive, size = fields["at"], fields["positive"], fields["support"].size
    root, L = np.zeros(size), np.eye(size, order="F")
    root[at] = positive.root
    L[np.ix_(at, at)] = positive.B.lower()
    padded = SupportFactor(fields["support"], root, Cholesky(L, positive.B.jitter))
    return {**{name: value for name, value in fields.items() if name != "at"}, "positive": padded}


#: (name of the class, version of the file) -> function that returns the fields of the next version.
MIGRATIONS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("linalg.SignedFactor", 1): _padded_signed_factor,
    **{(name, 2): change for name, change in version2.CHANGES.items()},
}


def migrated(name: str, fields: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the fields of a stored object as the present version has them."""
    own = present_name(name)
    for step in sorted(v for owner, v in MIGRATIONS if owner == own and v >= version):
        fields = MIGRATIONS[own, step](fields)
    return fields


__all__ = ["MIGRATIONS", "migrated"]
