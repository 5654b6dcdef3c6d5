/** The end of an output as text that fits a record. */

/** Stands in front of a tail that is not the whole output. */
export const CUT_MARK = "… ";

/** UTF-8 with invalid bytes replaced and without NUL, which no store takes. `isWhole`: nothing came before it. */
export function tailText(bytes: Buffer, bytesMax: number, isWhole = true): string {
  if (isWhole && bytes.length <= bytesMax) return decode(bytes);
  const tail = bytes.subarray(Math.max(0, bytes.length - bytesMax));
  return CUT_MARK + decode(tail.subarray(brokenStartBytes(tail)));
}

function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.includes("\0") ? text.replaceAll("\0", "") : text;
}

/** How many bytes at the start belong to a character whose first byte was cut off: at most three. */
function brokenStartBytes(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && isContinuation(bytes[count])) count++;
  return count;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
