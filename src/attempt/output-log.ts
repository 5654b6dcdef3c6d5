/**
 * Writes the log of an attempt, whose output may be far larger than memory:
 *
 *   == stdout (12 bytes) ==      a section only when there was any
 *   the bytes, and a newline if they do not end with one
 *   == stderr (5 bytes) ==
 *   the bytes, likewise
 *
 * Of a stream above its limit the first and the last part are kept; a line between them says what was dropped.
 */
import { closeSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";

/** A part of a stream: bytes at hand, or a range of a file. */
export type Piece = Buffer | { readonly path: string; readonly from: number; readonly bytes: number };

export interface LogStream {
  readonly name: "stdout" | "stderr";
  /** All that the command wrote. */
  readonly bytes: number;
  readonly head: readonly Piece[];
  /** What is missing between head and tail. */
  readonly droppedNote?: string;
  readonly tail: readonly Piece[];
}

/** Makes the folder and the file. What is at hand is written in one go; files are copied a chunk at a time. */
export async function writeLog(logPath: string, streams: readonly LogStream[]): Promise<void> {
  const parts = withLineEnds(streams.flatMap(partsOf));
  mkdirSync(dirname(logPath), { recursive: true });
  if (streams.every(isAtHand)) {
    writeFileSync(logPath, Buffer.concat([...parts]));
    return;
  }
  const log = await open(logPath, "w");
  try {
    for (const chunk of parts) await log.writeFile(chunk);
  } finally {
    await log.close();
  }
}

function isAtHand(stream: LogStream): boolean {
  return stream.head.every(Buffer.isBuffer) && stream.tail.every(Buffer.isBuffer);
}

/** A string is a line of ours, which starts on a new line. */
function partsOf(stream: LogStream): (string | Piece)[] {
  const note = stream.droppedNote === undefined ? [] : [`== ${stream.droppedNote} ==`];
  return [`== ${stream.name} (${stream.bytes} bytes) ==`, ...stream.head, ...note, ...stream.tail];
}

const NEWLINE = Buffer.from("\n");

function* withLineEnds(parts: readonly (string | Piece)[]): Generator<Buffer> {
  let last = NEWLINE[0];
  for (const part of [...parts, ""]) {
    if (typeof part === "string" && last !== NEWLINE[0]) yield NEWLINE;
    if (part === "") return;
    for (const chunk of typeof part === "string" ? [Buffer.from(`${part}\n`)] : chunksOf(part)) {
      last = chunk.at(-1) ?? last;
      yield chunk;
    }
  }
}

const CHUNK_BYTES = 256 * 1024;

/** The chunk that is given is used again for the next. */
function* chunksOf(piece: Piece): Generator<Buffer> {
  if (Buffer.isBuffer(piece)) {
    yield piece;
    return;
  }
  const fd = openSync(piece.path, "r");
  try {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, piece.bytes));
    for (let done = 0; done < piece.bytes; ) {
      const bytes = readSync(fd, chunk, 0, Math.min(chunk.length, piece.bytes - done), piece.from + done);
      if (bytes === 0) return;
      done += bytes;
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}
