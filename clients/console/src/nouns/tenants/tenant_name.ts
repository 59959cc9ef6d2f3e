/** Names of tenants. */

const LEGAL = /^[a-z0-9_-]{1,63}$/;

/** Whether a tenant may have this name. The server refuses any other one. */
export function isTenantName(text: string): boolean {
  return LEGAL.test(text);
}
