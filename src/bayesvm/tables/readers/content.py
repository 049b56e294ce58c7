"""The bytes of a file, decompressed, and its text."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from bayesvm.tables.errors import DataError

#: Marks at the beginning of a file that name its encoding; UTF-32 before UTF-16, which begins alike.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _only_member(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise OSError(f"expected one file in the archive, found {len(names)}")
        return archive.read(names[0])


#: How files are decompressed, by the end of their name.
DECOMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zip": _only_member,
}


def read_content(name: str, source: str) -> bytes:
    """Return the bytes of a file, or of standard input if the name is "-"; decompressed by the end of the name."""
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        decompress = DECOMPRESS.get(Path(name).suffix.lower())
        return content if decompress is None else decompress(content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{source}: cannot be read ({reason})") from None
    except ValueError as error:  # a name that no file can have, or no compressed data
        raise DataError(f"{source!r}: cannot be read ({error})") from None


def decoded(content: bytes, source: str, encoding: str | None = None) -> str:
    """Return the text of a file, or name the row of the first byte that does not fit.

    The encoding is the one that is given, or that a mark at the beginning names, or UTF-8.
    """
    chosen = encoding or next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(chosen)
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        remedy = "" if encoding else "; name its encoding (--encoding), such as cp1252 for Western Europe"
        raise DataError(
            f"{source}, row {row}: expected text in {chosen.upper()}, found the byte 0x{content[error.start]:02x}"
            f"{remedy}"
        ) from None
    except LookupError:
        raise DataError(f"{source}: no encoding is called {encoding!r}") from None
    if "\0" in text:
        row = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{source}, row {row}: expected text, found a null character; name its encoding (--encoding)")
    return text.removeprefix("\ufeff")


__all__ = ["decoded", "read_content"]
