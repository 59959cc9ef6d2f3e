"""The meaning of the file calls in memory, with the texts of deepagents' own helpers.

Used by the fake server only.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from deepagents.backends.utils import (
    InvalidGlobPatternError,
    _glob_search_files,
    _normalize_content,
    create_file_data,
    grep_matches_from_files,
    perform_string_replacement,
    slice_read_response,
    update_file_data,
)

from fake_chain import Problem, known

WINDOW = ("total_lines", "start_line", "end_line", "next_offset", "no_lines_requested")
ENTRIES_MAX = 3
"""Small, so that listings have several pages."""


class FakeFiles:
    def __init__(self) -> None:
        self.places: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        self.done: dict[str, Any] = {}

    def handle(self, call: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        calls = {
            "ls": self.ls,
            "read": self.read,
            "glob": self.glob,
            "grep": self.grep,
            "download": self.download,
            "stat": self.stat,
            "write": self.write,
            "append": self.append,
            "edit": self.edit,
            "delete": self.delete,
            "upload": self.upload,
            "move": self.move,
            "copy": self.copy,
        }
        if call not in calls:
            raise Problem(404, "not_found")
        body = received(body)
        files = self.places.setdefault(tuple(body.pop("namespace")), {})
        if call in ("ls", "read", "glob", "grep", "download", "stat"):
            return sent(calls[call](files, body))
        key = headers["idempotency-key"]
        if key not in self.done:
            self.done[key] = sent(calls[call](files, body))
        return self.done[key]

    def ls(self, files: Any, body: Any) -> Any:
        known(body, "path", "recursive", "limit", "cursor")
        prefix = body["path"].rstrip("/") + "/"
        found: dict[str, Any] = {}
        for path, data in files.items():
            if path.startswith(prefix):
                head, slash, _ = path[len(prefix) :].partition("/")
                is_dir = bool(slash) and not body.get("recursive")
                name = f"{prefix}{head}/" if is_dir else path
                found[name] = entry(name) if is_dir else entry(path, data)
        names = sorted(name for name in found if name > body.get("cursor", ""))
        limit = min(ENTRIES_MAX, body.get("limit", ENTRIES_MAX))
        answer = {"entries": [found[name] for name in names[:limit]]}
        return answer | ({"next_cursor": names[limit - 1]} if len(names) > limit else {})

    def read(self, files: Any, body: Any) -> Any:
        known(body, "path", "offset", "limit")
        data = files.get(body["path"])
        if data is None:
            raise Problem(404, "file_not_found", f"File '{body['path']}' not found")
        told = {name: data[name] for name in ("created_at", "modified_at", "version", "encoding")}
        if data["encoding"] == "base64":
            return {**told, "bytes": base64.b64decode(data["content"])}
        found = slice_read_response(data, body["offset"], body.get("limit", 2000))
        if found.error:
            raise Problem(422, "offset_past_end", found.error)
        window = {name: value for name in WINDOW if (value := getattr(found, name)) is not None}
        return {**told, "content": found.file_data["content"], **window}

    def write(self, files: Any, body: Any) -> Any:
        known(body, "path", "content", "if_version")
        self.put(files, body["path"], body["content"], "utf-8", body.get("if_version"))
        return {"path": body["path"], "version": files[body["path"]]["version"], "created": True}

    def append(self, files: Any, body: Any) -> Any:
        known(body, "path", "content", "base_sha256", "if_version")
        old = files.get(body["path"])
        base = hashlib.sha256(
            (old["content"] if old else "").encode("utf-8", "surrogatepass")
        ).hexdigest()
        if body.get("base_sha256") not in (None, base):
            raise Problem(409, "base_mismatch")
        content = (old["content"] if old else "") + body["content"]
        self.put(files, body["path"], content, "utf-8", body.get("if_version"))
        return {"path": body["path"], "version": files[body["path"]]["version"]}

    def edit(self, files: Any, body: Any) -> Any:
        known(body, "path", "old_string", "new_string", "replace_all", "if_version")
        path = body["path"]
        if path not in files:
            raise Problem(404, "file_not_found", f"Error: File '{path}' not found")
        content = _normalize_content(files[path])
        done = perform_string_replacement(
            content, body["old_string"], body["new_string"], body.get("replace_all", False)
        )
        if isinstance(done, str):
            raise Problem(422, "string_not_found", done)
        self.put(files, path, done[0], "utf-8", body.get("if_version"))
        return {"path": path, "occurrences": done[1], "version": files[path]["version"]}

    def glob(self, files: Any, body: Any) -> Any:
        known(body, "pattern", "path", "limit")
        try:
            found = _glob_search_files(files, body["pattern"], body.get("path"))
        except InvalidGlobPatternError as error:
            raise Problem(422, "invalid_glob", str(error)) from error
        paths = [] if found == "No files found" else found.split("\n")
        return {"matches": [entry(path, files[path]) for path in paths], "truncated": False}

    def grep(self, files: Any, body: Any) -> Any:
        known(body, "pattern", "path", "glob", "max_count")
        found = grep_matches_from_files(
            files,
            body["pattern"],
            body.get("path"),
            body.get("glob"),
            max_count=body.get("max_count"),
        )
        if found.error:
            raise Problem(422, "invalid_glob", found.error)
        return {"matches": found.matches, "truncated": found.truncated}

    def delete(self, files: Any, body: Any) -> Any:
        known(body, "path", "if_version")
        base = body["path"].rstrip("/")
        gone = [path for path in files if path == base or path.startswith(base + "/")]
        if not gone:
            raise Problem(404, "file_not_found", f"Error: File '{body['path']}' not found")
        for path in gone:
            del files[path]
        return {"deleted": len(gone)}

    def upload(self, files: Any, body: Any) -> Any:
        results = []
        for one in body["files"]:
            known(one, "path", "bytes", "media_type")
            if ".." in one["path"]:
                results.append({"path": one["path"], "error": "invalid_path"})
                continue
            try:
                content, encoding = one["bytes"].decode(), "utf-8"
            except UnicodeDecodeError:
                content, encoding = base64.b64encode(one["bytes"]).decode(), "base64"
            self.put(files, one["path"], content, encoding)
            results.append({"path": one["path"], "version": files[one["path"]]["version"]})
        return {"results": results}

    def download(self, files: Any, body: Any) -> Any:
        results = []
        for path in body["paths"]:
            found = files.get(path)
            results.append(
                {"path": path, "error": "file_not_found"}
                if found is None
                else {"path": path, "bytes": raw(found), "version": found["version"]}
            )
        return {"results": results}

    def stat(self, files: Any, body: Any) -> Any:
        known(body, "path")
        if body["path"] not in files:
            raise Problem(404, "file_not_found")
        return {"entry": entry(body["path"], files[body["path"]])}

    def move(self, files: Any, body: Any) -> Any:
        answer = self.copy(files, body)
        del files[body["from"]]
        return answer

    def copy(self, files: Any, body: Any) -> Any:
        known(body, "from", "to", "to_namespace", "overwrite", "if_version")
        to = (
            self.places.setdefault(tuple(body["to_namespace"]), {})
            if "to_namespace" in body
            else files
        )
        if body["to"] in to and not body.get("overwrite"):
            raise Problem(409, "file_exists")
        to[body["to"]] = files[body["from"]]
        return {"path": body["to"], "version": 1, "files": 1}

    def put(
        self, files: Any, path: str, content: str, encoding: str, if_version: int | None = None
    ) -> None:
        old = files.get(path)
        version = old["version"] if old else 0
        if if_version not in (None, version):
            raise Problem(409, "version_conflict")
        data = update_file_data(old, content) if old else create_file_data(content)
        files[path] = {**data, "encoding": encoding, "version": version + 1}


def entry(path: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
    if data is None:
        return {"path": path, "is_dir": True, "size": 0, "modified_at": ""}
    return {
        "path": path,
        "is_dir": False,
        "size": len(data["content"].encode("utf-8", "surrogatepass")),
        "modified_at": data["modified_at"],
        "version": data["version"],
        "sha256": hashlib.sha256(raw(data)).hexdigest(),
    }


def raw(data: dict[str, Any]) -> bytes:
    content = data["content"]
    return (
        base64.b64decode(content)
        if data["encoding"] == "base64"
        else content.encode("utf-8", "surrogatepass")
    )


def received(body: Any, name: str = "") -> Any:
    """Texts that UTF-8 cannot hold come as JSON."""
    if isinstance(body, dict):
        return {inner: received(value, inner) for inner, value in body.items()}
    if isinstance(body, list):
        return [received(value, name) for value in body]
    return json.loads(body) if isinstance(body, bytes) and name != "bytes" else body


def sent(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: sent(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [sent(value) for value in answer]
    if isinstance(answer, str) and not answer.isprintable():
        try:
            answer.encode()
        except UnicodeEncodeError:
            return json.dumps(answer).encode()
    return answer
