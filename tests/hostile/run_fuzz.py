"""Fuzzer of the file reader: coverage-guided with Atheris where it is installed, else seeded mutations.

    python tests/hostile/run_fuzz.py --minutes 30 --folder build/fuzz

What the reader may do with any bytes is to return an estimator of this library or to raise ``ModelFileError``. Half of
the inputs are signed anew after the mutation, so that they come past the checksums to the decoder of the tree and of
the arrays. An input that does anything else is written to the folder, and the run ends with it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

try:
    import atheris
except ImportError:
    atheris = None

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "estimators")]

with atheris.instrument_imports(include=["bayesvm.persistence"]) if atheris else contextlib.nullcontext():
    from hostile_files import forged, model_bytes, mutated, packed, unpacked

    import bayesvm
    from bayesvm.persistence import ModelFileError


def read_one(data: bytes) -> str:
    """Read bytes as a model file; return "read" or "refused", and let every other outcome escape."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = bayesvm.load(io.BytesIO(data))
        except ModelFileError:
            return "refused"
    if not type(found).__module__.startswith("bayesvm."):
        raise AssertionError(f"a {type(found)} was built")
    return "read"


def resigned(data: bytes) -> bytes:
    """Return a model file whose tree, or one of whose arrays, is made of the given bytes."""
    manifest, members = unpacked(model_bytes())
    names = sorted(members)
    name = names[data[0] % len(names)] if data else names[0]
    body = data[1:]
    if name == "model.json" and data[:1] and data[0] % 2:
        tree = json.loads(members[name])
        fields = sorted(tree["fields"])
        try:
            tree["fields"][fields[data[0] // 2 % len(fields)]] = json.loads(body)
        except ValueError:
            members[name] = body
        else:
            members[name] = json.dumps(tree).encode()
    else:
        members[name] = body
    return packed(manifest, members)


def with_atheris(folder: Path, minutes: float) -> None:
    """Let Atheris choose the inputs by the branches they reach; it ends the process."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    _, members = unpacked(model_bytes())
    (corpus / "whole").write_bytes(b"\x00" + model_bytes())
    for k, value in enumerate(members.values()):
        (corpus / f"member-{k}").write_bytes(bytes([1 + 2 * k]) + value)

    def test_one(data: bytes) -> None:
        read_one(data[1:] if data[:1] == b"\x00" else resigned(data[1:]))

    options = [f"-max_total_time={int(60 * minutes)}", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], test_one)
    atheris.Fuzz()


def with_seeds(folder: Path, minutes: float, seed: int) -> int:
    """Mutate and forge by a random generator; return how many inputs were read."""
    end, count, outcomes = time.monotonic() + 60.0 * minutes, 0, {"read": 0, "refused": 0}
    while time.monotonic() < end:
        rng = np.random.default_rng([seed, count])
        data = model_bytes()
        data = (mutated(rng, data), forged(rng, data), resigned(mutated(rng, data[:2000])))[count % 3]
        try:
            outcomes[read_one(data)] += 1
        except BaseException:
            (folder / f"finding-{seed}-{count}").write_bytes(data)
            raise
        count += 1
    print(f"{count} inputs from seed {seed}: {outcomes}")
    return count


def main() -> None:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeded", action="store_true", help="mutations by a seed even where Atheris is installed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if atheris is None or options.seeded:
        with_seeds(options.folder, options.minutes, options.seed)
    else:
        with_atheris(options.folder, options.minutes)


if __name__ == "__main__":
    main()
