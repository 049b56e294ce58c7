"""What is installed: the first thing to know about a bug."""

from __future__ import annotations

import platform
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from threadpoolctl import threadpool_info


def versions() -> dict[str, dict[str, str]]:
    """Return what is installed, by section.

    Returns
    -------
    dict
        ``system`` (Python, platform, native code), ``packages`` (this library and what it needs, or uses where it is
        installed, with their versions) and ``threads`` (BLAS and OpenMP libraries loaded, with their numbers of
        threads).
    """
    return {"system": _system(), "packages": _packages(), "threads": _threads()}


def show_versions() -> None:
    """Print the versions of Python, of this library, of what it depends on, and the linear algebra in use.

    The output belongs into every report of a bug.
    """
    lines = []
    for section, entries in versions().items():
        lines += [f"{section}:", *(f"  {name}: {value}" for name, value in entries.items()), ""]
    sys.stdout.write("\n".join(lines))


def _system() -> dict[str, str]:
    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "native modules": ", ".join(_native_modules()),
    }


def _native_modules() -> list[str]:
    """Return the file names of the native modules: their suffix tells for which Python they were built."""
    import bayesvm.linalg
    import bayesvm.solvers  # noqa: F401 (with the line above: load the native modules, and the BLAS of _threads)

    files = (getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("bayesvm."))
    return sorted(Path(file).name for file in files if file and file.endswith(tuple(EXTENSION_SUFFIXES)))


def _packages() -> dict[str, str]:
    names = (re.split(r"[^\w.-]", entry, maxsplit=1)[0] for entry in requires("bayesvm") or [])
    return {name: _version(name) for name in ("bayesvm", *names)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _threads() -> dict[str, str]:
    found = {}
    for info in threadpool_info():
        parts = (info["internal_api"], info["version"], info.get("architecture"), f"{info['num_threads']} threads")
        found[Path(info["filepath"]).name] = ", ".join(part for part in parts if part)
    return found


__all__ = ["show_versions", "versions"]
