/**
 * Keeps a job's letter directory in sync with the store. Events identify the changed letters; the index
 * records the last event. Several processes may do this at once: each repeats until there is no newer event.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Engine, LetterFilter, StoredLetter } from "../engine.ts";
import type { Event, EventType } from "../item/event.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import type { ItemState } from "../item/state.ts";
import type { JsonObject } from "../std/json.ts";
import { TimeSlice } from "../std/time-slice.ts";
import {
  type FolderDocuments,
  jobFolder,
  makeFolder,
  openFolder,
  readIndex,
  removeOldDrafts,
  writeItem,
  writeSummary,
} from "./directory.ts";
import { letterPages, selectedPages } from "./pages.ts";

export interface ProjectionOptions {
  readonly engine: Engine;
  readonly jobId: string;
  readonly root: string;
  readonly documents: () => Promise<FolderDocuments>;
  /** Called with every changed letter as JSON. A deleted letter has the field `removed`. */
  readonly onChange?: (changes: readonly JsonObject[]) => Promise<void>;
}

export interface CaughtUp {
  readonly files: number;
  /** How often the index was written, and how many ids it contains now. */
  readonly indexes: number;
  readonly items: number;
}

export class Projection {
  readonly folder: string;
  readonly #options: ProjectionOptions;
  readonly #slice = new TimeSlice();
  /** The newest event that was applied. Used while the folder has no index that records it. */
  #cursor: number | undefined;
  #cleanedUp: Promise<void> | undefined;

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.folder = jobFolder(options.root, options.jobId);
  }

  get isThere(): boolean {
    return existsSync(this.folder);
  }

  /** Applies all events that exist now, in one pass. */
  catchUp(): Promise<CaughtUp> {
    return this.#step({ changed: [] });
  }

  /**
   * Repeats until there are no new events, because another process may have written an older state in the
   * meantime. Also writes the given letters and letters in a redrive, which can change without an event.
   */
  async finish(changed: readonly string[] = []): Promise<CaughtUp> {
    let total = await this.#step({ changed: [...(await this.#itemsInRetry()), ...changed] });
    for (;;) {
      const more = await this.#step({ changed: [] });
      total = sum(total, more);
      if (more.files === 0) return total;
    }
  }

  /** Rewrites the whole folder and removes other files. Creates no folder if there are no letters. */
  async rebuild(): Promise<CaughtUp> {
    const { engine, jobId, root, documents, onChange } = this.#options;
    const cursor = await engine.newestEvent();
    if (!this.isThere && (await engine.listLetters({ queue: jobId, limit: 0 })).total === 0) {
      this.#cursor = cursor;
      return { files: 0, indexes: 0, items: 0 };
    }
    const writer = await openFolder(root, jobId);
    for await (const letters of this.#pages({})) {
      for (const letter of letters) await writer.write(letter);
      await onChange?.(letters.map(letterToJson));
    }
    const now = await engine.now();
    const { items } = await writer.finish({ now, cursor }, await documents());
    this.#cursor = undefined;
    return { files: items, indexes: 1, items };
  }

  async #step({ changed }: { changed: readonly string[] }): Promise<CaughtUp> {
    const index = await readIndex(this.folder);
    const after = index?.cursor ?? (this.isThere ? undefined : this.#cursor);
    if (after === undefined) return this.rebuild();
    const itemIds = new Set(index?.itemIds);
    const { touched, newest } = await this.#touchedAfter(after, changed);
    const files = touched.size === 0 ? 0 : await this.#write(touched, itemIds);
    if (!this.isThere) {
      this.#cursor = newest;
      return { files: 0, indexes: 0, items: 0 };
    }
    this.#cursor = undefined;
    if (files === 0 && newest - after < EVENTS_BEHIND_MAX) return { files, indexes: 0, items: itemIds.size };
    await this.#summarise(newest, itemIds);
    return { files, indexes: 1, items: itemIds.size };
  }

  /** The items whose letters may have changed, and the id of the newest event. */
  async #touchedAfter(after: number, changed: readonly string[]) {
    const { engine, jobId } = this.#options;
    let newest = await engine.newestEvent();
    const touched = new Map<string, Touch>();
    const query = { queue: jobId, types: CHANGING_EVENTS, limit: PAGE };
    for (let cursor = after; ; ) {
      const events = await engine.listEvents({ ...query, after: cursor });
      for (const event of events) {
        if (event.itemId !== undefined) touched.set(event.itemId, touch(event, touched.get(event.itemId)));
        for (const itemId of await this.#cancelledItems(event)) touched.set(itemId, NO_EVENT);
      }
      cursor = events.at(-1)?.id ?? cursor;
      newest = Math.max(newest, cursor);
      if (events.length < PAGE) break;
    }
    for (const itemId of changed) if (!touched.has(itemId)) touched.set(itemId, NO_EVENT);
    return { touched, newest };
  }

  async #itemsInRetry(): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const letters of this.#pages({ states: ["ready", "leased"] })) {
      ids.push(...letters.map(({ itemId }) => itemId));
    }
    return ids;
  }

  /** Returns the items of a cancelled redrive: its letters that were not leased yet are dead again. */
  async #cancelledItems({ type, data }: Event): Promise<readonly string[]> {
    if (type !== "operation_changed" || data?.status !== "cancelled") return [];
    const ids: string[] = [];
    for await (const page of selectedPages(this.#options.engine, String(data.operation_id), "refused")) {
      ids.push(...page.map(({ itemId }) => itemId));
    }
    return ids;
  }

  async #write(touched: ReadonlyMap<string, Touch>, itemIds: Set<string>): Promise<number> {
    const all = [...touched.keys()];
    for (let at = 0; at < all.length; at += PAGE) {
      const ids = all.slice(at, at + PAGE);
      const letters = await this.#letters(ids);
      const isNew = ids.some((id) => waits(letters.get(id)));
      if (!this.isThere && !isNew) continue;
      const nameOf = await this.#makeFolder();
      const changes: JsonObject[] = [];
      for (const id of ids) {
        const letter = letters.get(id);
        const path = join(this.folder, "items", nameOf(id));
        if (!waits(letter) || touched.get(id)?.isNew) itemIds.delete(id);
        if (waits(letter)) itemIds.add(id);
        const change = changeOf(id, letter, touched.get(id)?.last);
        if (waits(letter)) writeItem(path, change);
        else rmSync(path, { force: true });
        changes.push(change);
        await this.#slice.next();
      }
      await this.#options.onChange?.(changes);
    }
    return all.length;
  }

  /** Removes old temporary files only the first time, because listing a large folder takes time. */
  async #makeFolder(): Promise<(itemId: string) => string> {
    const nameOf = await makeFolder(this.folder);
    this.#cleanedUp ??= removeOldDrafts(this.folder);
    await this.#cleanedUp;
    return nameOf;
  }

  async #letters(itemIds: readonly string[]): Promise<ReadonlyMap<string, StoredLetter>> {
    const found = new Map<string, StoredLetter>();
    for await (const letters of this.#pages({ itemIds, states: LETTER_STATES })) {
      for (const letter of letters) found.set(letter.itemId, letter);
    }
    return found;
  }

  #pages(filter: LetterFilter) {
    const { engine, jobId } = this.#options;
    return letterPages(engine, { ...filter, queue: jobId, order: "oldest", limit: PAGE });
  }

  async #summarise(cursor: number, itemIds: ReadonlySet<string>): Promise<void> {
    const { engine, jobId, documents } = this.#options;
    const now = await engine.now();
    await writeSummary(this.folder, { jobId, now, cursor, itemIds }, await documents());
  }
}

