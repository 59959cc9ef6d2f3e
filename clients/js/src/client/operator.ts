/** `client.operator`: tenants with their keys, quotas and signing secrets, for keys of operators. */

import type { CallOptions } from "../http/deadline.js";
import type { Calls } from "./calls.js";
import type { CreateKeyOptions, ListKeysOptions, RevokeKeyOptions } from "./keys.js";
import {
  type CreatedKey,
  createdKey,
  type KeyPage,
  keyPage,
  type Quota,
  revokedKey,
  rotatedSecrets,
  type TenantPage,
  tenantPage,
  type Usage,
  usage,
} from "./records.js";

const KEYS = "/v1/operator/keys";

export interface ListTenantsOptions extends CallOptions {
  /** At most 100; default 20. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Names the tenant whose keys a call is about. Without it the call is about the keys of operators. */
export interface WhoseKeys {
  tenant?: string | undefined;
}

/** For keys of operators, who read the contents of no tenant. */
export class Operator {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** One page of the tenants in the order of their names, with what each has stored. */
  async tenants(options: ListTenantsOptions = {}): Promise<TenantPage> {
    const { limit, cursor } = options;
    const calls = this.#calls.with(options);
    return tenantPage(await calls.get("/v1/operator/tenants", { limit, cursor }));
  }

  /** What a tenant has and may have. NotFoundError for one that has nothing here. */
  async quota(tenant: string, options: CallOptions = {}): Promise<Usage> {
    return usage(await this.#calls.with(options).get("/v1/operator/quotas", { tenant }));
  }

  /** Replace a tenant's quota: what is absent is unlimited. */
  async setQuota(tenant: string, quota: Partial<Quota>, options: CallOptions = {}): Promise<Usage> {
    const body = {
      tenant,
      bytes_max: quota.bytesMax,
      threads_max: quota.threadsMax,
      items_max: quota.itemsMax,
      requests_per_second: quota.requestsPerSecond,
      requests_per_second_per_token: quota.requestsPerSecondPerToken,
    };
    return usage(await this.#calls.with(options).write("/v1/operator/quotas/put", body));
  }

  /** End all tokens of a tenant. Answers how many signing secrets were removed. */
  async rotateSecrets(tenant: string, options: CallOptions = {}): Promise<number> {
    const answer = this.#calls.with(options).write("/v1/operator/rotate-secrets", { tenant });
    return rotatedSecrets(await answer).removed;
  }

  /** One page of the keys in the order in which they were made, revoked ones too. */
  async listKeys(options: WhoseKeys & ListKeysOptions = {}): Promise<KeyPage> {
    const { limit, cursor } = options;
    return keyPage(await this.#calls.with(options).get(KEYS, { ...whose(options), limit, cursor }));
  }

  /** Make a key. The first one of a tenant makes the tenant. Its text is answered once. */
  async createKey(options: WhoseKeys & CreateKeyOptions = {}): Promise<CreatedKey> {
    const { name, subject, readOnly: read_only, ttlSeconds: ttl_seconds } = options;
    const body = { ...whose(options), name, subject, read_only, ttl_seconds };
    return createdKey(await this.#calls.with(options).write(KEYS, body));
  }

  /** Revoke a key, and with it all tokens that were made with it. Answers its id. Can be repeated. */
  async revokeKey(keyId: string, options: WhoseKeys & RevokeKeyOptions = {}): Promise<string> {
    const body = { ...whose(options), key_id: keyId, own: options.own };
    return revokedKey(await this.#calls.with(options).write(`${KEYS}/revoke`, body)).keyId;
  }
}

function whose({ tenant }: WhoseKeys) {
  return tenant === undefined ? { operators: true } : { tenant };
}
