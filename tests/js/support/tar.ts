/** Small tars, and what is in one. */

const BLOCK = 512;

/** A tar (ustar) of files by their names. */
export function tarOf(files: Record<string, string | Uint8Array>): Uint8Array {
  const parts = Object.entries(files).flatMap(([name, content]) => {
    const data = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const padding = new Uint8Array((BLOCK - (data.length % BLOCK)) % BLOCK);
    return [header(name, data.length), data, padding];
  });
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]));
}

function header(name: string, size: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write("0000644\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  block.write("00000000000\0", 136);
  block.write("        ", 148);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
