"""The hostile suite for hours: cases of every category, with a summary; a later run goes on where this one ends.

    python tests/hostile/run_hostile.py --hours 8 --folder build/hostile

Cases run in a child process, so that a crash or a hang is one more outcome. Every case is a pure function of its
category and number; ``cases.jsonl`` in the folder has one line for each, ``failures/`` a program or a description of
each failure. ``--summary`` only prints what is known; ``--case data 17`` runs one case here.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "estimators")]

#: How many cases of a category there are to be; beyond, data and files go on as long as there is time.
WANTED = {
    "data": 5000,
    "options": 5000,
    "files": 10_000,
    "interrupts": 500,
    "kills": 200,
    "disks": 100,
    "properties": 400,
}
ENDLESS = ("data", "options", "files")
#: Cases per child process, and seconds without an answer after which it hangs.
BATCH = {"data": 100, "options": 50, "files": 500, "interrupts": 25, "kills": 20, "disks": 20, "properties": 10}
PATIENCE = 300.0
GOOD = ("fitted", "refused", "raised", "fitted before", "complete", "same model", "holds", "does not apply")


# -- one case ----------------------------------------------------------------------------------------------------------
def data_case(number: int) -> tuple[str, str]:
    """A hostile data set."""
    import hostile_data as data

    return data.judge(data.draw(number))


def options_case(number: int) -> tuple[str, str]:
    """A hostile data set for an estimator with its defaults or main options."""
    import hostile_options

    return hostile_options.judged(number)


def files_case(number: int) -> tuple[str, str]:
    """A model file or a checkpoint that was damaged or forged."""
    import hostile_files as files

    return files.judge(number)


def interrupts_case(number: int) -> tuple[str, str]:
    """A fit that is interrupted at a random time."""
    import hostile_faults

    try:
        return hostile_faults.interrupted(number)
    except KeyboardInterrupt:
        return "late interrupt", traceback.format_exc()[-1500:]


def kills_case(number: int) -> tuple[str, str]:
    """A process that is killed while it saves."""
    import hostile_faults

    return hostile_faults.killed(number)


def disks_case(number: int) -> tuple[str, str]:
    """A disk that is full."""
    import hostile_faults

    return hostile_faults.disk_full(number)


def properties_case(number: int) -> tuple[str, str]:
    """A metamorphic property of one estimator on data of its own."""
    import hostile_data as data
    import hostile_properties as properties
    from public_estimators import small_data

    names = list(properties.PROPERTIES)
    name, estimator = names[number % len(names)], data.NAMES[number // len(names) % len(data.NAMES)]
    if (name, estimator) in properties.EXCEPTIONS:
        return "does not apply", properties.EXCEPTIONS[name, estimator]
    machine = data.ESTIMATORS[estimator]
    X, y = small_data(machine, n=30, seed=1 + number // (len(names) * len(data.NAMES)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            properties.PROPERTIES[name](machine, X, y)
        except AssertionError as error:
            return "property", f"{name} of {estimator}: {error}"
    return "holds", f"{name} of {estimator}"


CASES = {
    "data": data_case,
    "options": options_case,
    "files": files_case,
    "interrupts": interrupts_case,
    "kills": kills_case,
    "disks": disks_case,
    "properties": properties_case,
}


def run_case(category: str, number: int) -> dict:
    """Return the record of one case."""
    began = time.process_time()
    try:
        outcome, detail = CASES[category](number)
    except Exception:
        outcome, detail = "internal error", traceback.format_exc()[-1500:]
    seconds = round(time.process_time() - began, 3)  # of the processor: the machine may be busy with other things
    return {"category": category, "case": number, "outcome": outcome, "detail": detail[:1500], "seconds": seconds}


def reproduction(record: dict) -> str:
    """Return how to see a failure again: for data a program with as few rows as possible, else the case's number."""
    category, number = record["category"], record["case"]
    text = (
        f"# {record['outcome']}: {record['detail']}\n# python tests/hostile/run_hostile.py --case {category} {number}\n"
    )
    if category in ("data", "options") and record["outcome"] not in ("crash", "hang"):
        import hostile_data as data
        import hostile_options as options

        case = data.draw(number) if category == "data" else options.draw(number)
        with options.few_are_many() if options.MANY in case.kinds else contextlib.nullcontext():
            text += data.reproduction(data.smallest(case)) + "\n"
    return text


# -- many cases --------------------------------------------------------------------------------------------------------
def worker(category: str, first: int, last: int) -> None:
    """Run cases and print a line for each."""
    for number in range(first, last):
        record = run_case(category, number)
        if record["outcome"] not in GOOD:
            record["reproduction"] = reproduction(record)
        print(json.dumps(record), flush=True)


