/** Finds the field `items` of a JSON document whose beginning is known, without reading the rest of it. */
import { BYTE, skipMark, skipSpace } from "../../intake/json-bytes.ts";

const COLON = 0x3a;

/** Where the array of the outermost object's field `items` begins; undefined when these bytes do not say. */
export function itemsAt(head: Buffer): number | undefined {
  const start = skipSpace(head, skipMark(head));
  if (head[start] !== BYTE.openObject) return undefined;
  let depth = 0;
  for (let index = start; index < head.length; index++) {
    const byte = head[index];
    if (byte === BYTE.openObject || byte === BYTE.openArray) depth++;
    else if (byte === BYTE.closeObject || byte === BYTE.closeArray) depth--;
    else if (byte === BYTE.quote) {
      const end = endOfString(head, index);
      const array = depth === 1 ? arrayOf(head, index, end) : undefined;
      if (array !== undefined) return array;
      index = end;
    }
    if (depth === 0) return undefined;
  }
  return undefined;
}

/** Where the array starts if this string is the name `items` and an array is its value. */
function arrayOf(head: Buffer, start: number, end: number): number | undefined {
  if (head.toString("latin1", start, end + 1) !== '"items"') return undefined;
  const colon = skipSpace(head, end + 1);
  if (head[colon] !== COLON) return undefined;
  const value = skipSpace(head, colon + 1);
  return head[value] === BYTE.openArray ? value : undefined;
}

/** The index of the closing quote, or the length. */
function endOfString(head: Buffer, start: number): number {
  let index = start + 1;
  while (index < head.length && head[index] !== BYTE.quote) index += head[index] === BYTE.backslash ? 2 : 1;
  return index;
}
