"""The dashboard and the alerts name what servers export, and the page has every metric that there is."""

import json
import re
from typing import Any

import pytest
import yaml

from support import settings
from support.http import request
from support.metrics import Exported
from support.native import Native, checkpoint
from support.postgres import Databases
from support.server import Place, Server
from support.waiting import wait_until

MONITORING = settings.ROOT / "deploy" / "monitoring"
PAGE = settings.ROOT / "docs" / "operate" / "monitoring.md"
ROW = re.compile(r"^\| `(threadkeep_\w+)` \| (\w+) \| \w+ \| (.*?) \| (.*) \|$", re.M)
SECRET = "mark-of-a-value"
# Labels whose values are words of the program, whatever clients send.
WORD = re.compile(r"[A-Za-z0-9_.+{}*/-]+")


def page() -> dict[str, tuple[str, set[str], str]]:
    """Kind, labels and text of each metric of the page."""
    rows = ROW.findall(PAGE.read_text())
    return {
        name: (kind, set(re.findall(r"`(\w+)`", labels)), text) for name, kind, labels, text in rows
    }


def use(server: Server, key: str) -> None:
    """Calls of each queue, one that is refused, and one that nobody knows."""
    native = Native(server.url, key)
    try:
        for number in range(3):
            native.commit(f"thread-{SECRET}", checkpoint(f"c{number}", {SECRET: SECRET.encode()}))
        native.get(f"thread-{SECRET}")
    finally:
        native.close()
    item = {"namespace": [SECRET], "key": SECRET, "value": {"text": SECRET}}
    assert server.post("/v1/store/put", item, key).status == 200
    session = {"kind": "talks", "key": [SECRET], "entries": [{"data": {"said": SECRET}}]}
    assert server.post("/v1/sessions/append", session, key).status == 200
    assert server.post("/v1/store/put", {"key": SECRET}, key).status in (400, 422)
    assert request(server.url, "GET", f"/{SECRET}").status == 404


@pytest.fixture(scope="module")
def exports(databases: Databases) -> dict[str, str]:
    """By engine: what a server exports after some traffic."""
    texts = {}
    for engine, place in (("sqlite", Place()), ("postgres", Place(databases))):
        server = Server(place)
        try:
            server.start()
            use(server, server.new_key())
            names = {it for it in page() if is_of(engine, it)}

            # What is counted in the background comes a moment later.
            def shown(server: Server = server, names: set[str] = names) -> str:
                text = server.metrics()
                return text if all(f"# TYPE {it} " in text for it in names) else ""

            try:
                texts[engine] = wait_until(shown, "every metric of the page", seconds=10)
            except AssertionError:
                texts[engine] = server.metrics()
        finally:
            server.kill()
            place.remove()
    return texts


@pytest.fixture(scope="module")
def exported(exports: dict[str, str]) -> Exported:
    """Of both engines together."""
    together = Exported()
    for text in exports.values():
        together.add(text)
    return together


def is_of(engine: str, name: str) -> bool:
    text = page()[name][2]
    others = {"sqlite": "PostgreSQL only.", "postgres": "SQLite only."}
    return not text.endswith(others[engine])


def expressions() -> list[tuple[str, str]]:
    """Each expression of the dashboard and of the rules, with its title."""
    board = json.loads((MONITORING / "dashboard.json").read_text())
    found = [
        (panel["title"], target["expr"])
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]
    queries = [
        (it["name"], it["query"]) for it in board["templating"]["list"] if it["type"] == "query"
    ]
    rules = [it for group in alerts()["groups"] for it in group["rules"]]
    return found + queries + [(it["alert"], it["expr"]) for it in rules]


def alerts() -> Any:
    return yaml.safe_load((MONITORING / "alerts.yaml").read_text())


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_metric_of_a_server_is_on_the_page_and_none_is_there_that_it_lacks(
    exports: dict[str, str], engine: str
) -> None:
    server = Exported()
    server.add(exports[engine])
    expected = {name: kind for name, (kind, _, _) in page().items() if is_of(engine, name)}
    assert server.kinds == expected
    assert {it for it in server.kinds if not server.helps.get(it)} == set()


def test_labels_are_those_of_the_page_and_have_words_of_the_program(exported: Exported) -> None:
    for name, labels in exported.samples.items():
        family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in page() else name
        assert set(labels) - {"le"} == page()[family][1], name
        for label, values in labels.items():
            assert all(WORD.fullmatch(it) for it in values), (name, label, values)


def test_nothing_of_clients_is_exported(exports: dict[str, str]) -> None:
    for text in exports.values():
        assert SECRET not in text
        assert 'operation="commit_checkpoints"' in text
        assert 'operation="none",method="GET",route="none",status="404"' in text


def test_the_dashboard_and_the_alerts_name_what_is_exported(exported: Exported) -> None:
    found = expressions()
    assert len(found) > 50
    assert sum("threadkeep_" in it for _, it in found) > 50
    wrong = {f"{title}: {it}" for title, expression in found for it in exported.wrong(expression)}
    assert wrong == set()


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("rate(threadkeep_http_requests_seconds_count[5m])", "is not exported"),
        ('threadkeep_database_waiting{pol="data"}', "has no label pol"),
        ('threadkeep_problems_total{code="intern"}', "has no code intern"),
        ('threadkeep_problems_total{code=~"internal|intern"}', "has no code intern"),
        ("sum by (tenant) (threadkeep_database_waiting)", "has a label tenant"),
        ('sum by (pool, instance) (threadkeep_database_waiting{pool=~"data|readers"}) > 0', ""),
    ],
)
def test_a_wrong_name_is_found(exported: Exported, expression: str, wrong: str) -> None:
    found = " ".join(exported.wrong(expression))
    assert found.endswith(wrong)
    assert bool(found) == bool(wrong)


def test_every_alert_says_what_it_is_and_what_to_do() -> None:
    rules = [it for group in alerts()["groups"] for it in group["rules"]]
    assert len({it["alert"] for it in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_every_panel_has_a_place_of_its_own() -> None:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    ids = [it["id"] for it in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
