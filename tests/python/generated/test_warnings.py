"""Generators that read the committed documents: no warning, and no operation is left out. What openapi-generator says of a small
document in which nothing is special, it says of every document.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from support import settings
from support.openapi import run_tool

DOCUMENTS = ["openapi.json", "openapi-msgpack.json", "agentrail.json"]
TARGETS = ["python", "typescript-fetch"]
# openapi-python-client knows no MessagePack: it has to be told which bodies have the same types.
MSGPACK_AS_JSON = "content_type_overrides:\n  application/msgpack: application/json\n"
# OpenAPI 3.1, a field whose type stands in place, a map, and parameters with names that languages reserve.
SMALL = {
    "openapi": "3.1.0",
    "info": {"title": "small", "version": "1"},
    "paths": {
        "/things": {
            "get": {
                "operationId": "get_thing",
                "tags": ["things"],
                "parameters": [
                    {"name": "date", "in": "query", "schema": {"type": "string"}},
                    {"name": "from", "in": "query", "schema": {"type": "integer"}},
                ],
                "responses": {
                    "200": {
                        "description": "It",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}
                        },
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            }
        }
    },
}


def operation_ids(document: Path) -> set[str]:
    paths: dict[str, dict[str, Any]] = json.loads(document.read_text())["paths"]
    return {operation["operationId"] for item in paths.values() for operation in item.values()}


def generated(document: Path, target: str, folder: Path) -> set[str]:
    """Run openapi-generator; what it warns of."""
    options = ["-i", document, "-g", target, "-o", folder]
    made = run_tool("openapi-generator-cli", "generate", *options, cwd=document.parent)
    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    complaints = ("WARN", "ERROR", "Exception")
    return {line for line in said.splitlines() if any(word in line for word in complaints)}


@pytest.fixture(scope="module")
def said_of_any(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("small")
    document = folder / "small.json"
    document.write_text(json.dumps(SMALL))
    return {target: generated(document, target, folder / target) for target in TARGETS}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("target", TARGETS)
def test_openapi_generator_warns_of_nothing(
    name: str, target: str, said_of_any: dict[str, set[str]], tmp_path: Path
) -> None:
    document = settings.ROOT / "openapi" / name

    warnings = generated(document, target, tmp_path / "client")

    assert warnings - said_of_any[target] == set()
    suffix = ".py" if target == "python" else ".ts"
    sources = [it.read_text() for it in (tmp_path / "client").rglob(f"*{suffix}")]
    code = "\n".join(sources).replace("_", "").lower()
    assert not {it for it in operation_ids(document) if it.replace("_", "") + "(" not in code}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_openapi_python_client_warns_of_nothing(name: str, tmp_path: Path) -> None:
    document = settings.ROOT / "openapi" / name
    config = tmp_path / "config.yaml"
    config.write_text(MSGPACK_AS_JSON if name == "openapi-msgpack.json" else "{}")

    options = ["--path", document, "--meta", "none", "--output-path", tmp_path / "client"]
    made = run_tool(
        *("openapi-python-client", "generate", "--fail-on-warning", "--config", config),
        *options,
        cwd=tmp_path,
    )

    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    assert not [word for word in ("arning", "rror", "kipping") if word in said], said
    made_of = {it.stem for it in (tmp_path / "client/api").glob("*/*.py")} - {"__init__"}
    assert made_of == operation_ids(document)
