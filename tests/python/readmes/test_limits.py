"""The page of limits says what the server says."""

import re

from support import settings
from support.server import Server

ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+)(?: ([KMG])iB)? \| .*\|$", re.M)
POWER = {"": 0, "K": 10, "M": 20, "G": 30}


def test_the_page_of_limits_is_the_servers(server: Server, api_key: str) -> None:
    page = (settings.ROOT / "docs" / "reference" / "limits.md").read_text()
    rows = ROW.findall(page)
    said = {name: int(number.replace(",", "")) << POWER[unit] for name, number, unit in rows}

    assert len(said) == page.count("\n| ") - 1
    assert said == server.get("/v1/limits", key=api_key).json()
