/**
 * Deletes letters after archiving them, for a purge, a `clear` of resolved letters or an eviction. After a
 * crash the operation resumes: no letter is archived twice, and every deleted letter is in the archive.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArchiveWriter, archiveFolder, archivePath } from "../dead-letter/archive.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { itemLogsFolder } from "../item/item.ts";
import { type LetterStep, type Operation, operationToJson, REFUSAL } from "../item/operation.ts";
import { isLockLeft, lockOwner, removeIfStale, takeLock } from "../std/file-lock.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import type { JsonObject } from "../std/json.ts";
import {
  type BulkRequest,
  beginSelected,
  type Interruptible,
  readSelected,
  workThrough,
} from "./operation.ts";
import { selectionFor } from "./select.ts";

/** The letters to delete and whether to archive them. */
export interface PurgeRequest extends BulkRequest {
  /** `clear` never deletes a waiting letter; `evict` enforces the size limit. */
  readonly kind: "purge" | "clear" | "evict";
  /** The home folder, which holds archives and logs. */
  readonly home: string;
  /** Whether to archive the letters first. Default true. */
  readonly archive?: boolean;
  readonly reason?: string;
}

/** Deletes the letters that match now. `archiveOf` returns the path of the archive. */
export async function purgeLetters(engine: Engine, request: PurgeRequest): Promise<Operation> {
  await finishAbandoned(engine, request);
  const { home, archive = true, ...bulk } = request;
  const selection = selectionFor(request.kind, request.selection);
  const begun = await beginSelected(engine, { ...bulk, selection, plan: { archive } });
  return continuePurge(engine, begun, request);
}

/**
 * Finishes purges whose process was killed on this machine, as shown by their lock files. A purge that a
 * person interrupted has no lock and stays open for `ops resume` or `ops cancel`.
 */
export async function finishAbandoned(
  engine: Engine,
  request: Interruptible & Pick<PurgeRequest, "queue" | "home">,
) {
  const folder = archiveFolder(request.home, request.queue);
  const names = await readdir(folder).catch(() => []); // the folder does not exist before the first archive
  const locks = names
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(".lock") && isLockLeft(path));
  if (locks.length === 0) return;
  for (const operation of await engine.listOperations({ queue: request.queue, open: true })) {
    if (!["purge", "clear", "evict"].includes(operation.kind) || operation.status !== "open") continue;
    const path = archiveOf(operation)?.path ?? archivePath(request.home, operation.queue, operation.id);
    if (locks.includes(`${path}.lock`)) await unlessRunning(() => continuePurge(engine, operation, request));
  }
  for (const lock of locks) removeIfStale(lock); // locks of operations that have ended or are paused
}

/** Ignores the error if another process has resumed the purge at the same time. */
async function unlessRunning(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RedriveError) || error.code !== "job_running") throw error;
  }
}

/** The operation's archive; null if it has none. */
export function archiveOf({ progress }: Operation): { readonly path: string; readonly bytes: number } | null {
  const { archive, bytes } = progress;
  return typeof archive === "string" && typeof bytes === "number" ? { path: archive, bytes } : null;
}

export function purgeToJson(operation: Operation): JsonObject {
  return { ...operationToJson(operation), archive: archiveOf(operation)?.path ?? null };
}

/** Limits memory use: the history of one letter may hold megabytes of output. */
const CHUNK_MAX = 200;

/** Runs the purge from its last completed step to the end. Throws if another process is running it. */
export async function continuePurge(
  engine: Engine,
  operation: Operation,
  { home, signal }: Interruptible & { home: string },
): Promise<Operation> {
  const path = archiveOf(operation)?.path ?? archivePath(home, operation.queue, operation.id);
  return alone(path, operation, async () => {
    const current = (await engine.findOperation(operation.id)) ?? operation;
    return runPurge(engine, current, { home, path, signal });
  });
}

/** Runs the work under a lock file, because two writers would corrupt the archive. */
async function alone<T>(path: string, operation: Operation, work: () => Promise<T>): Promise<T> {
  const { id, plan, status, selected } = operation;
  if (status !== "selecting" && selected === 0) return work(); // nothing to archive
  if (plan.archive === false) return work();
  const lock = `${path}.lock`;
  await mkdir(dirname(lock), { recursive: true, mode: PRIVATE_FOLDER });
  const release = takeLock(lock);
  if (release === null) {
    const pid = lockOwner(lock)?.pid;
    throw new RedriveError("job_running", `Process ${pid ?? "?"} is running operation ${id}.`, {
      hint: `Run \`redrive ops show ${id}\` to see its progress.`,
    });
  }
  try {
    return await work();
  } finally {
    release();
  }
}

async function runPurge(
  engine: Engine,
  begun: Operation,
  { home, path, signal }: Interruptible & { home: string; path: string },
) {
  const removeLog = (itemId: string) =>
    rm(itemLogsFolder(home, begun.queue, itemId), { recursive: true, force: true });
  for (const itemId of await deletedInLastStep(engine, begun)) await removeLog(itemId);
  let chunk: readonly StoredLetter[] = [];
  let archive: ArchiveWriter | undefined;
  try {
    return await workThrough(engine, begun, {
      chunkMax: CHUNK_MAX,
      signal,
      stepFor: async (pending, operation) => {
        const read = await Promise.all(pending.map((one) => readSelected(engine, one)));
        chunk = read.filter((letter) => letter !== null);
        // Deletes each letter only if it still has the archived revision.
        const letters = pending.map(({ letterSequence }, index): LetterStep => {
          const revision = read[index]?.revision;
          return { letterSequence, ...(revision === undefined ? { refuse: REFUSAL.gone } : { revision }) };
        });
        const progress = { ...operation.progress, from: pending[0]?.letterSequence ?? 0 };
        if (operation.plan.archive === false || chunk.length === 0) return { letters, progress };
        archive ??= await ArchiveWriter.open(path, archiveOf(operation)?.bytes ?? 0);
        return { letters, progress: { ...progress, archive: path, bytes: await archive.append(chunk) } };
      },
      // Only items of deleted letters lose their logs; the item of a resolved letter still exists.
      onStep: async () => {
        for (const { ref, state, itemId } of chunk)
          if (state !== "done" && (await engine.readLetter(ref)) === null) await removeLog(itemId);
      },
    });
  } finally {
    await archive?.close();
  }
}

/** Returns the items deleted in the last step: a process killed after it may not have deleted their logs. */
async function deletedInLastStep(engine: Engine, { id, queue, progress }: Operation) {
  if (typeof progress.from !== "number") return [];
  const deleted: string[] = [];
  const query = { status: "done", after: progress.from - 1, limit: CHUNK_MAX } as const;
  for (const { itemId } of await engine.listSelected(id, query)) {
    const found = await engine.findItems(itemId, { queue, limit: SAME_BEGINNING_MAX });
    const item = found.find((one) => one.itemId === itemId);
    if (item?.state === "discarded" && (await engine.readLetter(item.ref)) === null) deleted.push(itemId);
  }
  return deleted;
}

/** The lookup by id also returns items whose id begins with the given one. */
const SAME_BEGINNING_MAX = 10;
