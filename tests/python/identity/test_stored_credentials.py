"""No text of a key, of a token or of a signed address is in the database: neither as it is, nor in base64 or hexadecimal digits."""

import base64
import hashlib

from support.http import request
from support.server import Place, Server

TABLES = {
    "sqlite": "select name from sqlite_master where type = 'table' and name not like '%fts%'",
    "postgres": "select tablename from pg_tables where schemaname = 'public'",
}


def rows_of(place: Place, engine: str) -> str:
    """Every row of every table as text; bytes as hexadecimal digits."""
    names = [name for (name,) in place.query(TABLES[engine])]
    assert "keys" in names
    if engine == "postgres":
        rows = [place.query(f'select t::text from "{name}" t') for name in names]
    else:
        rows = [place.query(f'select * from "{name}"') for name in names]
    texts = (_text(value) for table in rows for row in table for value in row)
    return "\n".join(texts)


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def forms(text: str) -> set[str]:
    return {text, text.encode().hex(), base64.b64encode(text.encode()).decode().rstrip("=")}


def test_keys_are_stored_as_hashes_and_tokens_not_at_all(own_server: Server, engine: str) -> None:
    key = own_server.new_key()
    made = own_server.post("/v1/keys", {"subject": "ann-who-is-stored"}, key).json()["key"]
    token = own_server.post("/v1/tokens", {"subject": "ann"}, key).json()["token"]
    file = "/v1/files/content?ns=ann&ns=workspace&path=/a"
    assert request(own_server.url, "PUT", file, b"a", key=token).status == 200
    address = own_server.get("/api/storage/url?path=/a", token).json()["url"].partition("u=")[2]
    narrowed = own_server.post("/v1/tokens/narrow", {"ttl_seconds": 60}, token).json()["token"]
    assert own_server.post("/v1/tokens/revoke", {"token": narrowed}, key).status == 200

    stored = rows_of(own_server.place, engine)

    assert "ann-who-is-stored" in stored, "what is stored is found"
    assert hashlib.sha256(made.encode()).hexdigest() in stored, "bytes are found too"
    for secret in (key, made, token, narrowed, address):
        # Its beginning is shown in lists; what opens something is the rest.
        for form in forms(secret) | forms(secret[len(secret) // 2 :]):
            assert form not in stored
