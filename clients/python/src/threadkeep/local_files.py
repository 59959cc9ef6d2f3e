"""Files of this machine that calls read from and write to.

Whatever a caller names, a path or a file that is open, becomes a file here; nothing is sent.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

File = str | os.PathLike[str] | BinaryIO


@contextmanager
def source(file: File) -> Iterator[BinaryIO]:
    """A file to read from."""
    if not isinstance(file, str | os.PathLike):
        yield file
        return
    with open(file, "rb") as opened:
        yield opened


@contextmanager
def replaced(file: File, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of what is at a path when all of it is there.

    `mode`: its permissions; else those of what it replaces, or the usual ones.
    """
    if not isinstance(file, str | os.PathLike):
        yield file
        return
    # Through a link, which stays one.
    path = os.path.realpath(file)
    if os.path.exists(path) and not os.path.isfile(path):
        # A device is written to and never replaced; a folder is refused.
        with open(path, "wb") as opened:
            yield opened
        return
    # In the same folder: renaming works within a file system. The name of the path may be as long
    # as names can be, so this one is none of it.
    beside = os.path.join(os.path.dirname(path), f".threadkeep-{secrets.token_hex(8)}")
    try:
        usual = 0o666 if mode is None else mode
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, usual)) as opened:
            yield opened
        if mode is None and os.path.exists(path):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
