"""HTTPS on the server's own port: clients with an authority of their own, both versions of HTTP, renewal, refusals, and settings that do not fit."""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import settings
from support.certificates import Authority, Issued
from support.server import Place, Server, clean_environment
from support.waiting import wait_until

HOST = "127.0.0.1"
# A graph whose second run finds what the first one kept, with coroutines and without.
AGENT_OF_PYTHON = """
import asyncio, sys
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from threadkeep.langgraph import ThreadkeepSaver

def answer(state):
    return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}

graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
url, key = sys.argv[1:]

saver = ThreadkeepSaver(url, api_key=key)
agent = graph.compile(checkpointer=saver)
hello = {"messages": [("user", "hello")]}

def plain():
    config = {"configurable": {"thread_id": "plain"}}
    return [agent.invoke(hello, config) for _ in range(2)][1]

async def with_coroutines():
    config = {"configurable": {"thread_id": "coroutines"}}
    return [await agent.ainvoke(hello, config) for _ in range(2)][1]

for state in [plain(), asyncio.run(with_coroutines())]:
    print(state["messages"][-1].content)
"""
AGENT_OF_JAVASCRIPT = """
import { Client } from "threadkeep";
const [url, apiKey] = process.argv.slice(2);
const client = new Client({ url, apiKey });
await client.store.put(["notes"], "k", { said: "hello" });
console.log((await client.store.get(["notes"], "k")).value.said);
"""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


class Serving:
    """A server with a certificate, and clients that trust its authority."""

    def __init__(self, server: Server, authority: Authority, issued: Issued):
        self.server, self.authority, self.issued = server, authority, issued

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.set_alpn_protocols([*protocols] or ["http/1.1"])
        return context

    @property
    def port(self) -> int:
        return int(self.server.url.rsplit(":", 1)[1])

    def connect(self, *protocols: str) -> ssl.SSLSocket:
        plain = socket.create_connection((HOST, self.port), settings.PATIENCE_SECONDS)
        return self.context(*protocols).wrap_socket(plain, server_hostname=HOST)

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(HOST, self.port, context=self.context())

    def serial(self) -> str:
        """Of the certificate that a new connection is shown."""
        with self.connect() as connection:
            shown: dict[str, Any] | None = connection.getpeercert()
        assert shown is not None
        return str(shown["serialNumber"])

    def is_ready(self) -> bool:
        try:
            return status(self.connection(), "/readyz") == 200
        except OSError:
            return False


@contextmanager
def served(authority: Authority, *options: str) -> Iterator[Serving]:
    place = Place()
    issued = authority.issue("server", HOST)
    server = Server(place, options=[*with_certificate(issued), *options])
    try:
        server.spawn()
        serving = Serving(server, authority, issued)
        wait_until(serving.is_ready, "the server to be ready")
        yield serving
    finally:
        server.kill()
        place.remove()


@pytest.fixture
def serving(authority: Authority) -> Iterator[Serving]:
    with served(authority) as serving:
        yield serving


def with_certificate(issued: Issued) -> list[str]:
    return ["--tls-cert", str(issued.certificate), "--tls-key", str(issued.key)]


def status(connection: http.client.HTTPConnection, path: str) -> int:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_the_line_at_the_start_says_https(serving: Serving) -> None:
    assert serving.server.url == f"https://{HOST}:{serving.port}"


def test_an_agent_of_python_remembers_over_https(serving: Serving) -> None:
    (key,) = keys_of(serving)
    trusting = {"SSL_CERT_FILE": str(serving.authority.certificate)}
    done = subprocess.run(
        [sys.executable, "-c", AGENT_OF_PYTHON, serving.server.url, key],
        capture_output=True,
        text=True,
        env={**os.environ, **trusting},
        timeout=settings.PATIENCE_SECONDS,
    )

    assert done.stdout.split("\n")[:2] == ["3 messages", "3 messages"], done.stderr


def test_a_client_of_javascript_is_answered_over_https(serving: Serving) -> None:
    (key,) = keys_of(serving)
    trusting = {"NODE_EXTRA_CA_CERTS": str(serving.authority.certificate)}
    node = ["node", "--input-type=module", "-e", AGENT_OF_JAVASCRIPT, "-"]
    done = subprocess.run(
        [*node, serving.server.url, key],
        capture_output=True,
        text=True,
        cwd=settings.ROOT / "tests" / "js",
        env={**os.environ, **trusting},
        timeout=settings.PATIENCE_SECONDS,
    )

    assert done.stdout == "hello\n", done.stderr


def test_who_does_not_trust_the_authority_asks_nothing(serving: Serving) -> None:
    connection = http.client.HTTPSConnection(HOST, serving.port)
    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("GET", "/readyz")


