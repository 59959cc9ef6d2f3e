"""Finds where two answers differ. Ids that each server makes by itself are compared by where else they stand."""

import re
from collections.abc import Iterator
from typing import Any

import httpx

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00")
# Those that the script gives.
GIVEN = re.compile(r"00000000-0000-4000-8000-00000000000\d|fe096781-.*|1ef4f797-.*")
HEADERS = ("content-type", "x-pagination-total", "x-pagination-next", "allow")
ABSENT = "(absent)"
# Metadata of a checkpoint. Beside it stands what the program that ran the graph put there.
OF_A_STEP = ("source", "step", "parents")


def told(answer: httpx.Response) -> dict[str, Any]:
    """Of a refusal its status alone: the texts are each server's own."""
    headers = {name: answer.headers.get(name, ABSENT) for name in HEADERS}
    if not answer.is_success:
        return {"status": answer.status_code, "allow": headers["allow"]}
    body = answer.json() if answer.content else None
    return {"status": answer.status_code, **headers, "body": plain(body)}


def plain(value: Any) -> Any:
    """With numbers in place of ids, in the order of their first places, and one word for every time."""
    ids: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        text = found[0]
        return text if GIVEN.fullmatch(text) else ids.setdefault(text, f"#{len(ids)}")

    def walk(it: Any) -> Any:
        match it:
            case {"source": _, "step": _}:
                return {name: it.get(name, ABSENT) for name in OF_A_STEP}
            case dict():
                return {walk(name): walk(it[name]) for name in sorted(it)}
            case list():
                return [walk(one) for one in it]
            case str():
                return UUID.sub(named, TIME.sub("TIME", it))
        return it

    return walk(value)


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place, what we say there and what they say."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            pair = (ours.get(name, ABSENT), theirs.get(name, ABSENT))
            yield from differences(*pair, f"{place}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{place}[{at}]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield place, ours, theirs
