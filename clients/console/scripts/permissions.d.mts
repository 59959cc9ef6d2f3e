export function declaredPermissions(): [operation: string, permission: string | null][];
export function permissionsSource(): string;
