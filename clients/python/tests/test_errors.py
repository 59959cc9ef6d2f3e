"""Every problem that the OpenAPI documents name is an error of its own kind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.errors import ProtocolError, ThreadkeepError, UnavailableError, error_of_problem

DOCUMENTS = Path(__file__).resolve().parents[3] / "openapi"
# What a client does about these is said by the status alone.
BY_STATUS = {
    "too_many_requests": UnavailableError,
    "unavailable": UnavailableError,
    "overloaded": UnavailableError,
    "deadline_exceeded": UnavailableError,
    "threads_indexing": UnavailableError,
    "commit_unknown": UnavailableError,
    "method_not_allowed": ProtocolError,
    "not_acceptable": ProtocolError,
    "unsupported_media_type": ProtocolError,
}


def answers() -> Iterator[tuple[int, str]]:
    """Status and code of every error that operations share."""
    for document in ("openapi.json", "agentrail.json"):
        responses = json.loads((DOCUMENTS / document).read_text())["components"]["responses"]
        for name, answer in responses.items():
            for code in answer["x-codes"]:
                yield int(name.split(".")[0]), code


@pytest.mark.parametrize(("status", "code"), sorted(set(answers())))
def test_a_code_has_its_class(status: int, code: str) -> None:
    error = error_of_problem(status, {"code": code, "detail": "what it was"})
    assert error.code == code
    assert "what it was" in str(error)
    if code in BY_STATUS:
        assert type(error) is BY_STATUS[code]
    else:
        assert type(error) not in (ThreadkeepError, ProtocolError, UnavailableError)


def test_the_document_names_the_codes() -> None:
    assert len({code for _, code in answers()}) > 15
