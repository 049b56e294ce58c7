"""Install the wheel in dist/ into an empty environment without a compiler, fit, and run tests against it.

``python scripts/check_wheel.py [--pip OPTIONS] [--workers N] [TESTS ...]``: the interpreter that runs this makes the
environment; OPTIONS are for every installation by pip, such as ``--pre`` or ``--constraint packages/oldest.txt``; TESTS
are folders or files for pytest, none by default. Prints how long installation and first fit took.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIT = """
from sklearn.datasets import load_breast_cancer
from bayesvm import BayesianSVC
X, y = load_breast_cancer(return_X_y=True)
model = BayesianSVC(random_state=0).fit(X[:200], y[:200])
assert model.converged_ and model.score(X[200:], y[200:]) > 0.9
"""
ORIGIN = "import sys, bayesvm; assert bayesvm.__file__.startswith(sys.prefix), bayesvm.__file__"


def wheel_of_this_python() -> Path:
    """Return the newest wheel in dist/ for the interpreter: of 3.11 its own, of later ones that of the stable ABI."""
    version = "".join(map(str, sys.version_info[:2]))
    tag = "cp312-abi3" if sys.version_info >= (3, 12) else f"cp{version}-cp{version}"
    found = sorted((ROOT / "dist").glob(f"bayesvm-*-{tag}-*.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"error: no wheel {tag} in dist/; say make wheel PYTHON={sys.executable}")
    return found[-1]


class Environment:
    """An empty virtual environment, the only folder on PATH."""

    def __init__(self, folder: str) -> None:
        venv.create(folder, with_pip=True)
        bin_ = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(bin_ / "python")
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.environment = {**os.environ, **threads, "PATH": str(bin_)}
        for name in ("CC", "CXX", "PYTHONPATH"):
            self.environment.pop(name, None)

    def run(self, *arguments: str, code: int = 0) -> float:
        """Run its interpreter, demand the exit code, and return the seconds it took."""
        began = time.perf_counter()
        done = subprocess.run([self.python, *arguments], cwd=ROOT, env=self.environment, check=False)
        if done.returncode != code:
            sys.exit(f"error: {' '.join(arguments)} ended with {done.returncode}, not {code}")
        return time.perf_counter() - began


def main(arguments: argparse.Namespace) -> None:
    """Install, fit, test."""
    wheel = wheel_of_this_python()
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(folder)
        environment.run(*pip, "--upgrade", "pip>=25.1")
        pip = (*pip, *shlex.split(arguments.pip))
        everything = environment.run(*pip, "--only-binary", ":all:", str(wheel))
        alone = environment.run(*pip, "--no-deps", "--force-reinstall", str(wheel))
        environment.run("-c", ORIGIN)
        first, second = (environment.run("-c", FIT) for _ in range(2))
        print(f"{wheel.name}, Python {sys.version.split()[0]}")
        print(f"installation with dependencies {everything:.1f} s, of the wheel alone {alone:.1f} s")
        print(f"first import and fit {first:.1f} s, the same again {second:.1f} s", flush=True)
        environment.run(*pip, f"{wheel}[cli]")
        environment.run("-m", "bayesvm", "reproduce", "--list", code=2)  # says how to get the experiments
        if arguments.tests:
            environment.run(*pip, f"{wheel}[plots,progress,cli]", "--group", "test")
            environment.run("-m", "pip", "list")
            workers = ("-n", str(arguments.workers), "--dist", "loadgroup")
            environment.run("-m", "pytest", *workers, "-p", "no:cacheprovider", "-m", "not slow", *arguments.tests)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="folders or files for pytest")
    parser.add_argument("--pip", default="", help="options for every installation by pip")
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest")
    main(parser.parse_args())
