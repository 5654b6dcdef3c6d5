/** Writes `global/`: `all-items.jsonl`, one line per change of a letter, and `retention-policy.json`. */
import { type FileHandle, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { toRfc3339 } from "../std/clock.ts";
import { PRIVATE_FOLDER, withFile, writeAtomically } from "../std/files.ts";
import { isJsonObject, type JsonObject, stringifyJson } from "../std/json.ts";

/** Appends one line per letter. Retries if another process replaced the file in the meantime. */
export async function appendLetters(folder: string, letters: readonly JsonObject[]): Promise<void> {
  if (letters.length === 0) return;
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const lines = letters.map((letter) => `${stringifyJson(letter)}\n`).join("");
  for (let isThere = false; !isThere; ) {
    isThere = await withFile(streamPath(folder), "a", async (handle) => {
      await handle.appendFile(lines);
      await handle.datasync();
      return isStill(handle, streamPath(folder));
    });
  }
}

/** Rewrites the file. Reads the end of the old file before and after the rename, so that no appended line is lost. */
export async function rewriteLetters(folder: string, letters: AsyncIterable<JsonObject>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const path = streamPath(folder);
  await withFile(path, "a+", async (old) => {
    let read = (await old.stat()).size;
    const rest = async () => {
      const text = await readFrom(old, read);
      read += text.length;
      return text;
    };
    await writeAtomically(path, linesOf(letters, rest));
    const late = await rest();
    if (late.length > 0) await withFile(path, "a", (handle) => handle.appendFile(late));
  });
}

/** Writes the policy for other tools unless the file contains it. Null means no limit. */
export async function updateRetentionPolicy(
  folder: string,
  { maxItems, retentionDays }: { maxItems: number | null; retentionDays: number | null },
  now: () => Promise<number>,
): Promise<void> {
  const path = join(folder, "retention-policy.json");
  const read = readFile(path, "utf8").then(JSON.parse);
  const found: unknown = await read.catch(() => null); // a missing or invalid file is written again
  if (isJsonObject(found) && found.max_items === maxItems && found.retention_days === retentionDays) return;
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const policy = { max_items: maxItems, retention_days: retentionDays, updated_at: toRfc3339(await now()) };
  await writeAtomically(path, `${JSON.stringify(policy, null, 2)}\n`);
}

const streamPath = (folder: string) => join(folder, "all-items.jsonl");

async function* linesOf(letters: AsyncIterable<JsonObject>, rest: () => Promise<Buffer>) {
  for await (const letter of letters) yield `${stringifyJson(letter)}\n`;
  yield await rest();
}

async function readFrom(handle: FileHandle, start: number): Promise<Buffer> {
  const { size } = await handle.stat();
  const buffer = Buffer.alloc(Math.max(0, size - start));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
  return buffer.subarray(0, bytesRead);
}

async function isStill(handle: FileHandle, path: string): Promise<boolean> {
  const [mine, named] = [await handle.stat(), await stat(path).catch(() => null)];
  return named !== null && mine.ino === named.ino && mine.dev === named.dev;
}
