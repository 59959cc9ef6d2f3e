/** Documents of sessions and users, and results of tools that were taken out of a conversation. */

import { segmentOf } from "../wire/ids.js";
import { randomId } from "../wire/random_id.js";
import { type AgentrailCalls, entriesOf, sessionPath, tenantPath, textIn } from "./calls.js";
import type { MemoryIndex, MemoryIndexEntry, MemoryScope } from "./contract.js";
import type { SessionPlace } from "./session_ref.js";

const SUMMARY = /<!--\s*summary:\s*(.+?)\s*-->/;
/** Characters at the start of a document that are searched for its summary. */
const SUMMARY_CHARACTERS = 512;
const BYTES_OF_TOKEN = 3;

/** The owner of a document. `scope` says whether `ownerId` is the id of a session or of a user. */
export interface Owner {
  tenantId: string;
  ownerId: string;
  scope: MemoryScope;
}

export class Memory {
  readonly #calls: AgentrailCalls;

  constructor(calls: AgentrailCalls) {
    this.#calls = calls;
  }

  async read(owner: Owner, name: string): Promise<string | null> {
    const found = await this.#calls.find(documentPath(owner, name));
    return found ? textIn(found, "content") : null;
  }

  async write(owner: Owner, name: string, content: string): Promise<void> {
    await this.#calls.send(documentPath(owner, name), { content }, { method: "PUT" });
  }

  /** In one step: two at once are both there afterwards. */
  async append(owner: Owner, name: string, content: string): Promise<void> {
    const idempotencyKey = randomId();
    const path = `${documentPath(owner, name)}/append`;
    await this.#calls.send(path, { content }, { idempotencyKey });
  }

  /** What an agent is told about its documents, always three and in this order. */
  async index(tenantId: string, userId: string, sessionId: string): Promise<MemoryIndex> {
    const session: Owner = { tenantId, ownerId: sessionId, scope: "session" };
    const user: Owner = { tenantId, ownerId: userId, scope: "user" };
    const entries = await Promise.all([
      this.#entry(session, "NOTES.md"),
      this.#entry(session, "TODO.md"),
      this.#entry(user, "USER.md"),
    ]);
    return { entries };
  }

  async readArtifact(place: SessionPlace, toolCallId: string): Promise<string | null> {
    const found = await this.#calls.find(artifactPath(place, toolCallId));
    return found ? textIn(found, "content") : null;
  }

  async writeArtifact(place: SessionPlace, toolCallId: string, content: string): Promise<void> {
    await this.#calls.send(artifactPath(place, toolCallId), { content }, { method: "PUT" });
  }

  async artifactIds(place: SessionPlace): Promise<string[]> {
    const found = await this.#calls.find(sessionPath(place, "artifacts"));
    return found ? entriesOf<string>(found, "artifacts") : [];
  }

  async #entry(owner: Owner, name: string): Promise<MemoryIndexEntry> {
    const found = await this.#calls.find(documentPath(owner, name));
    const path = `/workspace/memo/${owner.scope}/${name}`;
    if (!found) {
      return {
        name,
        path,
        exists: false,
        sizeTokensApprox: 0,
        updatedAt: null,
        summary: null,
      };
    }
    const content = textIn(found, "content");
    const { updatedAt } = found;
    return {
      name,
      path,
      exists: true,
      sizeTokensApprox: Math.ceil(new TextEncoder().encode(content).length / BYTES_OF_TOKEN),
      updatedAt: typeof updatedAt === "number" ? updatedAt : null,
      summary: SUMMARY.exec(content.slice(0, SUMMARY_CHARACTERS))?.[1] ?? null,
    };
  }
}

function documentPath({ tenantId, ownerId, scope }: Owner, name: string): string {
  const owner = segmentOf(ownerId, "ownerId");
  return tenantPath(tenantId, "memo", segmentOf(scope, "scope"), owner, segmentOf(name, "name"));
}

function artifactPath(place: SessionPlace, toolCallId: string): string {
  return sessionPath(place, "artifacts", segmentOf(toolCallId, "toolCallId"));
}
