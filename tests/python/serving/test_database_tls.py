"""TLS to PostgreSQL, as the URL asks: good, wrong and expired certificates, host names, client certificates, and what the server warns of."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import settings
from support.certificates import Authority, Issued
from support.front import Front, PlaceBehind
from support.postgres import Postgres
from support.server import Place, Server, clean_environment

WARNING = "who is on the network between can pretend to be the database"


class Issuers:
    """The authority that clients trust, and one that nobody does."""

    def __init__(self, folder: Path) -> None:
        self.good = Authority(folder, "good")
        self.other = Authority(folder, "other")
        self.server = self.good.issue("server", "localhost")
        self.strange = self.other.issue("strange", "localhost")
        self.expired = self.good.issue("expired", "localhost", days=-1)
        self.elsewhere = self.good.issue("elsewhere", "db.example.com")
        self.client = self.good.issue("client")
        self.strange_client = self.other.issue("strange-client")


@pytest.fixture(scope="module")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> Issuers:
    return Issuers(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """On a socket, where the front finds it."""
    assert settings.PG_BIN
    postgres = Postgres(settings.PG_BIN)
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


@pytest.fixture
def place(postgres: Postgres) -> Iterator[Place]:
    place = Place(postgres)
    try:
        yield place
    finally:
        place.remove()


@pytest.fixture
def name(place: Place) -> str:
    assert place.name is not None
    return place.name


def migrate(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [settings.BINARY, "migrate", "--database-url", url],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
        check=False,
    )


def trusting(issuers: Issuers, mode: str) -> list[str]:
    return [f"sslmode={mode}", f"sslrootcert={issuers.good.certificate}"]


def showing(client: Issued) -> list[str]:
    return [f"sslcert={client.certificate}", f"sslkey={client.key}"]


@contextmanager
def tls_front(postgres: Postgres, served: Issued, clients: Path | None = None) -> Iterator[Front]:
    with Front(postgres, served, clients) as front:
        yield front


@pytest.mark.parametrize("mode", ["allow", "prefer", "require", "verify-ca", "verify-full"])
def test_a_certificate_of_a_trusted_issuer_is_good_for_every_mode(
    postgres: Postgres, issuers: Issuers, name: str, mode: str
) -> None:
    with tls_front(postgres, issuers.server) as front:
        done = migrate(front.url(name, *trusting(issuers, mode)))
        assert done.returncode == 0, done.stderr
        assert front.plain == 0 < front.encrypted


def test_disable_speaks_plain(postgres: Postgres, issuers: Issuers, name: str) -> None:
    with tls_front(postgres, issuers.server) as front:
        assert migrate(front.url(name, "sslmode=disable")).returncode == 0
        assert front.encrypted == 0 < front.plain


@pytest.mark.parametrize("mode", ["prefer", "require"])
def test_without_a_root_certificate_any_certificate_is_taken(
    postgres: Postgres, issuers: Issuers, name: str, mode: str
) -> None:
    with tls_front(postgres, issuers.strange) as front:
        done = migrate(front.url(name, f"sslmode={mode}"))
        assert done.returncode == 0, done.stderr
        assert front.plain == 0 < front.encrypted


@pytest.mark.parametrize(
    ("served", "mode", "why"),
    [
        # As in libpq: with a root certificate `require` verifies the issuer.
        ("strange", "require", "nobody trusts who issued its certificate"),
        ("strange", "verify-ca", "nobody trusts who issued its certificate"),
        ("strange", "verify-full", "nobody trusts who issued its certificate"),
        ("expired", "verify-full", "its certificate has expired"),
        ("elsewhere", "verify-full", "its certificate is for another host name"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused_in_a_sentence(
    postgres: Postgres, issuers: Issuers, name: str, served: str, mode: str, why: str
) -> None:
    with tls_front(postgres, getattr(issuers, served)) as front:
        done = migrate(front.url(name, *trusting(issuers, mode)))
        assert (done.returncode, why in done.stderr) == (9, True), done.stderr
        assert f"localhost:{front.port}" in done.stderr


def test_verify_ca_takes_a_certificate_for_another_host(
    postgres: Postgres, issuers: Issuers, name: str
) -> None:
    with tls_front(postgres, issuers.elsewhere) as front:
        done = migrate(front.url(name, *trusting(issuers, "verify-ca")))
        assert done.returncode == 0, done.stderr


def test_the_roots_of_the_system_do_not_trust_it(
    postgres: Postgres, issuers: Issuers, name: str
) -> None:
    with tls_front(postgres, issuers.server) as front:
        done = migrate(front.url(name, "sslrootcert=system"))
        assert (done.returncode, "nobody trusts" in done.stderr) == (9, True), done.stderr


def test_a_client_certificate_is_shown(postgres: Postgres, issuers: Issuers, name: str) -> None:
    with tls_front(postgres, issuers.server, issuers.good.certificate) as front:
        url = front.url(name, *trusting(issuers, "verify-full"), *showing(issuers.client))
        done = migrate(url)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("client", [None, "strange_client"])
def test_a_client_certificate_that_is_missing_or_strange_is_told(
    postgres: Postgres, issuers: Issuers, name: str, client: str | None
) -> None:
    shown = showing(getattr(issuers, client)) if client else []
    with tls_front(postgres, issuers.server, issuers.good.certificate) as front:
        done = migrate(front.url(name, *trusting(issuers, "verify-full"), *shown))
        assert (done.returncode, "sslcert=FILE and sslkey=FILE" in done.stderr) == (9, True), (
            done.stderr
        )


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_server_without_tls_is_refused_where_tls_is_asked_for(
    postgres: Postgres, name: str, mode: str
) -> None:
    with Front(postgres) as front:
        done = migrate(front.url(name, f"sslmode={mode}"))
        assert (done.returncode, "does not support TLS" in done.stderr) == (9, True), done.stderr
        assert migrate(front.url(name)).returncode == 0


@pytest.mark.parametrize(
    ("parameters", "code", "sentence"),
    [
        (["sslmode=sometimes"], 2, "sslmode=sometimes is unknown"),
        (
            ["sslrootcert=/nowhere/ca.crt"],
            4,
            "the file /nowhere/ca.crt (sslrootcert) cannot be read",
        ),
        (["sslcert=/nowhere/a.crt"], 2, "sslcert and sslkey belong together"),
        (["sslmode=require", "sslrootcert=system"], 2, "needs sslmode=verify-full"),
        (["target_session_attrs=standby"], 2, "finds no server that takes writes"),
    ],
)
def test_what_a_url_cannot_mean_is_a_sentence(
    parameters: list[str], code: int, sentence: str
) -> None:
    done = migrate(f"postgres://ann:secret@localhost:1/x?{'&'.join(parameters)}")
    assert (done.returncode, sentence in done.stderr) == (code, True), done.stderr
    assert "secret" not in done.stderr


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.crt"
    path.write_text("nothing")
    done = migrate(f"postgres://localhost:1/x?sslrootcert={path}")
    assert (done.returncode, f"{path} (sslrootcert) has no certificate" in done.stderr) == (7, True)


def test_only_what_is_weak_over_a_network_is_warned_of(
    postgres: Postgres, issuers: Issuers, name: str
) -> None:
    """Another machine is warned of whether it can be reached or not."""
    with tls_front(postgres, issuers.server) as front:
        done = migrate(front.url(name, "sslmode=disable"))
        assert (done.returncode, WARNING in done.stderr) == (0, False), done.stderr
        for mode, is_warned in (("require", True), ("verify-full", False)):
            done = migrate(front.url(name, f"sslmode={mode}", host="db.invalid"))
            assert (done.returncode, WARNING in done.stderr) == (8, is_warned), done.stderr


def test_a_server_works_through_tls(postgres: Postgres, issuers: Issuers) -> None:
    with tls_front(postgres, issuers.server) as front:
        place = PlaceBehind(front, *trusting(issuers, "verify-full"))
        server = Server(place)
        try:
            server.start()
            body = {"namespace": ["n"], "key": "k", "value": {"text": "x" * 300_000}}
            assert server.post("/v1/store/put", body).status == 200
            found = server.post("/v1/store/get", {"namespace": ["n"], "key": "k"})
            assert found.status == 200
            assert front.plain == 0 < front.encrypted
        finally:
            server.kill()
            place.remove()
