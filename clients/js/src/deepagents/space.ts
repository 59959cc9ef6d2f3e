/** The files of one backend: a connection, the namespace that an operation is for, and the folder that its paths begin in. */

import { Calls } from "../client/calls.js";
import { Files } from "../client/files.js";
import { InvalidError } from "../errors.js";
import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { labelsOfPut } from "../langgraph/namespaces.js";
import { type BackendContext, contextNow } from "./context.js";

/** An array of labels, or a function that answers one in each operation. */
export type NamespaceOption =
  | readonly string[]
  | ((context: BackendContext) => readonly string[] | Promise<readonly string[]>);

export interface ThreadkeepBackendOptions extends ConnectionOptions {
  /** Where the files live, as StoreBackend takes it. */
  namespace: NamespaceOption;
  /** A folder of the namespace: what is `/x` here is `/folder/x` there. Default: all of it. */
  root?: string | undefined;
}

/** Constructing opens nothing, and throws for a namespace that cannot be one. */
export class Space {
  /** Where the server is. Holds no secret. */
  readonly url: string;
  readonly #files: Files;
  readonly #namespace: NamespaceOption;
  readonly #root: string;

  constructor(options: ThreadkeepBackendOptions) {
    const { namespace, root = "" } = options ?? {};
    if (!namespace) throw new InvalidError("there is no namespace", { field: "namespace" });
    if (root !== "" && !root.startsWith("/")) {
      throw new InvalidError("root must begin with /", { field: "root" });
    }
    this.#namespace = typeof namespace === "function" ? namespace : labelsOfPut(namespace);
    this.#root = root.replace(/\/+$/, "");
    const connection = new Connection(settingsOf(options));
    this.url = connection.url;
    this.#files = new Files(new Calls(connection));
  }

  /** Something with the files of the namespace that it is now. */
  async run<T>(work: (files: Files, namespace: readonly string[]) => Promise<T>): Promise<T> {
    const namespace =
      typeof this.#namespace === "function"
        ? labelsOfPut(await this.#namespace(contextNow()))
        : this.#namespace;
    return await work(this.#files, namespace);
  }

  /** A path as the namespace has it. */
  inner(path: string): string {
    if (this.#root === "" || typeof path !== "string") return path;
    const below = path.startsWith("/") ? path : `/${path}`;
    return below === "/" ? this.#root : this.#root + below;
  }

  /** Entries of the namespace, with their paths as they are here. */
  outer<T extends { path: string }>(found: readonly T[]): T[] {
    const { length } = this.#root;
    return found.map((one) => ({ ...one, path: one.path.slice(length) }));
  }
}
