/** One server, two languages: what Python wrote is told apart and never mistaken. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { newSaver } from "../support/savers.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const PYTHON = `${ROOT}target/py/bin/python`;
const PROGRAM = `
from typing import TypedDict
from langgraph.graph import START, StateGraph
from threadkeep.langgraph import ThreadkeepSaver

class State(TypedDict):
    text: str

builder = StateGraph(State)
builder.add_node("node", lambda state: {"text": state["text"] + "!"})
builder.add_edge(START, "node")
builder.compile(checkpointer=ThreadkeepSaver()).invoke(
    {"text": "hello"}, {"configurable": {"thread_id": "python"}}
)
`;

describe.each(ENGINES)("on %s, a thread that Python wrote", (engine) => {
  it("is refused by name, and left out and counted among all", async () => {
    expect(existsSync(PYTHON), "tests/setup/python.sh makes it").toBe(true);
    const place = inject("servers")[engine];
    const apiKey = await newKey(place);
    const env = { ...cleanEnvironment(), PYTHONPATH: `${ROOT}clients/python/src` };
    execFileSync(PYTHON, ["-c", PROGRAM], {
      env: { ...env, THREADKEEP_URL: place.url, THREADKEEP_API_KEY: apiKey } as NodeJS.ProcessEnv,
      stdio: "pipe",
    });
    const saver = await newSaver(engine, { apiKey });
    await put(saver, "mine", checkpoint("c1"));
    await expect(saver.getTuple(config("python"))).rejects.toMatchObject({ name: "CodecError" });
    await expect(list(saver, "python")).rejects.toThrow(/Python/);
    expect((await list(saver)).map((one) => one.config.configurable?.["thread_id"])).toEqual([
      "mine",
    ]);
    expect(saver.foreignSkipped).toBe(3);
    await saver.copyThread("python", "copy");
    await saver.deleteThread("python");
    expect(await saver.getTuple(config("python"))).toBeUndefined();
  });
});
