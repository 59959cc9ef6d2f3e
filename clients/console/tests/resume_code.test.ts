/** The code that answers a question is right: Python's by Python, TypeScript's by running it. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decisionsOf,
  type Interrupt,
  questionOf,
  resumeCode,
  resumeValue,
} from "../src/content/interrupts.js";
import { pythonLiteral, scriptLiteral, shellWord } from "../src/content/literals.js";

function interruptsOf(agent: string): Interrupt[] {
  const path = new URL(`./fixtures/${agent}_agent.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).state.interrupts as Interrupt[];
}

/** What Python reads in an expression, as JSON. */
function readByPython(expressions: string[]): unknown[] {
  const program =
    "import ast, json, sys; print(json.dumps([ast.literal_eval(one) for one in json.load(sys.stdin)]))";
  const printed = execFileSync("python3", ["-c", program], {
    input: JSON.stringify(expressions),
    encoding: "utf8",
  });
  return JSON.parse(printed) as unknown[];
}

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });

describe("literals", () => {
  it("Python reads what was meant", () => {
    const values = [
      ...fc.sample(json, 200),
      "\u202e\u0000\ud800\u{e0001}'\"\\\n",
      [true, false, null, -1.5, {}],
    ];
    expect(readByPython(values.map(pythonLiteral))).toEqual(JSON.parse(JSON.stringify(values)));
  });

  it("JavaScript reads what was meant", () => {
    const read = (literal: string): unknown => runInNewContext(`(${literal})`);
    fc.assert(
      fc.property(json, (value) => {
        expect(read(scriptLiteral(value))).toEqual(value);
      }),
    );
    expect(Object.keys(read(scriptLiteral(JSON.parse('{"__proto__": 1}'))) as object)).toEqual([
      "__proto__",
    ]);
  });

  it("the shell reads what was meant", () => {
    const words = ["$THREADKEEP_API_KEY", "it's", "`id`", "a\nb", "\\", "!x"];
    const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${words.map(shellWord).join(" ")}`], {
      encoding: "utf8",
    });
    expect(printed.split("\0").slice(0, -1)).toEqual(words);
  });

  it("no hidden character stands in code", () => {
    const hidden = "\u202e\u200b\ufeff";
    for (const literal of [pythonLiteral(hidden), scriptLiteral(hidden)])
      expect(literal).toMatch(/^[\x20-\x7e]*$/);
  });
});

describe("questions of real agents", () => {
  it.each([
    ["python", "delete_all", ["approve", "edit", "reject", "respond"]],
    ["javascript", "search", ["approve", "edit", "reject"]],
  ])("%s", (agent, tool, decisions) => {
    const interrupts = interruptsOf(agent);
    expect(questionOf(interrupts[0]?.value)).toMatchObject({
      kind: "actions",
      dialect: agent,
      actions: [{ name: tool, args: { query: "boats" }, decisions }],
    });
    expect(decisionsOf(interrupts)).toEqual(decisions);
    expect(resumeValue(interrupts, "approve")).toEqual({ decisions: [{ type: "approve" }] });
  });

  it("an edit has the names of each language", () => {
    const edited = { name: "search", args: { query: "boats" } };
    expect(resumeValue(interruptsOf("javascript"), "edit")).toEqual({
      decisions: [{ type: "edit", editedAction: edited }],
    });
    expect(resumeValue(interruptsOf("python"), "edit")).toMatchObject({
      decisions: [{ edited_action: {} }],
    });
  });

  it("several questions are answered by their ids", () => {
    const asked = [
      { id: "a", value: "Which door?" },
      { id: "b", value: { question: "Why?" } },
    ];
    expect(resumeValue(asked, "approve")).toEqual({ a: "your answer", b: "your answer" });
  });

  it("the code names the thread, whatever its id is", () => {
    const id = "x\"; import os; os.system('id') #\u202e";
    const { python, typescript } = resumeCode(id, [{ id: "a", value: "Why?" }], "approve");
    const config = /^config = (.*)$/m.exec(python)?.[1] ?? "";
    expect(readByPython([config])).toEqual([{ configurable: { thread_id: id } }]);
    expect(typescript).toContain(scriptLiteral(id));
    expect(python).not.toContain("\u202e");
  });
});
