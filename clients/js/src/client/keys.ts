/** `client.keys`: list, make and revoke the keys of the own tenant. */

import type { CallOptions } from "../http/deadline.js";
import type { Calls } from "./calls.js";
import { type CreatedKey, createdKey, type KeyPage, keyPage, revokedKey } from "./records.js";

export interface ListKeysOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface CreateKeyOptions extends CallOptions {
  /** For people: 1 to 100 bytes. */
  name?: string | undefined;
  /** Absent: the key has the whole tenant. */
  subject?: string | undefined;
  /** It reads what it would otherwise change. */
  readOnly?: boolean | undefined;
  /** It ends by itself after this time, and with it all tokens that were made with it. */
  ttlSeconds?: number | undefined;
}

export interface RevokeKeyOptions extends CallOptions {
  /** Also where it is the key of this client. */
  own?: boolean | undefined;
}

/** For keys of the whole tenant. */
export class Keys {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** One page of the keys in the order in which they were made, revoked ones too. */
  async list(options: ListKeysOptions = {}): Promise<KeyPage> {
    const { limit, cursor } = options;
    return keyPage(await this.#calls.with(options).get("/v1/keys", { limit, cursor }));
  }

  /** Make a key. Its text is answered once. */
  async create(options: CreateKeyOptions = {}): Promise<CreatedKey> {
    const { name, subject, readOnly: read_only, ttlSeconds: ttl_seconds } = options;
    return createdKey(
      await this.#calls.with(options).write("/v1/keys", { name, subject, read_only, ttl_seconds }),
    );
  }

  /** Revoke a key, and with it all tokens that were made with it. Answers its id. Can be repeated. */
  async revoke(keyId: string, options: RevokeKeyOptions = {}): Promise<string> {
    const body = { key_id: keyId, own: options.own };
    return revokedKey(await this.#calls.with(options).write("/v1/keys/revoke", body)).keyId;
  }
}
