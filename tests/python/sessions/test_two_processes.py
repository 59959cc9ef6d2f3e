"""A conversation that goes on in a second process, in another working directory.

The engine is scripted, the parts of the SDK are its own: what batches entries on their way to the store, and what
makes a transcript of the store's entries to resume from.
"""

import os
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

from support import settings
from support.server import Server, clean_environment

FIRST = """
    import asyncio, os, sys
    from claude_agent_sdk._internal.session_store import project_key_for_directory
    from claude_agent_sdk._internal.transcript_mirror_batcher import TranscriptMirrorBatcher
    from threadkeep.claude import ThreadkeepSessionStore

    SESSION = sys.argv[1]
    PROJECTS = os.path.join(os.getcwd(), "projects")
    MAIN = os.path.join(PROJECTS, project_key_for_directory(os.getcwd()), SESSION)

    async def failed(key, message):
        raise SystemExit(f"mirror_error: {message}")

    async def main():
        store = ThreadkeepSessionStore(project_key="agent")
        batcher = TranscriptMirrorBatcher(store, PROJECTS, failed)
        main, agent = f"{MAIN}.jsonl", f"{MAIN}/subagents/agent-7.jsonl"
        batcher.enqueue(main, [{"type": "queue-operation", "operation": "enqueue"}])
        batcher.enqueue(main, [{"type": "queue-operation", "operation": "dequeue"}])
        text = "Remember the password: AURORA-42. Reply: ACKNOWLEDGED."
        batcher.enqueue(main, [
            {"type": "user", "uuid": "u1", "message": {"role": "user", "content": text}},
            {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": "ACKNOWLEDGED."}},
        ])
        batcher.enqueue(agent, [{"type": "user", "uuid": "u1", "isSidechain": True}])
        await batcher.flush()
        # As after a timeout: what has an id comes again, with what has none.
        batcher.enqueue(main, [
            {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": "ACKNOWLEDGED."}},
            {"type": "last-prompt", "lastPrompt": text},
            {"type": "cost-state"},
        ])
        await batcher.close()

    asyncio.run(main())
    print("ACKNOWLEDGED.")
"""
SECOND = """
    import asyncio, json, os, sys
    from pathlib import Path
    from claude_agent_sdk import ClaudeAgentOptions
    from claude_agent_sdk._internal.session_resume import materialize_resume_session
    from threadkeep.claude import ThreadkeepSessionStore

    async def main():
        store = ThreadkeepSessionStore(project_key=sys.argv[2] or None)
        how = dict(resume=sys.argv[1]) if sys.argv[3] == "resume" else dict(continue_conversation=True)
        made = await materialize_resume_session(
            ClaudeAgentOptions(session_store=store, cwd=os.getcwd(), **how)
        )
        if made is None:
            return "No conversation found with session ID", 0, 0
        (transcript,) = Path(made.config_dir).glob(f"projects/*/{made.resume_session_id}.jsonl")
        lines = [json.loads(line) for line in transcript.read_text().splitlines()]
        subagents = list(Path(made.config_dir).glob("projects/*/*/subagents/agent-7.jsonl"))
        await made.cleanup()
        told = [it["message"]["content"] for it in lines if it["type"] == "user"]
        answer = "AURORA-42" if any("AURORA-42" in text for text in told) else "I do not know"
        return answer, len(lines), len(subagents)

    print(*asyncio.run(main()))
"""


def run(server: Server, key: str, folder: Path, program: str, *arguments: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    environment = clean_environment() | {
        "THREADKEEP_URL": server.url,
        "THREADKEEP_API_KEY": key,
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "ANTHROPIC_API_KEY": os.environ.get("ANTHROPIC_API_KEY", "unused"),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * settings.PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_password_is_known_in_another_directory(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    session = str(uuid.uuid4())
    assert run(server, api_key, tmp_path / "one", FIRST, session) == "ACKNOWLEDGED."
    for how in ("resume", "continue"):
        told = run(server, api_key, tmp_path / "two", SECOND, session, "agent", how)
        # Two operations, two messages of which one came twice, last-prompt and cost-state.
        assert told == "AURORA-42 6 1"
    # What the option is for: the SDK's own key is the directory.
    unpinned = run(server, api_key, tmp_path / "two", SECOND, session, "", "resume")
    assert unpinned == "No conversation found with session ID 0 0"


def test_another_tenant_finds_nothing(server: Server, api_key: str, tmp_path: Path) -> None:
    session = str(uuid.uuid4())
    run(server, api_key, tmp_path / "one", FIRST, session)
    told = run(server, server.new_key(), tmp_path / "two", SECOND, session, "agent", "resume")
    assert told == "No conversation found with session ID 0 0"
