/** The calls about keys: of the caller's tenant, or with the key of an operator of any tenant and of operators. */

import type { Client, CreatedKey, CreateKeyOptions, KeyPage, ListKeysOptions } from "threadkeep";
import type { Operation } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";

/** `own`: the tenant of the caller. The others are for operators. */
export type KeyOwner = "own" | "operators" | { tenant: string };

interface KeyCalls {
  list: (options: ListKeysOptions) => Promise<KeyPage>;
  create: (options: CreateKeyOptions) => Promise<CreatedKey>;
  revoke: (keyId: string) => Promise<string>;
}

interface KeyOperations {
  create: Operation;
  revoke: Operation;
}

export function operationsOn(owner: KeyOwner): KeyOperations {
  return owner === "own"
    ? { create: "create_key", revoke: "revoke_key" }
    : { create: "create_tenant_key", revoke: "revoke_tenant_key" };
}

export function useKeyCalls(owner: KeyOwner): KeyCalls {
  return callsOn(useApi().client, owner);
}

function callsOn({ keys, operator }: Client, owner: KeyOwner): KeyCalls {
  if (owner === "own") {
    return {
      list: (options) => keys.list(options),
      create: (options) => keys.create(options),
      revoke: (keyId) => keys.revoke(keyId),
    };
  }
  const whose = owner === "operators" ? {} : owner;
  return {
    list: (options) => operator.listKeys({ ...options, ...whose }),
    create: (options) => operator.createKey({ ...options, ...whose }),
    revoke: (keyId) => operator.revokeKey(keyId, whose),
  };
}
