/** MessagePack of answers that a test makes up. */

type Value = string | number | boolean | readonly Value[] | { readonly [name: string]: Value };

export function packed(value: Value): Buffer {
  if (typeof value === "boolean") return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === "number") {
    const made = Buffer.from([0xcf, ...new Uint8Array(8)]);
    made.writeBigUInt64BE(BigInt(value), 1);
    return made;
  }
  if (typeof value === "string") {
    const text = Buffer.from(value);
    return Buffer.concat([sized(0xdb, text.length), text]);
  }
  if (isList(value)) return Buffer.concat([sized(0xdd, value.length), ...value.map(packed)]);
  const entries = Object.entries(value);
  return Buffer.concat([sized(0xdf, entries.length), ...entries.flat().map(packed)]);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function sized(type: number, size: number): Buffer {
  const made = Buffer.from([type, 0, 0, 0, 0]);
  made.writeUInt32BE(size, 1);
  return made;
}
