"""Certificates of the tests' own: an authority, and what it issues for servers and clients."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """Files in PEM form."""

    certificate: Path
    key: Path


class Authority:
    """Issues certificates into a folder; `certificate` is its own, which clients trust."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._begin(self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.certificate = self._write(f"{name}.crt", own.sign(self._key, hashes.SHA256()))

    def _begin(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int = 30
    ) -> x509.CertificateBuilder:
        """Valid from two days ago until so many days from now."""
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + days * DAY)
        )

    def _write(self, name: str, certificate: x509.Certificate) -> Path:
        path = self._folder / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def issue(self, name: str, *hosts: str, days: int = 30) -> Issued:
        """For a server at these hosts; without any, for a client of this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        begun = self._begin(subject, key, days=days).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if hosts:
            begun = begun.add_extension(
                x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False
            )
        key_path = self._folder / f"{name}.key"
        key_path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        certificate = self._write(f"{name}.crt", begun.sign(self._key, hashes.SHA256()))
        return Issued(certificate, key_path)


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
