"""Soak: thousands of mixed fits, predictions, saves and loads in one process; memory, threads and handles stay flat.

    python tests/hostile/run_soak.py --fits 2000

Every public estimator takes its turn, with data sets of the hostile generator (refused ones included) and with ordinary
ones. After a warm-up, in which caches fill, the resident memory, the number of threads and of open files are taken
every hundred fits. The command fails if memory has grown by more than 5 MB, or the number of threads or files at all.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import io
import os
import sys
import threading
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "estimators")]

#: Fits before the first measurement, and between two.
WARM_UP, EVERY = 300, 100
#: Growth that is allowed, in bytes.
ALLOWED = 5 * 2**20


def measured() -> tuple[int, int, int]:
    """Return resident bytes (after what is free has been given back), threads and open files of this process."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, threading.active_count(), len(os.listdir("/proc/self/fd"))


def one(number: int) -> None:
    """Fit, predict, save and load once."""
    import hostile_data as data
    from public_estimators import small_data
    from sklearn.base import clone

    import bayesvm

    if number % 2:
        data.judge(data.draw(number))
        return
    estimator = clone(data.ESTIMATORS[data.NAMES[number // 2 % len(data.NAMES)]])
    X, y = small_data(estimator, n=20, seed=number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y).predict(X)
        file = io.BytesIO()
        bayesvm.save(estimator, file)
        file.seek(0)
        bayesvm.load(file).predict(X)


def main() -> int:
    """Run the soak and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=2000)
    options = parser.parse_args()
    for number in range(WARM_UP):
        one(number)
    first = measured()
    print(f"after {WARM_UP:6d} fits: {first[0] / 2**20:.1f} MB, {first[1]} threads, {first[2]} files", flush=True)
    last = first
    for number in range(WARM_UP, WARM_UP + options.fits):
        one(number)
        if (number + 1 - WARM_UP) % EVERY == 0:
            last = measured()
            told = f"{last[0] / 2**20:.1f} MB, {last[1]} threads, {last[2]} files"
            print(f"after {number + 1:6d} fits: {told}", flush=True)
    grown = last[0] - first[0]
    print(f"memory grew by {grown / 2**20:.2f} MB in {options.fits} fits", flush=True)
    return int(grown > ALLOWED or last[1] > first[1] or last[2] > first[2])


if __name__ == "__main__":
    sys.exit(main())
