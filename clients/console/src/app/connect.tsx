/** Shows the code that connects an agent to this server, and the newest thread as soon as there is one. */

import { useQuery } from "@tanstack/react-query";
import { mayList } from "../api/capabilities.js";
import { useApi } from "../api/context.js";
import { SERVER_URL } from "../api/server.js";
import { pythonLiteral, scriptLiteral, shellWord } from "../content/literals.js";
import { CodeTabs, type Samples } from "../parts/code.js";
import { Link } from "../parts/link.js";
import { Marked } from "../parts/marked.js";
import { useIsFollowed } from "./followed.js";

const WAITING_MS = 3_000;

export default function ConnectPage() {
  const { identity } = useApi();
  return (
    <>
      <header className="page-head">
        <h1>Connect an agent</h1>
      </header>
      <p>
        An agent keeps its threads here once it has the saver of threadkeep.{" "}
        {identity.credential === "local" ? (
          "This server needs no key."
        ) : (
          <>
            Its key is in the variable <code>THREADKEEP_API_KEY</code>:{" "}
            <code>threadkeep keys create --tenant {identity.tenant}</code> makes one.
          </>
        )}
      </p>
      <CodeTabs samples={samples(SERVER_URL)} label="Framework" />
      <FirstThread />
    </>
  );
}

function FirstThread() {
  const { client, identity } = useApi();
  const isFollowed = useIsFollowed();
  const { data } = useQuery({
    enabled: mayList(identity, "threads"),
    queryKey: ["threads", "first"],
    queryFn: ({ signal }) =>
      client.threads.search({ limit: 1, sort: "created", order: "desc", signal }),
    refetchInterval: isFollowed ? false : WAITING_MS,
  });
  const newest = data?.threads[0];
  return (
    <p role="status">
      {newest === undefined ? (
        "Waiting for the first checkpoint …"
      ) : (
        <>
          The newest thread:{" "}
          <Link to={{ page: "thread", threadId: newest.threadId, tab: "conversation" }}>
            <Marked text={newest.title || newest.threadId} />
          </Link>
        </>
      )}
    </p>
  );
}

function samples(url: string): Samples {
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
    curl: [
      `curl ${shellWord(`${url}/v1/threads/create`)} \\`,
      '  -H "Authorization: Bearer $THREADKEEP_API_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d ${shellWord('{"thread_id": "first", "title": "Hello"}')}`,
    ].join("\n"),
  };
}
