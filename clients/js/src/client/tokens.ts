/** `client.tokens`: make, narrow and revoke tokens. */

import type { CallOptions } from "../http/deadline.js";
import type { Calls } from "./calls.js";
import { type Grants, revokedToken, type Token, token } from "./records.js";

export interface TokenOptions extends CallOptions {
  /** Absent: what is the subject's own, or for `narrow` the same as before. */
  grants?: Grants | undefined;
  /** 1 to 86,400. Absent: an hour. */
  ttlSeconds?: number | undefined;
}

export class Tokens {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Make a token with this client's key, for a subject, or with grants, or both. */
  async mint(options: TokenOptions & { subject?: string | undefined }): Promise<Token> {
    const { subject, grants, ttlSeconds: ttl_seconds } = options;
    return token(
      await this.#calls.with(options).write("/v1/tokens", { subject, grants, ttl_seconds }),
    );
  }

  /** Make a token that may do no more than this client's key or token, and dies with it. */
  async narrow(options: TokenOptions): Promise<Token> {
    const { grants, ttlSeconds: ttl_seconds } = options;
    return token(
      await this.#calls.with(options).write("/v1/tokens/narrow", { grants, ttl_seconds }),
    );
  }

  /**
   * Revoke a token, and all that were narrowed from it, by its id or by its text; without either, the one in use. Answers
   * the id. Throws NotFoundError for a text that is not a token of yours.
   */
  async revoke(which: { tokenId?: string; token?: string } = {}): Promise<string> {
    const { tokenId: token_id, token } = which;
    const answer = await this.#calls.write("/v1/tokens/revoke", { token_id, token });
    return revokedToken(answer).tokenId;
  }
}
