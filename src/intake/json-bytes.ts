/** The bytes that JSON's structure is made of, for code that looks at it before it is decoded. */

export const BYTE = {
  lineFeed: 0x0a,
  quote: 0x22,
  comma: 0x2c,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** Space, tab, line feed, carriage return. */
export const JSON_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** The bytes that a JSON value can start with. */
export const VALUE_START: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn'));

/** The UTF-8 byte order mark, which some programs write in front of a text. */
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** True for a byte of the mark in its place at the start of the input. */
export function isMark(byte: number | undefined, offset: number): boolean {
  return byte !== undefined && MARK[offset] === byte;
}

/** How many bytes the mark at the start takes: 3, or 0 when there is none. */
export function skipMark(bytes: Buffer): 0 | 3 {
  return bytes.subarray(0, 3).equals(MARK) ? 3 : 0;
}

/** The index of the first byte from there on that is not white space; the length when there is none. */
export function skipSpace(bytes: Buffer, from: number): number {
  let index = from;
  while (index < bytes.length && JSON_SPACE.has(bytes[index] ?? 0)) index++;
  return index;
}
