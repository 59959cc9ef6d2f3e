"""The tables of limits in the package READMEs say what the server says."""

import re

import pytest

from support import settings
from support.server import Server

ROW = re.compile(r"^\| .+ \| ([\d,]+)(?: ([KMG])iB)? \| `(\w+)` \|$", re.M)
POWER = {"": 0, "K": 10, "M": 20, "G": 30}


@pytest.mark.parametrize("package", ["python", "js"])
def test_the_table_of_limits_is_the_servers(package: str, server: Server, api_key: str) -> None:
    text = (settings.ROOT / "clients" / package / "README.md").read_text()
    table = text.split("\n## Limits\n")[1].split("\n## ")[0]
    rows = ROW.findall(table)
    said = {name: int(number.replace(",", "")) << POWER[unit] for number, unit, name in rows}

    limits = server.get("/v1/limits", key=api_key).json()

    assert len(said) == table.count("\n| ") - 1
    assert len(said) > 10
    assert said == {name: limits[name] for name in said}
