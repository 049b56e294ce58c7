"""Names of formats, and the endings of files that stand for them."""

from __future__ import annotations

#: Formats that can be read.
FORMATS = ("csv", "tsv", "text", "excel", "json", "parquet", "libsvm", "arff")

#: Format by the end of a file's name.
ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "data": "text",
    "dat": "text",
    "txt": "text",
    "xlsx": "excel",
    "xlsm": "excel",
    "xls": "excel",
    "jsonl": "json",
    "ndjson": "json",
    "json": "json",
    "parquet": "parquet",
    "pq": "parquet",
    "libsvm": "libsvm",
    "svm": "libsvm",
    "svmlight": "libsvm",
    "arff": "arff",
}
#: Endings of compressed files.
COMPRESSED = ("gz", "bz2", "xz", "zip")


def guess_format(name: str) -> str | None:
    """Return the format that the end of a file's name stands for, None if it stands for none."""
    parts = name.lower().rsplit(".", 2)
    if parts[-1] in COMPRESSED:
        parts.pop()
    return ENDINGS.get(parts[-1])


__all__ = ["COMPRESSED", "ENDINGS", "FORMATS", "guess_format"]
