"""From a table with text and gaps to a saved model and a report: writes people.bvm and people.html."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC
from bayesvm.persistence import load, save
from bayesvm.report import collect_facts, write_report
from bayesvm.tables import TableEncoder


def main() -> None:
    rng = np.random.default_rng(0)
    n = 150
    age, sex = rng.normal(50.0, 12.0, n), rng.choice(["f", "m"], n)
    score = (age - 50.0) / 12.0 + 0.8 * (sex == "m") + 0.4 * rng.normal(size=n)
    table = {"age": [None if i % 17 == 0 else float(a) for i, a in enumerate(age)], "sex": sex.tolist()}
    label = np.where(score > 0.4, "ill", "well")

    model = make_pipeline(TableEncoder(), BayesianSVC(n_starts=2, random_state=0)).fit(table, label)
    save(model, "people.bvm")
    write_report("people.html", collect_facts(model, table, label, target="state", preparation=model[0].summary()))
    print(load("people.bvm").predict_proba({"age": [70.0, None], "sex": ["m", "f"]}).round(3))


if __name__ == "__main__":
    main()
