/** SHA-256 of everything that `dist` is made of. */
export function sourcesDigest(): string;
