/** Bodies and answers of the files calls, as they travel. */

interface Entry {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at: string;
  created_at?: string | null;
  media_type?: string | null;
  version?: number | null;
  etag?: string | null;
  sha256?: string | null;
}

export interface FileSchemas {
  Entry: Entry;
  Listing: { entries: Entry[]; next_cursor?: string | null };
  Matches: { matches: Entry[]; truncated: boolean; truncation_reason?: string | null };
  Line: { path: string; line: number; text: string };
  Lines: {
    matches: { path: string; line: number; text: string }[];
    truncated: boolean;
    truncation_reason?: string | null;
  };
  Written: { path: string; version: number; created: boolean };
  Appended: { path: string; version: number };
  Edited: { path: string; occurrences: number; version: number };
  Moved: { path: string; version?: number | null; files: number };
  Uploaded: { path: string; error?: string | null; version?: number | null };
  Downloaded: {
    path: string;
    error?: string | null;
    bytes?: Uint8Array | null;
    media_type?: string | null;
    version?: number | null;
    sha256?: string | null;
  };
  Window: {
    content?: string | null;
    bytes?: Uint8Array | null;
    encoding: string;
    created_at?: string | null;
    modified_at?: string | null;
    media_type: string;
    version: number;
    size: number;
    total_lines?: number | null;
    start_line?: number | null;
    end_line?: number | null;
    next_offset?: number | null;
  };
}

/** The calls until the server's document has them. */
export interface FileCalls {
  // biome-ignore lint/suspicious/noExplicitAny: checked where it is read
  read(path: string, body: object): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: checked where it is read
  once(path: string, body: object): Promise<any>;
}
