/** Shows the code that connects an agent to this server, makes a token for it, and opens the conversation of the first thread when it begins. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { mayList } from "../api/capabilities.js";
import { useApi } from "../api/context.js";
import { SERVER_URL } from "../api/server.js";
import { ActionBar } from "../parts/action.js";
import { CodeTabs } from "../parts/code.js";
import { Link } from "../parts/link.js";
import { Marked } from "../parts/marked.js";
import { connectSamples } from "./connect_samples.js";
import { ConnectToken } from "./connect_token.js";
import { ExampleSection } from "./example_section.js";
import { useIsFollowed } from "./followed.js";
import { navigate } from "./location.js";

const WAITING_MS = 3_000;

export function ConnectPage() {
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
            <code>threadkeep keys create --tenant {identity.tenant}</code> makes one, and so does
            the button below. The code never has it.
          </>
        )}
      </p>
      <ActionBar
        label="Actions of the connection"
        actions={[
          {
            label: "Make a token for the agent",
            needs: [{ operation: "mint_token" }],
            dialog: (close) => <ConnectToken close={close} />,
          },
        ]}
      />
      <CodeTabs samples={connectSamples(SERVER_URL)} label="Framework" />
      <FirstThread />
      <ExampleSection />
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
  const wasEmpty = useRef(false);
  useEffect(() => {
    if (data === undefined) return;
    if (newest === undefined) wasEmpty.current = true;
    else if (wasEmpty.current && newest.checkpointCount > 0) {
      navigate({ page: "thread", threadId: newest.threadId, tab: "conversation" });
    }
  }, [data, newest]);
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
