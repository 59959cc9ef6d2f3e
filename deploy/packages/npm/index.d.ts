/** A server that runs. Without a key it answers programs of this machine, as tenant `default`. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  /** The file with its log. */
  readonly log: string;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Options of `threadkeep serve`. */
  options?: readonly string[];
  /** Variables on top of those of this process. */
  env?: Readonly<Record<string, string>>;
}

/** The path of the program for this platform. */
export function program(): string;

/** Runs a server on a free port, with an embedded database in a temporary folder, until `stop()` or the end of this process. */
export function start(options?: StartOptions): Promise<Server>;
