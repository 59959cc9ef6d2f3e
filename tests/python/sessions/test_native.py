"""`client.sessions` on the real server: order, exactness, what a lost reply does."""

import threading
from typing import Any

import pytest
from threadkeep import Client
from threadkeep.errors import HeadMovedError, VersionConflictError
from threadkeep.sessions import NewEntry

from support.proxy import Proxy

KIND, KEY = "test", ("-a/b", "s 🎈\0")
APPENDERS, APPENDS = 16, 12


def test_a_reader_never_sees_an_entry_without_the_one_before(client: Client) -> None:
    """Sixteen append, one follows the tail: numbers come without gaps, in order."""
    done = threading.Event()
    seen: list[tuple[int, str]] = []

    def append(number: int) -> None:
        for at in range(APPENDS):
            client.sessions.append(KIND, KEY, [NewEntry(f"{number}-{at}-{n}") for n in range(2)])

    def follow() -> None:
        while True:
            last = done.is_set()
            log = client.sessions.load(KIND, KEY, after_seq=seen[-1][0] if seen else None)
            seen.extend((entry.seq, entry.data) for entry in (log.entries if log else ()))
            if last and (log is None or not log.more):
                return

    threads = [threading.Thread(target=append, args=(n,)) for n in range(APPENDERS)]
    reader = threading.Thread(target=follow)
    for thread in (reader, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    reader.join()
    total = APPENDERS * APPENDS * 2
    assert [seq for seq, _ in seen] == list(range(1, total + 1))
    for number in range(APPENDERS):
        own = [data for _, data in seen if data.startswith(f"{number}-")]
        assert own == [f"{number}-{at}-{n}" for at in range(APPENDS) for n in range(2)]
    # Entries of one call stay together.
    pairs = zip(seen[::2], seen[1::2], strict=True)
    assert all(one[:-1] == other[:-1] for (_, one), (_, other) in pairs)


def test_documents_counters_and_compaction(client: Client) -> None:
    sessions = client.sessions
    assert sessions.create(KIND, KEY, user="ann", title="T") is True
    assert sessions.create(KIND, KEY, user="bob") is False
    (listed,) = sessions.list(KIND, key_prefix=KEY[:1]).sessions
    kinds = sessions.kinds()
    mine = next(it for it in kinds.kinds if it.kind == KIND)
    assert (mine.partial, kinds.next_cursor) == (False, None)
    assert mine.sessions == len(sessions.list(KIND).sessions)
    assert mine.updated_at_ms >= listed.updated_at_ms
    assert (tuple(listed.key), listed.user, listed.title) == (KEY, "ann", "T")
    document: Any = {"name": "NOTES.md", "content": "a\0\n", "if_version": 0}
    done = sessions.append(KIND, KEY, [NewEntry(n) for n in range(6)], document=document)
    assert (done.first_seq, done.last_seq, done.head) == (1, 6, 6)
    with pytest.raises(VersionConflictError) as caught:
        sessions.append(KIND, KEY, [NewEntry(9)], document=document)
    assert caught.value.current_version == done.document_version
    with pytest.raises(HeadMovedError) as moved:
        sessions.append(KIND, KEY, [NewEntry(9)], if_head=5)
    assert moved.value.current_head == 6
    archive, head = sessions.compact(
        KIND,
        KEY,
        through_seq=4,
        expected_head=6,
        replacement=[NewEntry({"text": "see {archive_id}"})],
        archive_stream_prefix="archives/",
        document=("NOTES.md", "kept {archive_id}\n"),
    )
    assert archive == "0001"
    log = sessions.load(KIND, KEY)
    assert log is not None and log.head == head
    assert [entry.data for entry in log.entries] == [{"text": "see 0001"}, 4, 5]
    old = sessions.load(KIND, KEY, stream="archives/0001")
    assert old is not None and [entry.data for entry in old.entries] == [0, 1, 2, 3]
    notes = sessions.get_document(KIND, KEY, "NOTES.md")
    assert notes is not None and notes.content == "a\0\nkept 0001\n"
    assert {one.stream for one in sessions.streams(KIND, KEY)} == {"", "archives/0001"}
    assert [sessions.add(KIND, KEY, "turns") for _ in range(3)] == [1, 2, 3]
    (named,) = sessions.list_documents(KIND, KEY)
    assert named.name == "NOTES.md" and named.version > (done.document_version or 0)
    (found,) = sessions.find_documents(KIND, "NOTES.md", key_prefix=KEY[:1])
    assert (tuple(found.key or ()), found.content) == (KEY, notes.content)
    sessions.delete(KIND, KEY)
    assert sessions.load(KIND, KEY) is None
    assert sessions.get_document(KIND, KEY, "NOTES.md") is None
    assert sessions.add(KIND, KEY, "turns") == 1


def test_a_lost_reply_changes_nothing_twice(proxy: Proxy, client: Client, api_key: str) -> None:
    with Client(proxy.url, api_key=api_key) as far:
        for change in (
            lambda: far.sessions.append(KIND, KEY, [NewEntry("x")]),
            lambda: far.sessions.append_document(KIND, KEY, "d", "x"),
            lambda: far.sessions.add(KIND, KEY, "turns"),
        ):
            proxy.lose(1)
            change()
    assert proxy.lost == 3
    log = client.sessions.load(KIND, KEY)
    assert log is not None and log.head == 1
    document = client.sessions.get_document(KIND, KEY, "d")
    assert document is not None and document.content == "x"
    assert client.sessions.add(KIND, KEY, "turns") == 2


def test_the_end_of_a_log_by_number_and_by_size(client: Client) -> None:
    client.sessions.append(KIND, KEY, [NewEntry("x" * 400) for _ in range(20)])
    tail = client.sessions.load(KIND, KEY, tail=3)
    assert tail is not None and [entry.seq for entry in tail.entries] == [18, 19, 20]
    some = client.sessions.load(KIND, KEY, limit=4)
    assert some is not None and [entry.seq for entry in some.entries] == [1, 2, 3, 4] and some.more
    few = client.sessions.load(KIND, KEY, token_budget=250)
    assert few is not None and 1 <= len(few.entries) < 20 and few.entries[-1].seq == 20
