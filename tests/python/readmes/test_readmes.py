"""Every block of every README and page runs, in order, in an empty folder, against a live server.

Models are scripted ones behind the addresses of the real providers' variables; PostgreSQL and the object store are the tests'.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from readmes.blocks import RUNS, Block, UnmarkedError, blocks
from readmes.javascript_blocks import program
from readmes.model_endpoint import ModelEndpoint
from readmes.reader import BlockFailed, Reader
from support import settings
from support.object_store import ObjectStore
from support.postgres import Databases

# Documents that are read one after the other in one folder: what the first installs, the next ones use.
BOOKS = {
    "repository": ["README.md"],
    "guides": [
        "docs/quickstart.md",
        "docs/guides/checkpointer.md",
        "docs/guides/memory.md",
        "docs/guides/search.md",
        "docs/guides/drive.md",
        "docs/guides/agent-server.md",
        "docs/guides/sandboxes.md",
        "docs/guides/snapshots.md",
        "docs/guides/native-client.md",
    ],
    "operate": [
        "docs/operate/keys-and-tokens.md",
        "docs/operate/encryption.md",
        "docs/operate/object-store.md",
        "docs/operate/retention.md",
        "docs/operate/quotas-and-audit.md",
        "docs/operate/erasure.md",
        "docs/operate/import-and-export.md",
        "docs/operate/sql.md",
        "docs/internals/development.md",
    ],
    "python": ["clients/python/README.md"],
    "javascript": [
        "clients/js/README.md",
        "docs/guides/deepagents.md",
        "docs/guides/claude-agent-sdk.md",
        "docs/guides/computeragent.md",
        "docs/guides/agentrail.md",
    ],
    "examples": [
        "examples/deepagents_memory/README.md",
        "examples/deepagents_memory_js/README.md",
        "examples/cloud_drive/README.md",
        "examples/warm_sandbox/README.md",
        "examples/generated_python/README.md",
        "examples/generated_typescript/README.md",
    ],
}
NPM_BEFORE = "2026-11-20"
# What a reader of all of a book must have seen.
PRINTED = {
    "repository": "AURORA-42",
    "guides": "AURORA-42",
    "operate": "threadkeep_sql_",
    "python": "AURORA-42",
    "javascript": "AURORA-42",
    "examples": "done",
}
# The package that was installed as its README says takes LangGraph from the project, where a linked one takes it from the clone.
CLASSES = """
import { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import { CompositeBackend, createDeepAgent } from "deepagents";
import { threadkeepRoutes } from "threadkeep/deepagents";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";

const saver = new ThreadkeepSaver();
createDeepAgent({ checkpointer: saver });
const own = [
  saver instanceof BaseCheckpointSaver,
  new ThreadkeepStore() instanceof BaseStore,
  threadkeepRoutes("ann") instanceof CompositeBackend,
];
if (own.includes(false)) throw new Error(own.join());
"""
# Documents whose blocks another test runs.
ELSEWHERE = {
    "examples/curl.md": "tests/python/generated/test_curl.py, which compares the answers, too",
    "clients/console/README.md": "clients/console/tests/dist.test.ts, which builds it in a folder of its own",
    "docs/operate/damage.md": "tests/python/damages/, which damages the database first",
}


def documents() -> list[str]:
    """Every document for users."""
    root = settings.ROOT
    patterns = ["README.md", "clients/*/README.md", "docs/**/*.md"]
    found = [it for pattern in [*patterns, "examples/**/*.md"] for it in root.glob(pattern)]
    return [it.relative_to(root).as_posix() for it in found if "node_modules" not in it.parts]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelEndpoint]:
    endpoint = ModelEndpoint()
    yield endpoint
    endpoint.stop()


@pytest.fixture(scope="module")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path_factory.mktemp("objects"))
    try:
        yield store.start()
    finally:
        store.kill()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which pip finds the packages of the tests' own ones, and builds by them: nothing is fetched."""
    folder = tmp_path_factory.mktemp("python") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    others = folder / "others"
    others.mkdir()
    for environment in (Path(sys.prefix), settings.OPENAPI_BIN.parent):
        for entry in environment.glob("lib/python*/site-packages/*"):
            # Not this project's own package: it is there when a document has installed it.
            own = entry.name.lower().startswith(("threadkeep", "_editable", "_threadkeep"))
            if not own and not (others / entry.name).exists():
                (others / entry.name).symlink_to(entry)
    (site / "others.pth").write_text(f"{others}\n")
    return folder


@pytest.fixture(scope="module")
def stand_ins(
    databases: Databases, models: ModelEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """What the documents name that is not on this machine, and what stands for it here."""
    names = [databases.create(), databases.create(), databases.create()]
    own, encrypted, others = (databases.url(it) for it in names)
    file = tmp_path_factory.mktemp("sqlite") / "checkpoints.db"
    fill(others, file)
    yield {
        "postgres://user:password@host/database": own,
        "postgres://user:password@host/encrypted": encrypted,
        "postgres://me@db/agents": others,
        "sqlite:checkpoints.db": f"sqlite:{file}",
        "https://api.openai.com/v1": f"{models.url}/v1",
        "~/threadkeep/target/release/threadkeep": str(settings.BINARY),
        "sk-ant-…": "sk-ant-test",
        "sk-…": "sk-test",
    }
    for name in names:
        databases.drop(name)


@pytest.fixture
def reader(
    tmp_path: Path,
    installed: Path,
    models: ModelEndpoint,
    object_store: ObjectStore,
    stand_ins: dict[str, str],
) -> Iterator[Reader]:
    environment = {
        "PATH": f"{installed}/bin:{settings.OPENAPI_BIN}",
        "ANTHROPIC_BASE_URL": models.url,
        "ANTHROPIC_API_URL": models.url,
        "OPENAI_BASE_URL": f"{models.url}/v1",
        **object_store.environment(),
        "NODE_PATH": str(lend_claude(tmp_path)),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # The newest packages of one day, so that a release changes nothing here. The program of the Claude Agent SDK, which
        # is hundreds of megabytes, comes from the Python package that has it.
        "npm_config_before": NPM_BEFORE,
        "npm_config_omit": "optional",
        "npm_config_fund": "false",
        "npm_config_audit": "false",
        "npm_config_cache": npm_setting("cache"),
        "npm_config_userconfig": npm_setting("userconfig"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    found = Reader(tmp_path, stand_ins, environment)
    try:
        yield found
    finally:
        found.close()


def fill(url: str, file: Path) -> None:
    """Databases of LangGraph's savers, with a checkpoint each, to bring over."""
    config: Any = {"configurable": {"thread_id": "from-elsewhere", "checkpoint_ns": ""}}
    with (
        PostgresSaver.from_conn_string(url) as postgres,
        SqliteSaver.from_conn_string(str(file)) as sqlite,
    ):
        for saver in (postgres, sqlite):
            saver.setup()
            saver.put(config, empty_checkpoint(), {}, {})


def lend_claude(folder: Path) -> Path:
    """A folder of modules with the program of the Claude Agent SDK, which an installation without optional packages lacks."""
    kind = subprocess.check_output(
        ["node", "-p", "`${process.platform}-${process.arch}`"], text=True
    )
    modules = folder / "lent"
    package = modules / "@anthropic-ai" / f"claude-agent-sdk-{kind.strip()}"
    package.mkdir(parents=True)
    (package / "claude").symlink_to(Path(claude_agent_sdk.__file__).parent / "_bundled/claude")
    return modules


@cache
def npm_setting(name: str) -> str:
    """The user's own: a reader here has another home."""
    command = ["npm", "config", "get", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def read(reader: Reader, document: str) -> None:
    for _, section in groupby(blocks(settings.ROOT / document, document), lambda it: it.section):
        if wanted := [it for it in section if it.language in RUNS | {"json"}]:
            reader.read_section(wanted)


@pytest.mark.parametrize("book", BOOKS)
def test_every_block_runs(book: str, reader: Reader) -> None:
    for document in BOOKS[book]:
        read(reader, document)
    if book == "javascript":
        reader.read_section([Block("the installed package", "", "ts", CLASSES, 1)])
    reader.check_types()
    assert PRINTED[book] in reader.printed


def test_no_document_is_left_out() -> None:
    read_here = [it for book in BOOKS.values() for it in book]
    with_programs = {
        name
        for name in documents()
        if any(it.language in RUNS for it in blocks(settings.ROOT / name, name))
    }
    assert {*read_here, *ELSEWHERE} == with_programs


def test_python_package_installs_from_its_folder_in_an_empty_environment(tmp_path: Path) -> None:
    """With pip's own fetching and building, by the versions of the tests."""
    pins = re.findall(
        r"^[\w.-]+==\S+", (settings.ROOT / "tests/setup/requirements.txt").read_text(), re.M
    )
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    environment = {"PATH": os.environ["PATH"], "PIP_CONSTRAINT": str(tmp_path / "pins.txt")}
    environment |= {"HOME": os.environ["HOME"], "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    folder = settings.ROOT / "clients" / "python"
    install = [python, "-m", "pip", "install", "-q", folder]
    done = subprocess.run(install, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr

    imported = "from threadkeep.langgraph import ThreadkeepSaver as it; print(it.__module__)"
    done = subprocess.run([python, "-c", imported], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.startswith("threadkeep."), done.stderr


SECTION = [
    ("sh", "curl $THREADKEEP_URL/v1/nothing", "answers ['404']"),
    ("sh", "false | true", "ended with 1"),
    ("sh", "export KEY=tk_…", "nothing sets"),
    ("sh", "make -C ~/threadkeep no-such-target", "no-such-target"),
    ("python", "from threadkeep import NoSuchName", "NoSuchName"),
    ("ts", "const it = nobodySetsThis;", "nobodySetsThis is not defined"),
    ("json", "{", "JSONDecodeError"),
]


@pytest.mark.parametrize(("language", "text", "why"), SECTION)
def test_a_block_that_fails_is_told(language: str, text: str, why: str, reader: Reader) -> None:
    block = Block("a document", "a section", language, text, 1)
    with pytest.raises((BlockFailed, ValueError)) as failed:
        reader.read_section([block])
    assert why in f"{failed.value}{failed.type.__name__}"


@pytest.mark.parametrize(
    "text", ["```\nls\n```\n", "```bash\nls\n```\n", "Do:\n\n    ls\n", "```sh\nls\n"]
)
def test_a_block_without_a_language_is_an_error(text: str, tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(text)
    with pytest.raises(UnmarkedError):
        blocks(document, "README.md")


def test_two_scripts_may_use_one_name() -> None:
    made = program(
        ['import { a } from "m";\nconst it = a;', 'import { a, b } from "m";\nconst it = b;']
    )
    assert made.count("import") == 1
    assert made.count("const it") == 2
