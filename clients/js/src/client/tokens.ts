/** `client.tokens`: list, make, narrow and revoke tokens. */

import type { CallOptions } from "../http/deadline.js";
import type { Calls } from "./calls.js";
import {
  type Grants,
  revokedToken,
  type Token,
  type TokenPage,
  token,
  tokenPage,
} from "./records.js";

export interface TokenOptions extends CallOptions {
  /** Absent: what is the subject's own, or for `narrow` the same as before. */
  grants?: Grants | undefined;
  /** 1 to 86,400. Absent: an hour. */
  ttlSeconds?: number | undefined;
}

export interface MintTokenOptions extends TokenOptions {
  subject?: string | undefined;
  /** Instead of grants: what the subject has, to read; without a subject, everything of the tenant. */
  readOnly?: boolean | undefined;
}

export interface ListTokensOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

export class Tokens {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Make a token with this client's key, for a subject, or with grants, or both. */
  async mint(options: MintTokenOptions): Promise<Token> {
    const { subject, grants, readOnly: read_only, ttlSeconds: ttl_seconds } = options;
    const body = { subject, grants, read_only, ttl_seconds };
    return token(await this.#calls.with(options).write("/v1/tokens", body));
  }

  /**
   * One page of the minted tokens that are still valid, newest first. Tokens that were narrowed are in no list. For credentials of the
   * whole tenant.
   */
  async list(options: ListTokensOptions = {}): Promise<TokenPage> {
    const { limit, cursor } = options;
    return tokenPage(await this.#calls.with(options).get("/v1/tokens", { limit, cursor }));
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
