/** Reads inputs by lines: plain text, NUL-separated records and JSON Lines. Blank lines are skipped. */
import { isUtf8 } from "node:buffer";
import {
  decodeUtf8,
  type IntakeRecord,
  invalidInput,
  notUtf8,
  type Origin,
  RECORD_BYTES_MAX,
  recordTooLong,
} from "./origin.ts";
import { parseInputJson, skipByteOrderMark } from "./parse-json.ts";

interface Line extends IntakeRecord {
  readonly data: string;
}

type Runs = AsyncGenerator<Iterable<IntakeRecord>>;
/** Reads lines that end with LF or CRLF. */
export async function* readLines(chunks: AsyncIterable<Buffer>, origin: Origin): Runs {
  for await (const block of wholeLines(chunks, origin, 0x0a)) {
    yield block.bytes.includes(0x00) ? untilNull(linesOf(block), origin) : linesOf(block);
  }
}

/** Reads records that end with a NUL byte. Line ends inside them are kept. */
export async function* readNullSeparated(chunks: AsyncIterable<Buffer>, origin: Origin): Runs {
  for await (const block of wholeLines(chunks, origin, 0x00)) yield recordsOf(block, "\0");
}

/** Yields the non-empty lines of a block, without line ends. */
export function* linesOf(block: LineBlock): Generator<Line> {
  for (const { data, line } of recordsOf(block, "\n")) {
    const text = data.endsWith("\r") ? data.slice(0, -1) : data;
    if (text !== "") yield { data: text, line };
  }
}

/** Refuses lines with a NUL byte, which an argument cannot contain. Most likely NUL separates the records. */
function* untilNull(lines: Iterable<Line>, origin: Origin): Generator<Line> {
  for (const line of lines) {
    if (!line.data.includes("\0")) yield line;
    else {
      throw invalidInput(origin, { line: line.line }, "the line contains a NUL byte", {
        hint: "If the records end with NUL bytes, as in the output of find -print0, use the format null.",
      });
    }
  }
}

function* recordsOf(block: LineBlock, separator: "\n" | "\0"): Generator<Line> {
  const text = decodeUtf8(block.bytes);
  let line = block.firstLine;
  for (let start = 0; start < text.length; line++) {
    const found = text.indexOf(separator, start);
    const end = found < 0 ? text.length : found;
    if (end > start) yield { data: text.slice(start, end), line };
    start = end + 1;
  }
}

interface LineBlock {
  /** Complete lines with their separators; only the last line of the input may have none. */
  readonly bytes: Buffer;
  /** The number of the first line, from 1. */
  readonly firstLine: number;
}

type Separator = 0x0a | 0x00;

/** Splits a stream into blocks of complete lines. Large blocks reduce the cost per line of checking and decoding UTF-8. */
export async function* wholeLines(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
  separator: Separator,
): AsyncGenerator<LineBlock> {
  let line = 1;
  for await (const joined of joinLines(chunks, separator)) {
    if (joined === "too long") throw recordTooLong(origin, line);
    // In NUL-separated input a byte order mark would be part of a file name.
    const skipped = line === 1 && separator === 0x0a ? skipByteOrderMark(joined) : 0;
    const bytes = joined.subarray(skipped);
    if (isUtf8(bytes)) yield { bytes, firstLine: line };
    else yield* untilNotUtf8({ bytes, firstLine: line }, origin, separator);
    line += count(bytes, separator);
  }
}

/** Joins lines that span several chunks. */
async function* joinLines(
  chunks: AsyncIterable<Buffer>,
  separator: Separator,
): AsyncGenerator<Buffer | "too long"> {
  let open: Buffer[] = [];
  let openBytes = 0;
  for await (const chunk of chunks) {
    const firstEnd = chunk.indexOf(separator);
    const addedBytes = firstEnd < 0 ? chunk.length : firstEnd;
    if (openBytes + addedBytes > RECORD_BYTES_MAX) return yield "too long";
    if (firstEnd < 0) {
      open.push(chunk);
      openBytes += chunk.length;
      continue;
    }
    const end = chunk.lastIndexOf(separator) + 1;
    const whole = chunk.subarray(0, end);
    yield openBytes === 0 ? whole : Buffer.concat([...open, whole]);
    open = [chunk.subarray(end)];
    openBytes = chunk.length - end;
  }
  if (openBytes > 0) yield Buffer.concat(open);
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

export async function* readJsonLines(chunks: AsyncIterable<Buffer>, origin: Origin): Runs {
  for await (const block of wholeLines(chunks, origin, 0x0a)) yield valuesOf(block, origin);
}

function* valuesOf(block: LineBlock, origin: Origin): Generator<IntakeRecord> {
  for (const { data: text, line } of linesOf(block)) {
    if (text.trim() !== "") yield { data: parseInputJson(text, origin, { line, column: 1 }), line };
  }
}
