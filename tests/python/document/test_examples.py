"""Every example of the documents is what its schema says: requests, answers and problems."""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from support.server import Server

JSON = "application/json"
EXAMPLES_MIN = 150


def bodies(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each body of JSON stands, and what the document says of it."""
    for name, response in document["components"]["responses"].items():
        yield name, response["content"]["application/problem+json"]
    for path in document["paths"].values():
        for operation in path.values():
            name = operation["operationId"]
            asked = operation.get("requestBody", {}).get("content", {})
            if JSON in asked:
                yield f"{name}, request", asked[JSON]
            for status, response in operation["responses"].items():
                if JSON in response.get("content", {}):
                    yield f"{name}, {status}", response["content"][JSON]


def wrong(document: dict[str, Any], name: str, body: dict[str, Any]) -> list[str]:
    schema = body["schema"] | {"components": document["components"]}
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{name}: {it.message}" for it in validator.iter_errors(body["example"])]


def documents(server: Server) -> list[dict[str, Any]]:
    """Those whose examples are shown as they are sent."""
    paths = ["/openapi.json", "/agentrail/openapi.json"]
    return [server.get(path).json() for path in paths]


def test_every_example_is_what_its_schema_says(server: Server) -> None:
    count = 0
    for document in documents(server):
        shown = [(name, body) for name, body in bodies(document) if "example" in body]
        assert [it for name, body in shown for it in wrong(document, name, body)] == []
        count += len(shown)

    assert count >= EXAMPLES_MIN


def test_every_body_that_is_sent_has_an_example(server: Server) -> None:
    for document in documents(server):
        asked = [(name, body) for name, body in bodies(document) if name.endswith(", request")]

        assert asked
        assert [name for name, body in asked if "example" not in body] == []


def test_an_example_that_is_not_what_its_schema_says_is_found(server: Server) -> None:
    for document in documents(server):
        for name, body in bodies(document):
            # Two of them are whatever their caller logs.
            if name.endswith(", request") and not body["schema"]["$ref"].endswith("/Exact"):
                assert wrong(document, name, body | {"example": [7]}), name
