"""All that a source of an import holds, to be compared with what it holds afterwards: an import only reads."""

import re
from pathlib import Path
from typing import Any

import psycopg

from support.object_store import BUCKET, ObjectStore

RELATIONS = """
select relname, relkind::text from pg_class where relnamespace = 'public'::regnamespace order by relname
"""


def held(url: str) -> Any:
    """By a SQLite file or a database of PostgreSQL."""
    return files_of(Path(url.removeprefix("sqlite:"))) if is_sqlite(url) else rows_of(url)


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite:")


def files_of(path: Path) -> dict[str, bytes]:
    """The bytes of a database and of its log; the index of the log, which is shared memory, belongs to readers too."""
    beside = (it for it in path.parent.iterdir() if it.name != f"{path.name}-shm")
    found = {it.name: it.read_bytes() for it in beside}
    assert len(found[path.name]) > 0
    return found


def rows_of(url: str) -> dict[str, Any]:
    """Every row with its place and with the transaction that wrote it: one that was written again as it was has others."""
    with psycopg.connect(url) as connection:
        relations = connection.execute(RELATIONS).fetchall()
        tables = [name for name, kind in relations if kind == "r"]
        rows = {
            name: connection.execute(
                f'select ctid::text, xmin::text, t::text from "{name}" t order by ctid'  # type: ignore[arg-type]
            ).fetchall()
            for name in tables
        }
    assert any(rows.values())
    return {"relations": relations, **rows}


def tree_of(folder: Path) -> dict[str, Any]:
    """Every file and folder below: what it is, when it was changed, what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, content)
    assert found
    return found


def objects_of(store: ObjectStore) -> list[str]:
    """Key, time, digest and size of every object."""
    answer = store.ask("GET", f"/{BUCKET}?list-type=2&max-keys=1000")
    found = re.findall(r"<Contents>.*?</Contents>", answer.body.decode(), re.DOTALL)
    assert found and all("<LastModified>" in it and "<ETag>" in it for it in found)
    return found