/** `isNew`: the letter was buried again, which moves it to the end of the index. */
type Touch = { readonly last?: Event; readonly isNew: boolean };

const NO_EVENT: Touch = { isNew: false };

function touch(event: Event, before: Touch = NO_EVENT): Touch {
  return { last: event, isNew: before.isNew || event.type === "dlq_item_added" };
}

/** Limits memory use: letters may have long histories. */
const PAGE = 200;

/**
 * After this many events the index is rewritten to store its cursor, so that the events are not read again.
 */
const EVENTS_BEHIND_MAX = 50_000;

const CHANGING_EVENTS: readonly EventType[] = [
  "dlq_item_added",
  "dlq_item_removed",
  "dlq_item_amended",
  "late_result", // a late result is part of the letter
  "operation_changed",
];

const WAITING: readonly ItemState[] = ["dead", "ready", "leased"];
const LETTER_STATES: readonly ItemState[] = [...WAITING, "done", "discarded"];

function sum(one: CaughtUp, more: CaughtUp): CaughtUp {
  return { files: one.files + more.files, indexes: one.indexes + more.indexes, items: more.items };
}

function waits(letter: Letter | undefined): letter is Letter {
  return letter !== undefined && WAITING.includes(letter.state);
}

function changeOf(itemId: string, letter: StoredLetter | undefined, event: Event | undefined): JsonObject {
  if (letter !== undefined) return letterToJson(letter);
  const queue = event?.queue ?? "";
  const removed = event?.data?.why ?? "removed";
  return { item_id: itemId, job_id: queue, queue, state: "discarded", removed };
}
