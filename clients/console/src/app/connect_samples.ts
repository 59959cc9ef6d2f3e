/** The code that connects an agent, and the lines that give it its token. */

import { pythonLiteral, scriptLiteral, shellWord } from "../content/literals.js";
import type { Samples } from "../parts/code.js";

/** Returns the code for each framework. The key is in the variable THREADKEEP_API_KEY, so no code has one. */
export function connectSamples(url: string): Samples {
  return {
    "Python, deepagents": [
      "from deepagents import create_deep_agent",
      "from threadkeep.langgraph import ThreadkeepSaver",
      "",
      `agent = create_deep_agent(model=model, checkpointer=ThreadkeepSaver(${pythonLiteral(url)}))`,
      'config = {"configurable": {"thread_id": "first"}}',
      'agent.invoke({"messages": [("user", "Hello")]}, config)',
    ].join("\n"),
    "Python, LangGraph": [
      "from threadkeep.langgraph import ThreadkeepSaver",
      "",
      `graph = builder.compile(checkpointer=ThreadkeepSaver(${pythonLiteral(url)}))`,
      'graph.invoke(state, {"configurable": {"thread_id": "first"}})',
    ].join("\n"),
    JavaScript: [
      'import { createDeepAgent } from "deepagents";',
      'import { ThreadkeepSaver } from "threadkeep/langgraph";',
      "",
      `const checkpointer = new ThreadkeepSaver({ url: ${scriptLiteral(url)} });`,
      "const agent = createDeepAgent({ model, checkpointer });",
      'await agent.invoke({ messages: [["user", "Hello"]] }, { configurable: { thread_id: "first" } });',
    ].join("\n"),
    "Claude Agent SDK, Python": [
      "import asyncio",
      "",
      "from claude_agent_sdk import ClaudeAgentOptions, query",
      "from threadkeep.claude import ThreadkeepSessionStore",
      "",
      `store = ThreadkeepSessionStore(${pythonLiteral(url)}, project_key="first")`,
      "",
      "",
      "async def main():",
      '    async for message in query(prompt="Hello", options=ClaudeAgentOptions(session_store=store)):',
      "        print(message)",
      "",
      "",
      "asyncio.run(main())",
    ].join("\n"),
    "Claude Agent SDK, JavaScript": [
      'import { foldSessionSummary, query } from "@anthropic-ai/claude-agent-sdk";',
      'import { ThreadkeepSessionStore } from "threadkeep/claude";',
      "",
      "const sessionStore = new ThreadkeepSessionStore({",
      `  url: ${scriptLiteral(url)},`,
      '  projectKey: "first",',
      "  foldSummary: foldSessionSummary,",
      "});",
      'for await (const message of query({ prompt: "Hello", options: { sessionStore } })) {',
      "  console.log(message);",
      "}",
    ].join("\n"),
    curl: [
      `curl ${shellWord(`${url}/v1/threads/create`)} \\`,
      '  -H "Authorization: Bearer $THREADKEEP_API_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d ${shellWord('{"thread_id": "first", "title": "Hello"}')}`,
    ].join("\n"),
  };
}

/** The lines that a shell takes before the agent starts. They have the secret, so they are shown once. */
export function exportLines(url: string, secret: string): string {
  return [
    `export THREADKEEP_URL=${shellWord(url)}`,
    `export THREADKEEP_API_KEY=${shellWord(secret)}`,
  ].join("\n");
}
