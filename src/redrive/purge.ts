/**
 * Deletes letters: a purge by a person or the retention rule, a clear of closed ones, an eviction at the limit. What is
 * deleted is archived first, unless that is not wanted, and every step is counted by the store. After a crash it goes
 * on where it was: nothing is archived twice, and nothing is deleted that is not in the archive.
 */
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ArchiveWriter, archivePath } from "../dead-letter/archive.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { itemLogsFolder } from "../item/item-path.ts";
import {
  type Operation,
  type OperationStep,
  operationToJson,
  REFUSAL,
  type SelectedLetter,
} from "../item/operation.ts";
import { lockOwner, takeLock } from "../kit/file-lock.ts";
import type { JsonObject } from "../kit/json.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";
import { beginSelected } from "./operation.ts";
import type { Selection } from "./select.ts";
import { selectionFor } from "./selection-for.ts";
import { workThrough } from "./work-through.ts";

export interface PurgeRequest {
  /** `clear` never touches a letter that waits; `evict` is the capacity rule's. */
  readonly kind: "purge" | "clear" | "evict";
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  /** Where archives and logs lie. */
  readonly home: string;
  /** Keep a copy. Default true. */
  readonly archive?: boolean;
  /** Why, for the books. */
  readonly reason?: string;
  /** Ends the work between two steps; the operation stays open. */
  readonly signal?: AbortSignal;
}

/** Deletes the letters that are selected now, and returns how it went; `archiveOf` says where they are kept. */
export async function purgeLetters(engine: Engine, request: PurgeRequest): Promise<Operation> {
  return continuePurge(engine, await begin(engine, request), request);
}

/** The file that the operation's letters were archived in; null when there is none. */
export function archiveOf({ progress }: Operation): { readonly path: string; readonly bytes: number } | null {
  const { archive, bytes } = progress;
  return typeof archive === "string" && typeof bytes === "number" ? { path: archive, bytes } : null;
}

/** The operation's document with the path of its archive. */
export function purgeToJson(operation: Operation): JsonObject {
  return { ...operationToJson(operation), archive: archiveOf(operation)?.path ?? null };
}

function begin(engine: Engine, request: PurgeRequest): Promise<Operation> {
  const { kind, queue, author, reason, signal } = request;
  return beginSelected(engine, {
    kind,
    queue,
    author,
    selection: selectionFor(kind, request.selection),
    plan: { archive: request.archive ?? true },
    signal,
    ...(reason !== undefined && { reason }),
  });
}

/** A letter may have megabytes of output in its history; so many fit into memory. */
const CHUNK_MAX = 200;

/** Works a purge, a clear or an eviction to its end from wherever it is. One process at a time; another is refused. */
export async function continuePurge(
  engine: Engine,
  operation: Operation,
  { home, signal }: { readonly home: string; readonly signal?: AbortSignal | undefined },
): Promise<Operation> {
  const path = archiveOf(operation)?.path ?? archivePath(home, operation.queue, operation.id);
  return alone(path, operation, async () => {
    const current = (await engine.findOperation(operation.id)) ?? operation;
    return new Purge(engine, current, { home, path }).run(signal);
  });
}

/** Two writers of one archive would spoil it. */
async function alone<T>(path: string, operation: Operation, work: () => Promise<T>): Promise<T> {
  const { id, plan, status, selected } = operation;
  if (status !== "selecting" && selected === 0) return work(); // there is nothing to archive
  if (plan.archive === false) return work();
  const lock = `${path}.lock`;
  await mkdir(dirname(lock), { recursive: true, mode: PRIVATE_FOLDER });
  const giveBack = takeLock(lock);
  if (giveBack === null) {
    const pid = lockOwner(lock)?.pid;
    throw new WorkError("job_running", `Process ${pid ?? "?"} is at the operation ${id}.`, {
      hint: `\`redrive ops show ${id}\` tells how far it is.`,
    });
  }
  try {
    return await work();
  } finally {
    giveBack();
  }
}

class Purge {
  readonly #engine: Engine;
  readonly #begun: Operation;
  readonly #home: string;
  readonly #path: string;
  #archive: ArchiveWriter | null = null;

  constructor(engine: Engine, begun: Operation, { home, path }: { home: string; path: string }) {
    this.#engine = engine;
    this.#begun = begun;
    this.#home = home;
    this.#path = path;
  }

  async run(signal?: AbortSignal): Promise<Operation> {
    await this.#removeLogsAgain();
    let chunk: readonly StoredLetter[] = [];
    try {
      return await workThrough(this.#engine, this.#begun, {
        chunkMax: CHUNK_MAX,
        signal,
        stepFor: async (pending, operation) => {
          chunk = await this.#read(pending);
          return this.#step(pending, chunk, operation);
        },
        onStep: () => this.#removeLogs(chunk),
      });
    } finally {
      await this.#archive?.close();
    }
  }

  /** Those that are where they were when they were selected. */
  async #read(pending: readonly SelectedLetter[]): Promise<readonly StoredLetter[]> {
    const letters: StoredLetter[] = [];
    for (const { ref, burial } of pending) {
      const letter = await this.#engine.readLetter(ref);
      if (letter?.burial === burial) letters.push(letter);
    }
    return letters;
  }

  /** A letter that changes after it was read is refused, for the archive has it as it was. */
  async #step(
    pending: readonly SelectedLetter[],
    chunk: readonly StoredLetter[],
    operation: Operation,
  ): Promise<OperationStep> {
    const revisions = new Map(chunk.map(({ burial, revision }) => [burial, revision]));
    const letters = pending.map(({ burial }) => {
      const revision = revisions.get(burial);
      return revision === undefined ? { burial, refuse: REFUSAL.gone } : { burial, revision };
    });
    const from = pending[0]?.burial ?? 0;
    const progress = { ...operation.progress, from };
    if (operation.plan.archive === false || chunk.length === 0) return { letters, progress };
    this.#archive ??= await ArchiveWriter.open(this.#path, archiveOf(operation)?.bytes ?? 0);
    const bytes = await this.#archive.append(chunk);
    return { letters, progress: { ...progress, archive: this.#path, bytes } };
  }

  /** Of letters that are gone from the store. The item of a resolved letter is still there, and keeps its logs. */
  async #removeLogs(chunk: readonly StoredLetter[]): Promise<void> {
    for (const { ref, state, itemId } of chunk) {
      if (state !== "done" && (await this.#engine.readLetter(ref)) === null) await this.#removeLog(itemId);
    }
  }

  /** A process that was killed after its last step left the logs of those letters. */
  async #removeLogsAgain(): Promise<void> {
    const { id, queue, progress } = this.#begun;
    if (typeof progress.from !== "number") return;
    const query = { status: "done", after: progress.from - 1, limit: CHUNK_MAX } as const;
    for (const { itemId } of await this.#engine.listSelected(id, query)) {
      const found = await this.#engine.findItems(itemId, { queue, limit: SAME_BEGINNING_MAX });
      const item = found.find((one) => one.itemId === itemId);
      if (item?.state === "discarded" && (await this.#engine.readLetter(item.ref)) === null)
        await this.#removeLog(itemId);
    }
  }

  #removeLog(itemId: string): Promise<void> {
    return rm(itemLogsFolder(this.#home, this.#begun.queue, itemId), { recursive: true, force: true });
  }
}

/** An item is looked for by its id, and found with those whose ids begin with it. */
const SAME_BEGINNING_MAX = 10;
