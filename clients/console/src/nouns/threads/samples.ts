/** The views of a thread as code. */

import { methodText, pythonMethodText, samplesOf as samplesOfCall } from "../../api/snippets.js";
import type { ThreadRoute } from "../../app/route.js";
import type { Samples } from "../../parts/code.js";

export function samplesOf(route: ThreadRoute): Samples {
  switch (route.tab) {
    case "conversation":
      return newestMessages(route.threadId);
    case "timeline":
      return steps(route);
    case "state":
      return values(route, route.checkpoint);
    case "diff":
      return values(route, route.to);
    case "storage":
      return storage(route.threadId);
  }
}

function newestMessages(threadId: string): Samples {
  const query = { thread_id: threadId, channel: "messages", from: "-50", items_max: "50" };
  const options = { channels: ["messages"], from: -50, itemsMax: 50 };
  return samplesOfCall(
    { method: "GET", path: "/v1/checkpoints/values", query },
    { typescript: methodText("checkpoints.values", threadId, options) },
  );
}

function steps({ threadId, ns = "*" }: ThreadRoute): Samples {
  return samplesOfCall(
    {
      method: "POST",
      path: "/v1/checkpoints/timeline",
      body: { thread_id: threadId, checkpoint_ns: ns, limit: 200 },
    },
    {
      typescript: methodText("checkpoints.timeline", threadId, { checkpointNs: ns, limit: 200 }),
    },
  );
}

function storage(threadId: string): Samples {
  return samplesOfCall(
    { method: "GET", path: "/v1/threads/storage", query: { thread_id: threadId } },
    {
      typescript: methodText("threads.getStorage", threadId),
      python: pythonMethodText("get_thread_storage", [threadId], {}),
    },
  );
}

function values({ threadId, ns }: ThreadRoute, checkpointId: string | undefined): Samples {
  const query = { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpointId };
  const options = { checkpointNs: ns, checkpointId };
  return samplesOfCall(
    { method: "GET", path: "/v1/checkpoints/values", query },
    { typescript: methodText("checkpoints.values", threadId, options) },
  );
}
