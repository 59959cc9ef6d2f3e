"""Where two pieces of plain data differ, in short lines: the whole of them is too long to read."""

from collections.abc import Iterator
from typing import Any


def differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    if type(left) is not type(right):
        yield f"{path}: {left!r} is not {right!r}"
    elif isinstance(left, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            if key in left and key in right:
                yield from differences(left[key], right[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: only {'expected' if key in left else 'found'}"
    elif isinstance(left, list | tuple):
        if len(left) != len(right):
            yield f"{path}: {len(left)} expected, {len(right)} found"
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif left != right:
        yield f"{path}: {left!r} is not {right!r}"


def same(expected: Any, found: Any) -> None:
    """Assert that nothing differs."""
    lines = list(differences(expected, found))
    assert not lines, "expected is not found, at:\n" + "\n".join(lines[:20])
