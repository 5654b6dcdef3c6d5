/** Reads whole inputs for the tests of this stage: from bytes cut into any pieces, or from a file in a fresh directory. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import { type InputSource, type ReadOptions, readItems } from "../../src/intake/read-items.ts";
import type { Json } from "../../src/std/json.ts";

export interface Everything {
  readonly data: Json[];
  readonly ids: string[];
  readonly batchSizes: number[];
  readonly read: number;
  readonly duplicates: number;
  /** What ended the reading, when something did. */
  readonly error: RedriveError | undefined;
}

type Options = Omit<InputSource, "path"> & Omit<ReadOptions, "stdin">;

/** Reads the bytes as stdin. */
export function readBytes(input: string | Uint8Array | readonly Uint8Array[], options: Options = {}) {
  const pieces = typeof input === "string" || input instanceof Uint8Array ? [Buffer.from(input)] : input;
  return readAll(
    { path: "-", ...options },
    { ...options, stdin: Readable.from(pieces, { objectMode: false }) },
  );
}

/** Reads a file of that name and content. */
export async function readFile(name: string, content: string | Uint8Array, options: Options = {}) {
  const path = join(await freshDirectory(), name);
  await writeFile(path, content);
  return { path, ...(await readAll({ path, ...options }, options)) };
}

/** A directory that is removed after the test. */
export async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "redrive-intake-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

/** Takes every batch. A `RedriveError` is part of the answer; anything else is a bug and is thrown. */
export async function readAll(source: InputSource, options: ReadOptions = {}): Promise<Everything> {
  const data: Json[] = [];
  const ids: string[] = [];
  const batchSizes: number[] = [];
  let counts = { read: 0, duplicates: 0 };
  let error: RedriveError | undefined;
  try {
    for await (const { items, read, duplicates } of readItems(source, options)) {
      batchSizes.push(items.length);
      for (const item of items) {
        data.push(item.data);
        ids.push(item.itemId);
      }
      counts = { read, duplicates };
    }
  } catch (caught) {
    if (!(caught instanceof RedriveError)) throw caught;
    error = caught;
  }
  return { data, ids, batchSizes, ...counts, error };
}

/** The bytes in pieces of the given sizes, used in turn. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? bytes.length);
    pieces.push(bytes.subarray(start, start + size));
    start += size;
  }
  return pieces;
}