def test_the_client_chooses_the_version_of_http(serving: Serving) -> None:
    for offered, chosen in [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1")]:
        with serving.connect(*offered) as connection:
            assert connection.selected_alpn_protocol() == chosen

    curl = ["curl", "--silent", "--http2", "--cacert", str(serving.authority.certificate)]
    told = subprocess.run(
        [*curl, "--write-out", "%{http_version} %{http_code}", f"{serving.server.url}/healthz"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.endswith("2 200")


def test_nothing_older_than_tls_1_2_is_spoken(serving: Serving) -> None:
    context = serving.context()
    with warnings.catch_warnings(action="ignore"):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection((HOST, serving.port)) as plain,
        pytest.raises((ssl.SSLError, OSError)),
    ):
        context.wrap_socket(plain, server_hostname=HOST)


def test_who_speaks_plain_http_is_told(serving: Serving) -> None:
    connection = http.client.HTTPConnection(HOST, serving.port)
    connection.request("GET", "/healthz")
    answer = connection.getresponse()

    assert answer.status == 400
    assert b"this port speaks HTTPS: the address begins with https://" in answer.read()


def test_a_connection_without_a_handshake_ends(authority: Authority) -> None:
    begun = b"\x16\x03\x01"
    with served(authority, "--head-seconds-max", "1") as serving:
        for said in [b"", begun]:
            with socket.create_connection((HOST, serving.port)) as silent:
                silent.settimeout(settings.PATIENCE_SECONDS)
                silent.sendall(said)
                assert silent.recv(1) == b""


def test_new_connections_get_a_renewed_certificate(serving: Serving) -> None:
    kept = serving.connection()
    assert status(kept, "/healthz") == 200
    earlier = serving.serial()
    renewed = serving.authority.issue("renewed", HOST)
    shutil.copy(renewed.certificate, serving.issued.certificate)

    def refused() -> bool:
        assert status(kept, "/healthz") == 200
        return "the new certificate is not used; the earlier one stays" in serving.server.tail()

    wait_until(refused, "the server to see a certificate without its key")
    assert serving.serial() == earlier

    shutil.copy(renewed.key, serving.issued.key)
    wait_until(lambda: serving.serial() != earlier, "the new certificate to be shown")
    assert status(kept, "/healthz") == 200
    assert status(serving.connection(), "/readyz") == 200


def test_a_stop_lets_a_request_over_https_end(serving: Serving) -> None:
    connection = serving.connection()
    assert status(connection, "/healthz") == 200
    assert serving.server.stop() == 0


def keys_of(serving: Serving) -> list[str]:
    made = serving.server.command("keys", "create", "--tenant", "t")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()

    def is_known() -> bool:
        connection = serving.connection()
        connection.request("GET", "/v1/whoami", headers={"X-Api-Key": key})
        return connection.getresponse().status == 200

    wait_until(is_known, "the server to see a new key")
    return [key]


def ended(arguments: list[str], tmp_path: Path) -> tuple[int, str]:
    """Exit status and what was said on standard error."""
    command = [settings.BINARY, "serve", "--listen", f"{HOST}:0", "--data-dir", tmp_path / "data"]
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )
    return done.returncode, done.stderr


def test_settings_that_do_not_fit_are_refused_in_a_sentence(
    authority: Authority, tmp_path: Path
) -> None:
    one, other = authority.issue("one", HOST), authority.issue("other", HOST)
    text = tmp_path / "text"
    text.write_text("no certificate\n")
    broken = tmp_path / "broken"
    broken.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    absent = tmp_path / "absent"
    cases = [
        (["--tls-cert", str(one.certificate)], "--tls-key <FILE>"),
        (["--tls-key", str(one.key)], "--tls-cert <FILE>"),
        (with_certificate(Issued(absent, one.key)), str(absent)),
        (with_certificate(Issued(one.certificate, absent)), str(absent)),
        (with_certificate(Issued(text, one.key)), "the file has no certificate in PEM form"),
        (with_certificate(Issued(broken, one.key)), "certificate of the file cannot be read"),
        (with_certificate(Issued(one.certificate, text)), "the file has no private key"),
        (with_certificate(Issued(one.certificate, other.key)), "not that of the certificate"),
    ]
    for arguments, sentence in cases:
        code, said = ended(arguments, tmp_path)
        assert code not in (0, 101), (arguments, said)
        assert sentence in said, (sentence, said)


def test_plain_http_on_an_address_that_others_reach_is_warned_of(tmp_path: Path) -> None:
    place = Place()
    server = Server(place, listen="0.0.0.0:0")
    try:
        assert server.command("keys", "create", "--tenant", "t").returncode == 0
        server.spawn()
        wait_until(
            lambda: "plain HTTP on an address that others reach" in server.tail(), "a warning"
        )
    finally:
        server.kill()
        place.remove()