class Folder:
    """What is known of earlier cases, on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "failures").mkdir(parents=True, exist_ok=True)
        self.records = []
        if (path / "cases.jsonl").exists():
            lines = (path / "cases.jsonl").read_text().splitlines()
            self.records = [json.loads(line) for line in lines if line.endswith("}")]

    def next(self, category: str) -> int:
        """Return the number of the first case that was not run."""
        return 1 + max((r["case"] for r in self.records if r["category"] == category), default=-1)

    def failures(self) -> list[dict]:
        """Return the records of cases that failed."""
        return [record for record in self.records if record["outcome"] not in GOOD]

    def run_failures_again(self) -> None:
        """Run every case that failed once more, and replace its record."""
        for old in self.failures():
            new = run_case(old["category"], old["case"])
            self.records[self.records.index(old)] = new
            if new["outcome"] in GOOD:
                (self.path / "failures" / f"{new['category']}-{new['case']}.py").unlink(missing_ok=True)
        (self.path / "cases.jsonl").write_text("".join(json.dumps(record) + "\n" for record in self.records))

    def add(self, record: dict) -> None:
        """Write a record down."""
        text = record.pop("reproduction", None)
        if record["outcome"] not in GOOD:
            name = f"{record['category']}-{record['case']}.py"
            (self.path / "failures" / name).write_text(text or reproduction({**record, "outcome": "crash"}))
        self.records.append(record)
        with open(self.path / "cases.jsonl", "a") as out:
            out.write(json.dumps(record) + "\n")

    def summary(self) -> str:
        """Return counts by category and outcome, and the failures."""
        lines = []
        for category in CASES:
            own = [r for r in self.records if r["category"] == category]
            counts = collections.Counter(r["outcome"] for r in own)
            bad = sum(count for outcome, count in counts.items() if outcome not in GOOD)
            told = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
            slowest = max((r["seconds"] for r in own), default=0.0)
            lines.append(f"{category:11s} {len(own):6d} cases, {bad} failures; slowest {slowest:.1f} s: {told}")
        lines += [f"  {r['category']} {r['case']}: {r['outcome']}: {r['detail'][:160]}" for r in self.failures()[-20:]]
        return "\n".join(lines)


def run_batch(folder: Folder, category: str) -> None:
    """Run some cases in a child process; the case at which it dies or stops answering is a failure."""
    first = folder.next(category)
    last = first + BATCH[category]
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", category, str(first), str(last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            number = _read_answers(folder, child, first)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    if number < last:
        code = child.returncode
        outcome = "hang" if code == -signal.SIGKILL else "crash"
        detail = f"the process ended with {code}"
        folder.add({"category": category, "case": number, "outcome": outcome, "detail": detail, "seconds": PATIENCE})


def _read_answers(folder: Folder, child: subprocess.Popen, number: int) -> int:
    """Write down what a child says, until it ends or is silent for too long; return the next case's number."""
    buffer = b""
    while select.select([child.stdout], [], [], PATIENCE)[0]:
        part = os.read(child.stdout.fileno(), 65536)
        if not part:
            child.wait()
            break
        buffer += part
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            folder.add(json.loads(line))
            number += 1
    return number


def choose(folder: Folder, among: list[str]) -> str | None:
    """Return the category that is furthest behind; beyond all that is wanted, those without an end in turn."""
    shares = {category: folder.next(category) / WANTED[category] for category in among}
    behind = {category: share for category, share in shares.items() if share < 1.0 or category in ENDLESS}
    return min(behind, key=behind.__getitem__, default=None)


def main() -> int:
    """Run the suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--folder", type=Path, default=Path("build/hostile"))
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES), help="some categories")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--again", action="store_true", help="run the cases that failed once more")
    parser.add_argument("--case", nargs=2, metavar=("CATEGORY", "NUMBER"))
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker[0], int(options.worker[1]), int(options.worker[2]))
        return 0
    if options.case:
        record = run_case(options.case[0], int(options.case[1]))
        print(json.dumps(record, indent=2))
        if record["outcome"] not in GOOD:
            print(reproduction(record))
        return int(record["outcome"] not in GOOD)
    folder = Folder(options.folder)
    if options.again:
        folder.run_failures_again()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end = time.monotonic() + 3600.0 * options.hours
    try:
        while not (options.summary or options.again) and time.monotonic() < end:
            category = choose(folder, options.only)
            if category is None:
                break
            run_batch(folder, category)
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here")
    print(folder.summary())
    return int(bool(folder.failures()))


if __name__ == "__main__":
    sys.exit(main())
