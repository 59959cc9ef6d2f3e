"""A Redis of a test's own, on a port of its own, which may be stopped, killed and started again."""

import datetime
import ipaddress
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support import settings
from support.child import Child
from support.server import free_port
from support.waiting import wait_until


class Redis(Child):
    """Keeps nothing on disk. With `tls` it speaks TLS on a second port, with its own certificate."""

    def __init__(self, folder: Path, tls: bool = False):
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.certificate = folder / "redis.crt"
        self.tls_options: list[str] = []
        if tls:
            make_certificate(self.certificate, folder / "redis.key")
            port = free_port()
            self.url = f"rediss://127.0.0.1:{port}"
            self.tls_options = [
                *("--tls-port", str(port)),
                *("--tls-cert-file", str(self.certificate)),
                *("--tls-key-file", str(folder / "redis.key")),
                *("--tls-auth-clients", "no"),
            ]

    def start(self) -> "Redis":
        options = [
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.folder),
            *self.tls_options,
        ]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(self._answers, "Redis")
        return self

    def _answers(self) -> bool:
        """Itself, and not another one that has taken the port."""
        self.check_alive()
        assert self.process is not None
        return f"process_id:{self.process.pid}" in self.ask("info", "server").split()

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *command],
            capture_output=True,
            text=True,
            timeout=settings.PATIENCE_SECONDS,
        )
        return done.stdout.strip()


def make_certificate(certificate: Path, key: Path) -> None:
    """Of 127.0.0.1, signed by itself, for a day."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a Redis of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
