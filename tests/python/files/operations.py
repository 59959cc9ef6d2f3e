"""Random operations on files, and what of their results two backends must have in common."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from deepagents.backends.protocol import BackendProtocol, GrepResult
from hypothesis import strategies as st


class Operation(NamedTuple):
    """A method by name, and its arguments."""

    name: str
    arguments: tuple[Any, ...]


# Paths that a new file may have.
PATHS = [
    "/a.md",
    "/b.py",
    "/d/a.md",
    "/d/e/c.txt",
    "/d/e/.hidden.md",
    "/.config/x.yml",
    "/ü ö/naïve 🎈.md",
    "/*[a]{b}?.md",
    "/d/data.bin",
    "/p.png",
    "/d.md/under",
    "/d.md",
    "/%2e%2e/x",
    "/d0",
]
# Others, that can only be asked for.
ODD_PATHS = ["", "/", "a.md", "/d", "/d/", "//a.md", "/d/../a.md", "/d/./a.md", "/a.md/", "/none"]
LINES = [
    "",
    "one",
    "  two two",
    "three\r",
    "tab\tü 🎈",
    "\x0b\x0c",
    "x\u2028y",
    "\x85",
    "\0",
    "end",
]
CONTENTS = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=6).map("\n".join),
    st.lists(st.sampled_from(LINES), max_size=4).map(lambda it: "\n".join([*it, ""])),
    st.sampled_from(["", " ", "\n", "\n\n \n", "\r\n\r\n", "no newline", "a\rb\r\nc\n"]),
)
PIECES = st.sampled_from(
    [
        "",
        "one",
        "two",
        "two two",
        "\n",
        "one\n",
        "\r\n",
        "end\n",
        "ü",
        "x",
        "absent",
        "no newline\n",
    ]
)
BYTES = st.one_of(
    CONTENTS.map(str.encode),
    st.binary(max_size=20),
    st.just(b"\xff\xfe\x00"),
    st.just(b"\xef\xbb\xbfx"),
)
PATTERNS = [
    "*",
    "**",
    "*.md",
    "**/*.md",
    "/*.md",
    "/**/*.md",
    "d/*",
    "d/**",
    "/d/**/*",
    "{a,b}.*",
    "{d,d/e}/*.{md,txt}",
    "[ab].md",
    "[!a].*",
    "?.md",
    ".*",
    "**/.*",
    ".config/*.yml",
    "../*",
    "d/../*",
    "..",
    "*.{md",
    "[a-",
    "\\*[[]a[]]*",
    "ü*/*",
    "a.md",
    "a.md/",
    "*/",
    "",
    "/",
    "**/e/**",
    "d/e/c.txt",
    "[[:alpha:]].md",
    "{1..3}",
    "!a.md",
    "*[*",
]
SEARCHED = st.sampled_from(["one", "two", "", " ", "ü", "\r", ".", "absent", "\0", "x\u2028y"])

path = st.sampled_from(PATHS)
any_path = st.sampled_from(PATHS + ODD_PATHS)
maybe_path = st.one_of(st.none(), any_path)
number = st.sampled_from([0, 0, 1, 2, 3, 5, 100, -1])


def _operation(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Operation]:
    return st.tuples(*arguments).map(lambda it: Operation(name, it))


CHANGES = st.one_of(
    _operation("write", path, CONTENTS),
    _operation("write", path, CONTENTS),
    _operation("upload_files", st.lists(st.tuples(path, BYTES), max_size=4)),
    _operation("edit", any_path, PIECES, PIECES, st.booleans()),
    _operation("edit", any_path, PIECES, PIECES, st.booleans()),
    # An edit that names all that the file holds.
    _operation("grow", path, PIECES),
    _operation("delete", any_path.filter(lambda it: it not in ("", "/"))),
)
QUESTIONS = st.one_of(
    _operation("read", any_path, number, number),
    _operation("read", any_path, st.just(0), st.just(2000)),
    _operation("ls", any_path),
    _operation("glob", st.sampled_from(PATTERNS), maybe_path),
    _operation(
        "grep",
        SEARCHED,
        maybe_path,
        st.one_of(st.none(), st.sampled_from(PATTERNS)),
        st.one_of(st.none(), number.filter(lambda it: it >= 0)),
    ),
    _operation("download_files", st.lists(any_path, max_size=4)),
)
SEQUENCES = st.lists(st.one_of(CHANGES, QUESTIONS, QUESTIONS), min_size=1, max_size=25)


def run(backend: BackendProtocol, operation: Operation, *, is_async: bool = False) -> Any:
    name, arguments = operation
    named: dict[str, Any] = {}
    if name == "grep":
        *arguments, named["max_count"] = arguments  # type: ignore[assignment]
    elif name in ("upload_files", "download_files"):
        arguments = (list(arguments[0]),)
    if is_async:
        return asyncio.run(getattr(backend, f"a{name}")(*arguments, **named))
    return getattr(backend, name)(*arguments, **named)


def resolved(operation: Operation, backend: BackendProtocol) -> Operation:
    """The edit that makes a file grow, with what the file holds now."""
    if operation.name != "grow":
        return operation
    path, rest = operation.arguments
    (found,) = backend.download_files([path])
    # Of bytes as well, so that it is refused.
    held = (found.content or b"nothing").decode("utf-8", "replace")
    return Operation("edit", (path, held, held + rest, False))


def assert_alike(
    operation: Operation, ours: Any, theirs: Any, all_theirs: Callable[[], GrepResult]
) -> None:
    """Everything but times, which are the server's, and orders that a store makes up."""
    if operation.name == "grep" and ours.error is None and theirs.error is None:
        found, expected = _matches(ours), _matches(theirs)
        assert ours.truncated == theirs.truncated, operation
        if theirs.truncated:
            assert len(found) == len(expected), operation
            assert set(found) <= set(_matches(all_theirs())), operation
        else:
            assert sorted(found) == sorted(expected), operation
        return
    if operation.name == "glob" and ours.error is None and theirs.error is None:
        times = [entry.pop("modified_at") for entry in ours.matches]
        assert times == sorted(times, reverse=True) and all(times), operation
        for entry in theirs.matches:
            entry.pop("modified_at")
        ours.matches.sort(key=lambda it: it["path"])
        theirs.matches.sort(key=lambda it: it["path"])
    assert _plain(ours) == _plain(theirs), operation


def _matches(result: GrepResult) -> list[tuple[str, int, str]]:
    return [(it["path"], it["line"], it["text"]) for it in result.matches or ()]


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(one) for one in result]
    if not is_dataclass(result) or isinstance(result, type):
        return result
    found = asdict(result)
    for entry in (found.get("file_data"), *(found.get("entries") or ())):
        if entry:
            for name in ("created_at", "modified_at"):
                # Whether there is one, not which.
                entry[name] = bool(entry.get(name))
    return found
