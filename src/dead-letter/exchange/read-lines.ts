/** JSON Lines: each line is a record of its own, and one that cannot be read takes no other with it. */
import { isUtf8 } from "node:buffer";
import { skipMark } from "../../intake/json-bytes.ts";
import { RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { decodeUtf8 } from "../../intake/utf8.ts";
import { parseRecord } from "./parse-record.ts";
import type { Reading } from "./reading.ts";

const LINE_FEED = 0x0a;

/** Blank lines are passed over. */
export async function* readJsonLines(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<readonly Reading[]> {
  let first = 1;
  for await (const block of blocksOf(chunks)) {
    const [readings, lines] =
      block === TOO_LONG ? [[tooLong(file, first)], 1] : readBlock(block, file, first);
    yield readings;
    first += lines;
  }
}

/** In place of a line that is longer than any record may be. */
const TOO_LONG = Symbol("too long");

function tooLong(file: string, line: number): Reading {
  return { place: { file, line }, why: `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB` };
}

/** Whole lines, as many as a chunk completes. Of a line that is too long nothing is kept. */
async function* blocksOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | typeof TOO_LONG> {
  let open: Buffer[] = [];
  let openBytes = 0;
  let isSkipping = false;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const start = isSkipping ? chunk.indexOf(LINE_FEED) + 1 : 0;
    if (isSkipping && start === 0) continue;
    if (isSkipping) {
      yield TOO_LONG;
      isSkipping = false;
    }
    if (end > start)
      yield openBytes === 0 ? chunk.subarray(start, end) : Buffer.concat([...open, chunk.subarray(0, end)]);
    if (end > 0) [open, openBytes] = [[], 0];
    open.push(chunk.subarray(end));
    openBytes += chunk.length - end;
    if (openBytes > RECORD_BYTES_MAX) [open, openBytes, isSkipping] = [[], 0, true];
  }
  if (isSkipping) yield TOO_LONG;
  else if (openBytes > 0) yield Buffer.concat(open);
}

function readBlock(block: Buffer, file: string, firstLine: number): [Reading[], number] {
  const bytes = firstLine === 1 ? block.subarray(skipMark(block)) : block;
  const texts = isUtf8(bytes) ? decodeUtf8(bytes).split("\n") : [...textsOf(bytes)];
  const readings: Reading[] = [];
  for (const [index, text] of texts.entries()) {
    const place = { file, line: firstLine + index };
    if (text === undefined) readings.push({ place, why: "not valid UTF-8" });
    else if (text.trim() !== "") readings.push(parseRecord(text, place, text.length));
  }
  return [readings, texts.length - 1];
}

/** Line by line, undefined for one that is not UTF-8. */
function* textsOf(bytes: Buffer): Generator<string | undefined> {
  for (let start = 0; start <= bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, start);
    const line = bytes.subarray(start, found < 0 ? bytes.length : found);
    yield isUtf8(line) ? line.toString() : undefined;
    start = found < 0 ? bytes.length + 1 : found + 1;
  }
}
