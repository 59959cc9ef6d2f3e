"""Writes the pages of docs/ that the program and its OpenAPI documents say themselves.

    reference_pages.py [--check] [--binary PATH]

`--check` writes nothing and names the pages that are stale. The binary is `--binary`, THREADKEEP_BIN, or the release build.
Standard library only.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OPENAPI = ROOT / "openapi"
NAVIGATION = Path(__file__).with_name("mkdocs.yml")
WIRE = "agent-server"
# Tags of what looks after tenants, which has a page of its own.
ADMINISTRATION = ("administration", "keys", "operators", "tokens", "transfer", "subjects")
MARK = "<!-- Written by tests/setup/reference_pages.py. Change the code, then run the script. -->"
# An error that more operations answer than this has their number instead of their names.
OPERATIONS_NAMED_MAX = 4
# What they do is on a page of its own.
DATA_COMMANDS = (
    *("erase", "export", "import", "backup", "restore"),
    *("master-key", "encrypt", "doctor", "support"),
)
TENANT = ("--tenant <TENANT>", "")
# Said once, on the page of the commands.
OF_EVERY_COMMAND = ("--help", "--version", "--json")
# Options that the first command with keys explains.
WHOSE_KEYS = ("--tenant <TENANT>", "--operator")

# The settings of `serve`, by the beginning of their names. The first group that fits has the setting.
GROUPS = {
    "Addresses and connections": [
        "listen", "metrics-listen", "keyless", "client-connections-max", "connections-per-address-max",
        "trusted-proxies", "head-seconds-max", "tls-cert", "tls-key",
    ],
    "The file": ["config"],
    "Database": ["database-url", "data-dir", "no-create", "connections", "journal-url", "no-migrate", "wait-for-database", "allow-unsafe"],
    "Encryption": ["master-key-file", "master-key-command", "previous-master-key-file"],
    "Object store and Redis": ["object-store", "redis"],
    "Embeddings": ["embeddings"],
    "Browsers and other issuers": ["files-origin", "cors-origin", "no-console", "no-agent-server", "assistants", "default-graph-id", "state-update-channels", "issuers", "agentrail"],
    "Memory for differences": ["recent-bytes-max", "expanded-bytes-max"],
    "Threads, rates and the audit log": ["retention-interval", "busy-seconds", "thread-metadata-keys", "requests-per-second", "audit-keep-days"],
    "Stopping and the log": ["drain-seconds", "stop-seconds", "slow-statement-ms", "log"],
}  # fmt: skip
# With fewer rows a list is easier to read than a table.
TABLE_ROWS_MIN = 3
# Variables that no option has.
OTHER_VARIABLES = {
    "THREADKEEP_MASTER_KEY": "the master key itself, in place of `--master-key-file`",
    "THREADKEEP_BOOTSTRAP_KEY": "the key of an operator (`tko_…`), which the server makes where operators have none; one that was revoked is "
    "not made again",
    "THREADKEEP_EMBEDDINGS_KEY": "the key of the endpoint for embeddings",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT": "the object store's credentials, region and "
    "endpoint",
    "THREADKEEP_URL, THREADKEEP_API_KEY": "read by the clients, not by the server: its address, and a key or token; "
    "`threadkeep support` reads the key, too",
}


@dataclass
class Setting:
    """An option or argument as `--help` says it."""

    name: str
    text: str = ""
    variable: str = ""
    default: str = ""
    values: str = ""


@dataclass
class Help:
    """What `--help` of one command says."""

    command: str
    about: list[str] = field(default_factory=list)
    usage: str = ""
    settings: list[Setting] = field(default_factory=list)
    subcommands: dict[str, str] = field(default_factory=dict)


def read_help(binary: Path, command: list[str]) -> Help:
    """Ask the program, without any of its variables, so that no value of this machine is in the text."""
    shown = subprocess.run(
        [binary, *command, "--help"], capture_output=True, text=True, check=True, env={}
    ).stdout
    found = Help(" ".join(["threadkeep", *command]))
    part = "about"
    for line in shown.splitlines():
        if heading := re.match(r"^(Commands|Arguments|Options):$", line):
            part = heading[1]
        elif usage := re.match(r"^Usage: (.*)$", line):
            found.usage, part = usage[1], "usage"
        elif part == "about" and line:
            found.about.append(line)
        elif part == "Commands" and (named := re.match(r"^  (\S+) +(.*)$", line)):
            found.subcommands[named[1]] = named[2]
        elif part in ("Arguments", "Options"):
            _read_setting(found.settings, line)
    found.subcommands.pop("help", None)
    for setting in found.settings:
        _take_brackets(setting)
    found.settings = [it for it in found.settings if it.name not in OF_EVERY_COMMAND]
    return found


def _read_setting(settings: list[Setting], line: str) -> None:
    if named := re.match(
        r"^ {2,6}(?:-\w, )?(--\S+(?: <[^>]+>)?|[\[<][A-Z_]+[\]>])(?:  +(.*))?$", line
    ):
        settings.append(Setting(named[1], named[2] or ""))
    elif line.strip() and settings:
        settings[-1].text = f"{settings[-1].text} {line.strip()}".strip()


def _take_brackets(setting: Setting) -> None:
    for name, attribute in (
        ("env", "variable"),
        ("default", "default"),
        ("possible values", "values"),
    ):
        if found := re.search(rf" ?\[{name}: ([^\]]*)\]", setting.text):
            setattr(setting, attribute, found[1].removesuffix("="))
            setting.text = setting.text.replace(found[0], "")


def all_help(binary: Path) -> list[Help]:
    """Every command that `--help` lists, and theirs."""
    first = read_help(binary, [])
    found = [first]
    for name in first.subcommands:
        command = read_help(binary, [name])
        found.append(command)
        found += [read_help(binary, [name, it]) for it in command.subcommands]
    return found


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""


def told(setting: Setting) -> str:
    values = (
        f" One of {', '.join(code(it.strip()) for it in setting.values.split(','))}."
        if setting.values
        else ""
    )
    text = setting.text and setting.text.rstrip(".") + "."
    return f"{text}{values}"


def configuration(commands: list[Help]) -> Iterator[str]:
    yield "# Configuration"
    yield ""
    yield MARK
    yield ""
    yield "Every setting of `threadkeep serve`. A flag goes before its variable, the variable before the file of `--config`, and the file"
    yield "before the default."
    yield ""
    yield "The file is TOML: a line has the name of a flag without its dashes, and a text, a whole number, `true` or `false`, or a list."
    yield "One file serves all commands."
    yield ""
    yield "```toml"
    yield 'listen = "0.0.0.0:7070"'
    yield 'tls-cert = "/etc/threadkeep/tls.crt"'
    yield 'tls-key = "/etc/threadkeep/tls.key"'
    yield "connections = 16"
    yield 'cors-origin = ["https://app.example.com"]'
    yield "```"
    yield ""
    yield "`threadkeep config check` says whether the settings are right, and `threadkeep config show` prints all of them, with where each"
    yield "is from and without secrets."
    yield ""
    yield "A secret may lie in a file: a variable with `_FILE` behind its name names that file. So it is with `THREADKEEP_DATABASE_URL`,"
    yield "`THREADKEEP_REDIS_URL`, `THREADKEEP_IMPORT_FROM`, `THREADKEEP_BOOTSTRAP_KEY` and `THREADKEEP_EMBEDDINGS_KEY`; `THREADKEEP_MASTER_KEY_FILE` is a setting itself."
    yield ""
    yield "The other commands have the settings of the database, and those that [their own page](../reference/cli.md) lists."
    yield ""
    (serve,) = [it for it in commands if it.command == "threadkeep serve"]
    groups: dict[str, list[Setting]] = {name: [] for name in GROUPS}
    for setting in serve.settings:
        groups[_group(setting)].append(setting)
    for name, settings in groups.items():
        yield f"## {name}"
        yield ""
        rows = [[code(it.name), code(it.variable), code(it.default), told(it)] for it in settings]
        yield from table(["flag", "variable", "default", "what it does"], rows)
    yield "## Variables without a flag"
    yield ""
    rows = [[", ".join(map(code, it.split(", "))), text] for it, text in OTHER_VARIABLES.items()]
    yield from table(["variable", "what it is"], rows)


def _group(setting: Setting) -> str:
    flag = setting.name.removeprefix("--").split(" ")[0]
    exact = [name for name, flags in GROUPS.items() if flag in flags]
    begun = [name for name, flags in GROUPS.items() if flag.startswith(tuple(flags))]
    if not exact + begun:
        raise ValueError(f"{setting.name} has no group in GROUPS")
    return (exact + begun)[0]


def command_line(commands: list[Help]) -> Iterator[str]:
    yield "# Command line"
    yield ""
    yield MARK
    yield ""
    yield "The commands of the program, as `threadkeep --help` tells them. [Commands for data](cli-data.md), [exit codes](../operate/exit-codes.md) and"
    yield "[what each command may do to a database](../operate/commands.md) have pages of their own. Every command has `--help`, and"
    yield "[`--json`](../operate/commands.md#output-for-programs)."
    yield ""
    first, *others = commands
    yield from table(
        ["command", "what it does"], [[f"`{it}`", text] for it, text in first.subcommands.items()]
    )
    (migrate,) = [it for it in commands if it.command == "threadkeep migrate"]
    database = {it.name for it in migrate.settings}
    (serve,) = [it for it in commands if it.command == "threadkeep serve"]
    of_serve = {it.name for it in serve.settings}
    yield "## Options of the database"
    yield ""
    yield "Every command that opens the database has these."
    yield ""
    yield from _options(migrate.settings)
    yield from _commands([it for it in others if not _is_for_data(it)], database, of_serve)


def data_commands(commands: list[Help]) -> Iterator[str]:
    yield "# Commands for data"
    yield ""
    yield MARK
    yield ""
    yield "The commands that erase, move, keep, encrypt and examine what is stored. Those that open the database have"
    yield "[its options](cli.md#options-of-the-database)."
    yield ""
    (migrate,) = [it for it in commands if it.command == "threadkeep migrate"]
    (serve,) = [it for it in commands if it.command == "threadkeep serve"]
    database, of_serve = ({it.name for it in command.settings} for command in (migrate, serve))
    yield from _commands([it for it in commands if _is_for_data(it)], database, of_serve)


def _is_for_data(command: Help) -> bool:
    return command.command.split(" ")[1:2] in [[it] for it in DATA_COMMANDS]


def _commands(commands: list[Help], database: set[str], of_serve: set[str]) -> Iterator[str]:
    for command in commands:
        depth = "##" if command.command.count(" ") == 1 else "###"
        yield f"{depth} {command.command}"
        yield ""
        if command.subcommands:
            yield from (*command.about, "")
            continue
        yield from (line for paragraph in command.about[:-1] for line in (paragraph, ""))
        about = f"{command.about[-1].rstrip('.')}."
        if command.command in (
            "threadkeep serve",
            "threadkeep config check",
            "threadkeep config show",
        ):
            yield f"{about} Usage: `{command.usage}`. [Configuration](../operate/configuration.md) has the options."
            yield ""
            continue
        # The usage shows the tenant.
        own = [
            it
            for it in command.settings
            if it.name not in database and (it.name, it.text) != TENANT
        ]
        if command.command in ("threadkeep keys list", "threadkeep keys revoke"):
            own = [it for it in own if it.name not in WHOSE_KEYS]
        opens = any(it.name in database for it in command.settings)
        and_database = ", with the options of the database" if opens else ""
        if command.command == "threadkeep support":
            own = [it for it in command.settings if it.name not in of_serve]
            and_database = ", with [the options of `serve`](../operate/configuration.md)"
        yield f"{about} Usage: `{command.usage}`{and_database}."
        yield ""
        if own:
            yield from _options(own)


def _options(settings: list[Setting]) -> Iterator[str]:
    rows = []
    for it in settings:
        variable = f" Variable `{it.variable}`." if it.variable else ""
        default = f" Default `{it.default}`." if it.default else ""
        rows.append([code(it.name), f"{told(it)}{variable}{default}"])
    if len(rows) >= TABLE_ROWS_MIN:
        yield from table(["option", "what it does"], rows)
        return
    yield from (f"- {name}: {text}" for name, text in rows)
    yield ""


def operations(*names: str) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Method, path and body of every operation, with its document."""
    for name in names:
        document = json.loads((OPENAPI / f"{name}.json").read_text())
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation, document


