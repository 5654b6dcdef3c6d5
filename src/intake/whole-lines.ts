/**
 * Cuts a stream of bytes into blocks of whole lines that are valid UTF-8. A block holds many lines, so that checking
 * and decoding cost little per line.
 */
import { isUtf8 } from "node:buffer";
import { skipMark } from "./json-bytes.ts";
import { type Origin, RECORD_BYTES_MAX, recordTooLong } from "./origin.ts";
import { notUtf8 } from "./utf8.ts";

export interface LineBlock {
  /** Whole lines with their separators; only the input's last line may lack one. */
  readonly bytes: Buffer;
  /** The number of the first line, from 1. */
  readonly firstLine: number;
}

/** The byte that ends a line of text, or a record of NUL-separated input. */
export type Separator = 0x0a | 0x00;

/** Yields what is good, then throws at the first line that is too long or not UTF-8. */
export async function* wholeLines(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
  separator: Separator,
): AsyncGenerator<LineBlock> {
  let line = 1;
  for await (const joined of joinLines(chunks, separator)) {
    if (joined.tooLong) throw recordTooLong(origin, line);
    // In NUL-separated input a mark would be part of a file's name.
    const skipped = line === 1 && separator === 0x0a ? skipMark(joined.bytes) : 0;
    const bytes = joined.bytes.subarray(skipped);
    if (isUtf8(bytes)) yield { bytes, firstLine: line };
    else yield* untilNotUtf8({ bytes, firstLine: line }, origin, separator);
    line += count(bytes, separator);
  }
}

interface Joined {
  readonly bytes: Buffer;
  readonly tooLong: boolean;
}

/** Carries the line that a chunk leaves open over to the next one. */
async function* joinLines(chunks: AsyncIterable<Buffer>, separator: Separator): AsyncGenerator<Joined> {
  let open: Buffer[] = [];
  let openBytes = 0;
  for await (const chunk of chunks) {
    const firstEnd = chunk.indexOf(separator);
    const addedBytes = firstEnd < 0 ? chunk.length : firstEnd;
    if (openBytes + addedBytes > RECORD_BYTES_MAX) return yield { bytes: chunk, tooLong: true };
    if (firstEnd < 0) {
      open.push(chunk);
      openBytes += chunk.length;
      continue;
    }
    const end = chunk.lastIndexOf(separator) + 1;
    const whole = chunk.subarray(0, end);
    yield { bytes: openBytes === 0 ? whole : Buffer.concat([...open, whole]), tooLong: false };
    open = [chunk.subarray(end)];
    openBytes = chunk.length - end;
  }
  if (openBytes > 0) yield { bytes: Buffer.concat(open), tooLong: false };
}

function* untilNotUtf8(block: LineBlock, origin: Origin, separator: Separator): Generator<LineBlock> {
  const { bytes, firstLine } = block;
  let start = 0;
  for (let line = firstLine; start < bytes.length; line++) {
    const found = bytes.indexOf(separator, start);
    const end = found < 0 ? bytes.length : found + 1;
    if (!isUtf8(bytes.subarray(start, end))) {
      if (start > 0) yield { bytes: bytes.subarray(0, start), firstLine };
      throw notUtf8(origin, line);
    }
    start = end;
  }
}

function count(bytes: Buffer, separator: Separator): number {
  let found = 0;
  for (let index = 0; index < bytes.length; index++) if (bytes[index] === separator) found++;
  return found;
}
