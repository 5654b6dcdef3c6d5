/**
 * The records of a folder of letters: one job's (`items/*.json`), a folder above several, a whole home of Prodigy or mmm,
 * or a folder of archives. No link is followed, so nothing outside of the folder can come in.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { WorkError } from "../../errors.ts";
import { openInput } from "../../intake/input.ts";
import { RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { isJsonObject } from "../../kit/json.ts";
import { type ItemsFolder, partsOf } from "./folder-parts.ts";
import { recordOf } from "./read-array.ts";
import { readFile } from "./read-file.ts";
import { isRefusal, type RawRecord, type Reading } from "./reading.ts";

/** Letters in files of their own first, then those in streams. */
export async function* readFolder(folder: string): AsyncGenerator<Iterable<Reading>> {
  const parts = await partsOf(folder);
  if (parts.items.length === 0 && parts.streams.length === 0) throw noLetters(folder);
  yield parts.links.map((file) => ({ place: { file }, why: LINK }));
  const ids = new Set<string>();
  for (const part of parts.items) {
    for await (const run of readItems(part)) {
      if (parts.streams.length > 0) for (const reading of run) keepId(reading, ids);
      yield run;
    }
  }
  for (const file of parts.streams) yield* readStream(file, ids);
}

const LINK = "a symbolic link, which is not followed";

function noLetters(folder: string): WorkError {
  return new WorkError("input_invalid", `${folder} has no letters: there is no folder items in it.`, {
    hint: "Name the folder of a job, which has items/ in it, or a folder above.",
  });
}

/** Small files: most of the time goes by waiting for each of them. */
const AT_ONCE = 32;

async function* readItems({ folder, names, job }: ItemsFolder): AsyncGenerator<readonly Reading[]> {
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const files = names.slice(start, start + AT_ONCE).map((name) => join(folder, name));
    const readings = await Promise.all(files.map(readItem));
    yield readings.flatMap((reading) => {
      if (reading === null) return [];
      return [isRefusal(reading) ? reading : { ...reading, folderJob: job }];
    });
  }
}

/** Null when it has left since the folder was listed. */
async function readItem(file: string): Promise<Reading | null> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile()) return { place: { file }, why: "not a file" };
    if (found.size > RECORD_BYTES_MAX) return { place: { file }, why: "longer than 64 MB" };
    return recordOf(await handle.readFile(), file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    return { place: { file }, why: code === "ELOOP" ? LINK : `cannot be read: ${message}` };
  } finally {
    await handle?.close();
  }
}

function keepId(reading: Reading, ids: Set<string>): void {
  if (!isRefusal(reading) && isJsonObject(reading.data)) ids.add(String(reading.data.item_id ?? ""));
}

/** A stream of all jobs' letters that does not say whose they are repeats those that have files of their own. */
async function* readStream(file: string, ids: ReadonlySet<string>): AsyncGenerator<Iterable<Reading>> {
  const { chunks } = await openInput(file, process.stdin);
  for await (const run of readFile(chunks, file)) yield marked(run, ids);
}

function* marked(run: Iterable<Reading>, ids: ReadonlySet<string>): Generator<Reading> {
  for (const reading of run) yield isRepeated(reading, ids) ? { ...reading, isRepeated: true } : reading;
}

function isRepeated(reading: Reading, ids: ReadonlySet<string>): reading is RawRecord {
  if (isRefusal(reading) || !isJsonObject(reading.data)) return false;
  return reading.data.job_id === undefined && ids.has(String(reading.data.item_id ?? ""));
}