def routes(_: list[Help]) -> Iterator[str]:
    yield "# HTTP API"
    yield ""
    yield MARK
    yield ""
    yield "Every route, with the permission that it asks for. `/openapi.json` describes bodies and answers; `/docs` of a"
    yield "running server shows them. [Errors](errors.md), [limits](limits.md), the calls for [keys, tokens and"
    yield "tenants](administration.md) and those of [SDKs of LangGraph](agent-server.md) have pages of their own."
    yield ""
    yield "A permission such as `threads:append` is an action on a noun: `read`, `append` or `write`. `tenant` is what changes"
    yield "the whole tenant, `tenant:read` also what only reads it. `any` is every key and token; the operation asks for the"
    yield "rest itself. `none` needs no key."
    yield ""
    yield "The cost of a call says what ends it. It is `x-cost` in `/openapi.json`:"
    yield ""
    yield "- `small`: its request bounds the rows that it touches. It ends soon; tenants take turns."
    yield "- `search`: nothing bounds them. It ends after `search_seconds_max` seconds with `deadline_exceeded`, on connections for"
    yield "  searches and lists, half of which one tenant has at most."
    yield "- `bulk`: it goes through all of a thing, in slices between which others take turns, to its end: a write is not cancelled."
    yield "- `stream`: of any length. It ends below a minimum rate. A tenant holds at most half of them, a credential a quarter."
    yield ""
    yield from _sections(lambda tag: tag != WIRE and tag not in ADMINISTRATION)


