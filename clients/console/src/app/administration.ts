/** The pages that administer a tenant, and the one that connects an agent. They are loaded together, because who opens one mostly opens the others. */

export { default as AuditPage } from "../nouns/tenants/audit_page.js";
export { default as UsagePage } from "../nouns/tenants/usage_page.js";
export { default as RetentionPage } from "../nouns/threads/retention_page.js";
export { default as AccessPage } from "../nouns/tokens/access_page.js";
export { ConnectPage } from "./connect.js";
export { HealthPage } from "./health_page.js";
