"""Rows that PostgreSQL cannot read: the doctor names them and goes on, and an export leaves them out."""

import json
from pathlib import Path

from support.native import Native, checkpoint, writes
from support.postgres import Databases
from support.server import Place, Server

# Reading a write of one thread fails as a damaged page does.
UNREADABLE = [
    "alter table writes rename to writes_on_disk",
    """create function read_page(asked bigint) returns boolean language plpgsql as $$ begin
        if exists (select 1 from threads t where t.thread_key = asked and t.thread_id = 'bad') then
            raise exception 'invalid page in block 7' using errcode = 'data_corrupted';
        end if;
        return true;
    end $$""",
    "create view writes as select * from writes_on_disk where read_page(thread_key)",
]


def test_what_cannot_be_read_is_named_and_the_rest_is_brought_off(
    databases: Databases, tmp_path: Path
) -> None:
    place = Place(databases)
    server = Server(place).start()
    try:
        native = Native(server.url, server.make_keys(["acme"])[0])
        for thread_id in ("bad", "good", "well"):
            native.commit(thread_id, checkpoint("1", {"a": b"x"}), writes("1", "task", [b"y"]))
        native.close()
        server.stop()
        for statement in UNREADABLE:
            place.query(statement)
        done = server.command("doctor", "--format", "json", "--fix")
        report = json.loads(done.stdout)
        assert done.returncode == 1 and "repaired" not in report, done
        unread = [it for it in report["places"] if it["what"] == "writes"]
        assert [(it["state"], it["table"], it["thread_id"]) for it in unread] == [
            ("unread", "writes", "bad")
        ], report
        assert "invalid page in block 7" in unread[0]["detail"]
        assert report["checked"]["threads"]["count"] == 3
        assert report["checked"]["writes"]["count"] == 2
        to = str(tmp_path / "file")
        done = server.command("export", "--tenant", "acme", "--to", to)
        assert done.returncode == 1 and not Path(to).exists(), done
        done = server.command("export", "--tenant", "acme", "--to", to, "--skip-damaged")
        assert done.returncode == 1 and 'left out: thread "bad"' in done.stderr, done
        told = json.loads(done.stderr.split("exported ")[1].splitlines()[0])
        assert (told["threads"], told["left_out"]) == (2, {"thread": 1})
    finally:
        server.kill()
        place.remove()