def administration_routes(_: list[Help]) -> Iterator[str]:
    yield "# Administration API"
    yield ""
    yield MARK
    yield ""
    yield "The calls for keys, tokens and what a tenant has, may have and has done. Permissions and costs are those of the"
    yield "[HTTP API](http.md); `operator` is the [key of an operator](../operate/keys-and-tokens.md#operators)."
    yield ""
    yield from _sections(lambda tag: tag in ADMINISTRATION)


def _sections(is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """A section for each tag."""
    for tag, text, rows in _tables():
        if is_wanted(tag):
            yield f"## {tag.capitalize()}"
            yield ""
            yield f"{text.rstrip('.')}."
            yield ""
            yield from table(["call", "permission", "cost", "what it does"], rows)


def wire_routes(_: list[Help]) -> Iterator[str]:
    yield "# Agent Server API"
    yield ""
    yield MARK
    yield ""
    for tag, text, rows in _tables():
        if tag == WIRE:
            yield f"{text.rstrip('.')}. [The guide](../guides/agent-server.md) says what is shown, and what needs"
            yield "the graph. Permissions and costs are those of the [HTTP API](http.md)."
            yield ""
            yield from table(["call", "permission", "cost", "what it does"], rows)


def _tables() -> Iterator[tuple[str, str, list[list[str]]]]:
    """Each tag with its text and the rows of its operations."""
    tags: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = defaultdict(list)
    for method, path, operation, document in operations("openapi", "agentrail"):
        tags |= {it["name"]: it.get("description", "") for it in document["tags"]}
        permission = operation.get("x-permission", "none")
        cost = operation.get("x-cost", "small")
        call = f"`{method} {path}`"
        row = [call, code(permission), code(cost), operation["summary"]]
        rows[operation["tags"][0]].append(row)
    for tag, text in tags.items():
        if rows[tag]:
            yield tag, text, rows[tag]


def errors(_: list[Help]) -> Iterator[str]:
    yield "# Errors"
    yield ""
    yield MARK
    yield ""
    yield "An error is `application/problem+json` with `type`, `title`, `status`, `detail`, `code` and `request_id`, and with"
    yield "`field`, `limit`, `current_version` or `current_head` where they help. `code` is stable; `detail` is for people."
    yield "[Troubleshooting](../troubleshooting.md) says what to do."
    yield ""
    answered: dict[str, set[str]] = defaultdict(set)
    titles: dict[str, tuple[int, str]] = {}
    for _method, _path, operation, document in operations("openapi", "agentrail"):
        for status, answer in operation["responses"].items():
            if reference := answer.get("$ref"):
                answer = document["components"]["responses"][reference.rsplit("/", 1)[1]]
            for name in answer.get("x-codes", []):
                answered[name].add(operation["operationId"])
                said = dict(
                    re.findall(r"`(\w+)`: ([^`]+?)(?:[;.,]? (?=`)|$)", answer["description"])
                )
                titles[name] = (int(status), said.get(name, ""))
    every = {it["operationId"] for _, _, it, _ in operations("openapi", "agentrail")}
    rows = []
    for name, (status, title) in sorted(titles.items(), key=lambda it: (it[1][0], it[0])):
        names = sorted(answered[name])
        if len(names) <= OPERATIONS_NAMED_MAX:
            by = ", ".join(map(code, names))
        else:
            by = f"{len(names)} of {len(every)} operations"
        rows.append([str(status), code(name), title, by])
    yield from table(["status", "code", "what happened", "answered by"], rows)


def limits(_: list[Help]) -> Iterator[str]:
    yield "# Limits"
    yield ""
    yield MARK
    yield ""
    yield "What `GET /v1/limits` answers. Sizes are bytes of decoded UTF-8 or of raw data, before compression. What is larger is"
    yield "refused with `too_large` or `invalid`; `field` names the input and `limit` has the number."
    yield ""
    document = json.loads((OPENAPI / "openapi.json").read_text())
    answer = document["paths"]["/v1/limits"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]
    properties = document["components"]["schemas"]["Limits"]["properties"]
    rows = [
        [code(name), _number(name, value), properties[name].get("description", "")]
        for name, value in sorted(answer["example"].items())
    ]
    yield from table(["name", "value", "of what"], rows)


def _number(name: str, value: int) -> str:
    if "bytes" in name:
        for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
            if value >= 1 << power and value % (1 << power) == 0:
                return f"{value >> power:,} {unit}"
    return f"{value:,}"


def titles() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of the navigation, with the title and path of each page."""
    section: tuple[str, list[tuple[str, str]]] = ("", [])
    for line in NAVIGATION.read_text().split("\nnav:\n")[1].splitlines():
        if heading := re.match(r"^  - ([^:]+):$", line):
            yield section
            section = (heading[1], [])
        elif page := re.match(r"^(?:  ){1,3}- ([^:]+): (\S+\.md)$", line):
            section[1].append((page[1], page[2]))
    yield section


def for_models(_: list[Help]) -> Iterator[str]:
    """docs/llms.txt: each page with its first sentence."""
    yield "# threadkeep"
    yield ""
    yield "> One server that keeps LangGraph checkpoints, a store, files, session logs and snapshots for AI agents, with"
    yield "> clients for Python and JavaScript."
    yield ""
    for section, pages in titles():
        if section:
            yield f"## {section}"
            yield ""
        for title, path in pages:
            yield f"- [{title}]({path}): {_first_sentence(DOCS / path)}"
        yield ""


def _first_sentence(page: Path) -> str:
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)
    paragraph = next(
        it for it in text.split("\n\n") if it.strip() and not it.lstrip().startswith("#")
    )
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=\.) ", plain)[0].rstrip(":")


PAGES: dict[str, Callable[[list[Help]], Iterator[str]]] = {
    "operate/configuration.md": configuration,
    "reference/cli.md": command_line,
    "reference/cli-data.md": data_commands,
    "reference/errors.md": errors,
    "reference/http.md": routes,
    "reference/administration.md": administration_routes,
    "reference/agent-server.md": wire_routes,
    "reference/limits.md": limits,
    "llms.txt": for_models,
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    built = ROOT / "target" / "release" / "threadkeep"
    arguments.add_argument(
        "--binary", type=Path, default=Path(os.environ.get("THREADKEEP_BIN", built))
    )
    options = arguments.parse_args()
    commands = all_help(options.binary)
    stale = []
    for name, write in PAGES.items():
        page = DOCS / name
        text = "\n".join(write(commands)).rstrip("\n") + "\n"
        if not page.exists() or page.read_text() != text:
            stale.append(name)
            if not options.check:
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text)
    for name in stale:
        print(f"docs/{name} {'is stale' if options.check else 'written'}")
    if stale and options.check:
        print("run tests/setup/reference_pages.py")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
