"""Makes one program of the JavaScript blocks of a section."""

import re

IMPORT = re.compile(r"^import\s+(?P<what>.*?)\s+from\s+\"(?P<source>[^\"]+)\";$", re.M | re.S)


def program(texts: list[str]) -> str:
    """Imports first, each name once; then each block inside of the one before: it sees its names and may use them anew."""
    names: dict[str, dict[str, None]] = {}
    bodies = []
    for text in texts:
        for found in IMPORT.finditer(text):
            listed = found["what"].strip().removeprefix("{").removesuffix("}")
            wanted = {name.strip(): None for name in listed.split(",") if name.strip()}
            names.setdefault(found["source"], {}).update(wanted)
        bodies.append(IMPORT.sub("", text).strip())
    imports = [
        f'import {{ {", ".join(wanted)} }} from "{source}";' for source, wanted in names.items()
    ]
    return "\n".join([*imports, *(f"{{\n{body}" for body in bodies), "}" * len(bodies), ""])
