"""Bring what a subject kept under its former label, which had colons, to its label.

    THREADKEEP_URL=… THREADKEEP_API_KEY=… python examples/labels_without_colons.py google:123 …

For each subject: a snapshot of the namespaces below the former label, restored into the same
namespaces below the new one, and labels of threads inside of them likewise. Items, files of any
size, vectors, words and times come along; earlier versions stay with the former namespace, of
which nothing is changed. Where something is kept under the new label already, nothing happens.
"""

import sys
from collections.abc import Iterator

from threadkeep import Client, label, label_with_colons
from threadkeep.errors import NamespaceExistsError
from threadkeep.langgraph import ThreadkeepStore

Namespace = tuple[str, ...]

PAGE = 1_000
TOGETHER_MAX = 100
"""Namespaces of one snapshot."""


def main() -> None:
    subjects = sys.argv[1:]
    if not subjects:
        raise SystemExit(__doc__)
    client, store = Client(), ThreadkeepStore()
    for subject in subjects:
        try:
            written = move(client, store, subject)
        except NamespaceExistsError as error:
            raise SystemExit(
                f"{subject}: something is there already: {error}"
            ) from None
        print(f"{subject}: {written} items are at {label(subject)!r} now, too")


def move(client: Client, store: ThreadkeepStore, subject: str) -> int:
    """Copy everything of one subject. Answers how many items that were."""
    moves = list(moves_of(store, subject))
    written = 0
    for at in range(0, len(moves), TOGETHER_MAX):
        part = dict(moves[at : at + TOGETHER_MAX])
        taken = client.snapshots.take(namespaces=list(part))
        done = client.snapshots.restore(taken.snapshot_id, namespaces=part)
        written += sum(one.written for one in done.namespaces)
        client.snapshots.delete(taken.snapshot_id)
    return written


def moves_of(
    store: ThreadkeepStore, subject: str
) -> Iterator[tuple[Namespace, Namespace]]:
    """Namespaces and where they go. What lies below goes along, so none is below another."""
    former, now = label_with_colons(subject), label(subject)
    found = [one for one in namespaces(store, former) if one[0] == former]
    if not any(":" in one[2] for one in found if is_of_thread(one)):
        if found and former != now:
            yield (former,), (now,)
        return
    if (former,) in found and former != now:
        raise SystemExit(
            f"{subject}: items right below {former!r} have to be moved by themselves"
        )
    for one in sorted({one[: 3 if is_of_thread(one) else 2] for one in found}):
        into = (now, *one[1:2], *(rest.replace(":", "~3a") for rest in one[2:]))
        if into != one:
            yield one, into


def is_of_thread(namespace: Namespace) -> bool:
    """(u, "threads", the label of a thread, …), as the drive and `threadkeep_routes` have it."""
    return len(namespace) > 2 and namespace[1] == "threads"


def namespaces(store: ThreadkeepStore, root: str) -> Iterator[Namespace]:
    """All namespaces below a root."""
    for offset in range(0, sys.maxsize, PAGE):
        page = store.list_namespaces(prefix=(root,), limit=PAGE, offset=offset)
        yield from page
        if len(page) < PAGE:
            return


if __name__ == "__main__":
    main()
