/** Answers about sessions as MessagePack: the names that records of sessions are read from. */

export interface SessionShapes {
  CreatedSession: {
    created: boolean;
    user?: string | null;
    agent?: string | null;
    title?: string | null;
    created_at: string;
    updated_at: string;
  };
  Appended: {
    first_seq?: number | null;
    last_seq?: number | null;
    head: number;
    appended: number;
    document_version?: number | null;
  };
  Entry: { seq: number; id?: string | null; data: Uint8Array; at_ms: number };
  Entries: { entries: SessionShapes["Entry"][]; head: number; more: boolean };
  Stream: { stream: string; head: number; updated_at_ms: number };
  Session: {
    key: string[];
    user?: string | null;
    agent?: string | null;
    title?: string | null;
    created_at_ms: number;
    updated_at_ms: number;
  };
  SessionsPage: { sessions: SessionShapes["Session"][]; next_cursor?: string | null };
  StoredDocument: { version: number; updated_at_ms: number; size: number };
  Document: { content: string | Uint8Array; version: number; updated_at_ms: number; size: number };
  ListedDocument: { name: string; version: number; updated_at_ms: number; size: number };
  FoundDocument: {
    key: string[];
    content: string | Uint8Array;
    version: number;
    updated_at_ms: number;
  };
  FoundDocuments: { documents: SessionShapes["FoundDocument"][] };
  Compacted: { archive_id: string; head: number };
}
