/** Plain text: every line, or every NUL-separated record, is an item whose data is that text. Empty ones are skipped. */
import { invalidInput, type Origin } from "./origin.ts";
import type { IntakeRecord } from "./record.ts";
import { decodeUtf8 } from "./utf8.ts";
import { type LineBlock, wholeLines } from "./whole-lines.ts";

interface Line extends IntakeRecord {
  readonly data: string;
}

/** Reads lines that end with LF or CRLF. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  for await (const block of wholeLines(chunks, origin, 0x0a)) {
    yield block.bytes.includes(0x00) ? untilNull(linesOf(block), origin) : linesOf(block);
  }
}

/** Reads records that end with a NUL byte. Line ends inside them are kept. */
export async function* readNullSeparated(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  for await (const block of wholeLines(chunks, origin, 0x00)) yield recordsOf(block, "\0");
}

/** The lines of a block that are not empty, without their ends. */
export function* linesOf(block: LineBlock): Generator<Line> {
  for (const { data, line } of recordsOf(block, "\n")) {
    const text = data.endsWith("\r") ? data.slice(0, -1) : data;
    if (text !== "") yield { data: text, line };
  }
}

/** No argument can hold a NUL byte. It most likely means that the records end with one. */
function* untilNull(lines: Iterable<Line>, origin: Origin): Generator<Line> {
  for (const line of lines) {
    if (!line.data.includes("\0")) yield line;
    else {
      throw invalidInput(origin, { line: line.line }, "the line has a NUL byte in it", {
        hint: "If the records end with NUL bytes, as find -print0 writes them, the format is null.",
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
