/** Opens an input and gives its bytes, as they are asked for and no faster. It knows no formats. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { WorkError } from "../errors.ts";

export interface Input {
  /** How messages name it. */
  readonly name: string;
  /** False for a pipe or a device, whose name says nothing about what comes out. */
  readonly isFile: boolean;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Opens a file, or stdin for `-`. A path that cannot be opened is a usage error. */
export async function openInput(path: string, stdin: Readable, signal?: AbortSignal): Promise<Input> {
  if (path === "-") return { name: "stdin", isFile: false, chunks: bytesOf(stdin, "stdin", signal) };
  const { file, isFile } = await openFile(path);
  const stream = file.createReadStream({ highWaterMark: READ_BYTES });
  return { name: path, isFile, chunks: bytesOf(stream, path, signal) };
}

/**
 * Throws what `openInput` would, before anything is made for an input that cannot be opened. A pipe is not opened for
 * a look: its writer would lose its reader.
 */
export async function requireInput(path: string): Promise<void> {
  if (path === "-" || (await isPipe(path))) return;
  await (await openFile(path)).file.close();
}

const READ_BYTES = 64 * 1024;
/** A stream may hand over any amount at once; in smaller pieces a batch stays small too. */
const CHUNK_BYTES_MAX = 1024 * 1024;

async function isPipe(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // opening it says what is wrong
  return found?.isFIFO() ?? false;
}

async function openFile(path: string): Promise<{ file: FileHandle; isFile: boolean }> {
  const file = await open(path).catch((error: unknown) => {
    throw cannotOpen(path, error);
  });
  const found = await file.stat();
  if (!found.isDirectory()) return { file, isFile: found.isFile() };
  await file.close();
  throw new WorkError("usage", `the input "${path}" is a directory`, {
    hint: `Name a file, or pass the names in it: find "${path}" -type f -print0.`,
  });
}

function cannotOpen(path: string, error: unknown): WorkError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  const [problem, hint] = OPEN_PROBLEMS[code] ?? [`cannot be opened (${code})`, "Check the path."];
  return new WorkError("usage", `the input "${path}" ${problem}`, { hint, cause: error });
}

const OPEN_PROBLEMS: Readonly<Record<string, readonly [problem: string, hint: string]>> = {
  ENOENT: ["does not exist", "Check the path; - reads from stdin."],
  ENOTDIR: ["does not exist", "A part of the path is a file, not a directory."],
  EACCES: ["may not be read", "Give yourself permission to read it (chmod u+r), or run as another user."],
};

async function* bytesOf(stream: Readable, name: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  signal?.throwIfAborted();
  if (signal) addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield* pieces(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk));
  } catch (error) {
    signal?.throwIfAborted();
    throw new WorkError("input_invalid", `${name}: reading failed: ${messageOf(error)}`, {
      hint: "Run it again; items that were read before are known by their content.",
      cause: error,
    });
  }
}

function* pieces(chunk: Buffer): Generator<Buffer> {
  for (let start = 0; start < chunk.length; start += CHUNK_BYTES_MAX) {
    yield chunk.subarray(start, start + CHUNK_BYTES_MAX);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
