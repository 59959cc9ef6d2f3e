/** A server of JSON behind a `fetch` of its own: it answers what a test says, and keeps what it is sent. */

export interface JsonSeen {
  call: string;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what was sent
  body: any;
}

type Answer = object | { status: number; problem: object } | "lost" | undefined;

export class JsonServer {
  readonly seen: JsonSeen[] = [];
  /** Answers by method and path; a list is used up. */
  readonly answers = new Map<string, Answer | Answer[] | ((body: unknown) => Answer)>();
  /** When set, answers wait for it. */
  gate: Promise<void> | undefined;

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input));
    const call = `${init?.method} ${url.pathname}${url.search}`;
    const text = init?.body ? new TextDecoder().decode(init.body as Uint8Array) : "null";
    const body = JSON.parse(text);
    this.seen.push({ call, headers: new Headers(init?.headers), body });
    await this.gate;
    const found = this.answers.get(call);
    const answer = Array.isArray(found)
      ? found.shift()
      : typeof found === "function"
        ? found(body)
        : found;
    if (answer === "lost") throw new TypeError("fetch failed");
    if (answer === undefined) {
      const problem = { code: "session_not_found", detail: "no such session", title: "no" };
      return respond(404, problem, "application/problem+json");
    }
    if ("status" in answer && "problem" in answer) {
      return respond(answer.status, answer.problem, "application/problem+json");
    }
    return respond(200, answer, "application/json");
  };

  calls(): string[] {
    return this.seen.map(({ call }) => call);
  }
}

export function headMoved(): { status: number; problem: object } {
  return { status: 409, problem: { code: "head_moved", detail: "it moved", current_head: 9 } };
}

function respond(status: number, body: unknown, type: string): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
}
