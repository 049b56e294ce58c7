"""Messy tables: the right types and numbers, or a loud word, in every one of them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from messy import DEFECTS, SETS, clean, messy_tables

from bayesvm.tables import DataError, TableEncoder, TableWarning, read_table

TABLES = dict(messy_tables())
#: Each defect alone, and one pair in four; the other pairs are tried at length.
FEW = [*list(TABLES)[: len(DEFECTS)], *list(TABLES)[len(DEFECTS) :: 4]]


def encoded(draft, folder):
    """Return the encoder of a draft's file, its matrix, and the warnings on the way."""
    path = folder / draft.file_name
    path.write_bytes(draft.content())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(path, parse=False)
        encoder = TableEncoder().fit(table, draft.target)
        X = encoder.transform(table)
    return encoder, X, [str(w.message) for w in caught if issubclass(w.category, TableWarning)]


@pytest.mark.parametrize("name", FEW)
def test_a_messy_table_is_understood_or_spoken_of(name, tmp_path):
    check(TABLES[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TABLES if name not in FEW])
def test_every_pair_of_defects_is_understood_or_spoken_of(name, tmp_path):
    check(TABLES[name], tmp_path)


def check(draft, tmp_path):
    """Check that a table is read rightly, or that the error or the warnings say what the draft expects."""
    if draft.raises:
        with pytest.raises(DataError, match="|".join(draft.raises)):
            encoded(draft, tmp_path)
        return
    encoder, X, said = encoded(draft, tmp_path)
    assert len(said) == len(draft.warns), said
    for words in draft.warns:
        assert any(re.search(words, line) for line in said), (words, said)
    assert [plan.name for plan in encoder.plans_] == list(draft.names.values())
    assert [plan.kind for plan in encoder.plans_] == list(draft.kinds.values())
    names = encoder.get_feature_names_out().tolist()
    for plan, numbers in zip(encoder.plans_, draft.numbers.values()):
        if numbers is not None:
            np.testing.assert_allclose(X[:, names.index(plan.outputs[0])], numbers, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_a_clean_table_is_read_without_a_word(name, tmp_path):
    draft = clean(name)
    encoder, X, said = encoded(draft, tmp_path)
    assert said == []
    assert [plan.kind for plan in encoder.plans_] == list(draft.kinds.values())
    np.testing.assert_allclose(X[:, :4], np.column_stack(list(draft.numbers.values())[:4]), rtol=1e-12)


def test_there_are_enough_of_them():
    assert len(FEW) >= 40
    assert {defect.name for defect in DEFECTS} <= {name.partition(": ")[2] for name in TABLES}
