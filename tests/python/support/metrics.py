"""Reads metrics in the text format of Prometheus, and the names in expressions about them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SELECTOR = re.compile(r"(threadkeep_\w+)\s*(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
WORDS = re.compile(r"[\w|]+")
# Labels that Prometheus adds.
OF_PROMETHEUS = {"job", "instance"}


@dataclass
class Exported:
    """What a server exports, or several together."""

    kinds: dict[str, str] = field(default_factory=dict)
    helps: dict[str, str] = field(default_factory=dict)
    # By the name of a sample: label -> values.
    samples: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith("# "):
                _, kind, name, rest = line.split(" ", 3)
                (self.helps if kind == "HELP" else self.kinds)[name] = rest
            elif line:
                found = SAMPLE.match(line)
                assert found, line
                labels = self.samples[found[1]]
                for label, value in LABEL.findall(found[2] or ""):
                    labels.setdefault(label, set()).add(value)

    def wrong(self, expression: str) -> Iterator[str]:
        """What an expression names that is not exported: a sentence each."""
        known: set[str] = set(OF_PROMETHEUS)
        for name, matchers in SELECTOR.findall(expression):
            if name not in self.samples:
                yield f"{name} is not exported"
                continue
            labels = self.samples[name]
            known |= set(labels)
            for label, operator, value in MATCHER.findall(matchers):
                if label in OF_PROMETHEUS:
                    continue
                if label not in labels:
                    yield f"{name} has no label {label}"
                elif WORDS.fullmatch(value):
                    values = value.split("|") if operator.endswith("~") else [value]
                    absent = set(values) - labels[label]
                    yield from (f"{name} has no {label} {it}" for it in sorted(absent))
        for names in GROUPING.findall(expression):
            for label in filter(None, (it.strip() for it in names.split(","))):
                if label not in known:
                    yield f"nothing in the expression has a label {label}"
