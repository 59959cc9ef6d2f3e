/** The pages of operators, who administer all tenants and read the contents of none. They are loaded together. */

export { TenantPage } from "../nouns/tenants/tenant_page.js";
export { TenantsPage } from "../nouns/tenants/tenants_page.js";
export { OperatorsPage } from "../nouns/tokens/operators_page.js";
