/**
 * Keeps a job's letter directory (directory.ts) as the store has it. The store's events say which letters have changed
 * since the folder was written last; the index keeps how far that is, in the same file as the ids, so that whoever
 * writes last has written both. Doing it twice, or from two processes, comes to the same: each goes on until no
 * event is left after the one that it has written down.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Engine, LetterFilter, StoredLetter } from "../engine.ts";
import type { Event, EventType } from "../item/event.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import type { ItemState } from "../item/state.ts";
import type { JsonObject } from "../kit/json.ts";
import { Lane } from "../kit/lane.ts";
import {
  type FolderDocuments,
  jobFolder,
  makeFolder,
  openFolder,
  tidyFolder,
  WRITING_MAX,
  writeItem,
  writeSummary,
} from "./directory.ts";
import { readIndex } from "./directory-reader.ts";

export interface ProjectionOptions {
  readonly engine: Engine;
  /** The job whose letters they are; its queue has the same name. */
  readonly jobId: string;
  /** The job's folder lies in this one. */
  readonly root: string;
  /** Makes patterns.json and metrics.json. */
  readonly documents: () => Promise<FolderDocuments>;
  /** Told of every letter that has changed, as JSON; a letter that was deleted says so as `removed`. */
  readonly onChange?: (changes: readonly JsonObject[]) => Promise<void>;
}

/** What one catching up has written. */
export interface CaughtUp {
  /** Files of letters, written or removed. */
  readonly files: number;
  /** How often the index was written, and how many ids it has now. */
  readonly indexes: number;
  readonly items: number;
}

export class Projection {
  readonly folder: string;
  readonly #options: ProjectionOptions;
  /** Where the events go on while there is no folder to keep it in. */
  #cursor: number | undefined;
  #tidied: Promise<void> | undefined;

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.folder = jobFolder(options.root, options.jobId);
  }

  /** Whether there is a folder; it is made with the first letter. */
  get isThere(): boolean {
    return existsSync(this.folder);
  }

  /** One step towards what the store says, however much is changed meanwhile. */
  catchUp(): Promise<CaughtUp> {
    return this.#step({ changed: [] });
  }

  /**
   * Brings the folder to what the store says, and looks again until nothing is left, because another process may have
   * written an older state just after us. Also looks at what changes without an event of its own: the letters that
   * are being redriven, of which few are left at the end of a run, and those that are named.
   */
  async finish(changed: readonly string[] = []): Promise<CaughtUp> {
    let total = await this.#step({ changed: [...(await this.#onTheirWay()), ...changed] });
    for (;;) {
      const more = await this.#step({ changed: [] });
      total = sum(total, more);
      if (more.files === 0) return total;
    }
  }

  /** Writes everything anew and removes what does not belong. No folder is made for no letters. */
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

  async #step({ changed }: { readonly changed: readonly string[] }): Promise<CaughtUp> {
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
    if (files === 0 && newest - after < LOOKED_AT_MAX) return { files, indexes: 0, items: itemIds.size };
    await this.#summarise(newest, itemIds);
    return { files, indexes: 1, items: itemIds.size };
  }

  /** The items whose letters may have changed, with the last that was said about each, and how far that is. */
  async #touchedAfter(after: number, changed: readonly string[]): Promise<Touched> {
    const { engine, jobId } = this.#options;
    let newest = await engine.newestEvent();
    const touched = new Map<string, Touch>();
    for (let cursor = after; ; ) {
      const events = await engine.listEvents({ queue: jobId, types: TELLING, after: cursor, limit: PAGE });
      for (const event of events) {
        if (event.itemId !== undefined) touched.set(event.itemId, touch(event, touched.get(event.itemId)));
        for (const itemId of await this.#takenBack(event)) touched.set(itemId, UNTOLD);
      }
      cursor = events.at(-1)?.id ?? cursor;
      newest = Math.max(newest, cursor);
      if (events.length < PAGE) break;
    }
    for (const itemId of changed) if (!touched.has(itemId)) touched.set(itemId, UNTOLD);
    return { touched, newest };
  }

  async #onTheirWay(): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const letters of this.#pages({ states: ["ready", "leased"] })) {
      ids.push(...letters.map(({ itemId }) => itemId));
    }
    return ids;
  }

  /** A cancelled redrive makes those letters dead again that it had sent and nobody has begun. */
  async #takenBack({ type, data }: Event): Promise<readonly string[]> {
    if (type !== "operation_changed" || data?.status !== "cancelled") return [];
    const ids: string[] = [];
    for (let after = 0; ; ) {
      const query = { status: "refused", after, limit: PAGE } as const;
      const page = await this.#options.engine.listSelected(String(data.operation_id), query);
      ids.push(...page.map(({ itemId }) => itemId));
      after = page.at(-1)?.burial ?? after;
      if (page.length < PAGE) return ids;
    }
  }

  /** Writes or removes the file of each, and keeps the ids; returns how many there were. */
  async #write(touched: Touched["touched"], itemIds: Set<string>): Promise<number> {
    const all = [...touched.keys()];
    for (let at = 0; at < all.length; at += PAGE) {
      const ids = all.slice(at, at + PAGE);
      const letters = await this.#letters(ids);
      const isNew = ids.some((id) => waits(letters.get(id)));
      if (!this.isThere && !isNew) continue;
      const nameOf = await this.#makeFolder();
      const lane = new Lane(WRITING_MAX);
      for (const id of ids) {
        const letter = letters.get(id);
        const path = join(this.folder, "items", nameOf(id));
        if (!waits(letter) || touched.get(id)?.isNew) itemIds.delete(id);
        if (waits(letter)) itemIds.add(id);
        await lane.start(() => (waits(letter) ? writeItem(path, letter) : rm(path, { force: true })));
      }
      await lane.end();
      await this.#options.onChange?.(ids.map((id) => changeOf(id, letters.get(id), touched.get(id)?.last)));
    }
    return all.length;
  }

  /** Drafts of those who vanished are looked for once: that takes as long as the folder is large. */
  async #makeFolder(): Promise<(itemId: string) => string> {
    const nameOf = await makeFolder(this.folder);
    this.#tidied ??= tidyFolder(this.folder);
    await this.#tidied;
    return nameOf;
  }

  async #letters(itemIds: readonly string[]): Promise<ReadonlyMap<string, StoredLetter>> {
    const found = new Map<string, StoredLetter>();
    for await (const letters of this.#pages({ itemIds, states: LETTER_STATES })) {
      for (const letter of letters) found.set(letter.itemId, letter);
    }
    return found;
  }

  /** Oldest burial first. */
  async *#pages(filter: LetterFilter): AsyncGenerator<readonly StoredLetter[]> {
    const { engine, jobId } = this.#options;
    let cursor: string | null = null;
    do {
      const query = { ...filter, queue: jobId, order: "oldest", limit: PAGE } as const;
      const page = await engine.listLetters({ ...query, ...(cursor !== null && { cursor }) });
      if (page.letters.length > 0) yield page.letters;
      cursor = page.next;
    } while (cursor !== null);
  }

  async #summarise(cursor: number, itemIds: ReadonlySet<string>): Promise<void> {
    const { engine, jobId, documents } = this.#options;
    const now = await engine.now();
    await writeSummary(this.folder, { jobId, now, cursor, itemIds }, await documents());
  }
}

interface Touched {
  readonly touched: ReadonlyMap<string, Touch>;
  readonly newest: number;
}

/** What is known of a change before the letter itself is read. */
interface Touch {
  /** The last that was said of it. */
  readonly last?: Event;
  /** It was buried anew: its place is at the end. */
  readonly isNew: boolean;
}

const UNTOLD: Touch = { isNew: false };

function touch(event: Event, before: Touch = UNTOLD): Touch {
  return { last: event, isNew: before.isNew || event.type === "dlq_item_added" };
}

/** Small enough that a page of letters with long histories is no burden. */
const PAGE = 200;

/** With more events than these behind it, the index is written for its cursor alone: nobody looks at them again. */
const LOOKED_AT_MAX = 50_000;

/** After these a letter's file may say something else than the store. */
const TELLING: readonly EventType[] = [
  "dlq_item_added",
  "dlq_item_removed",
  "dlq_item_amended",
  "late_result", // it is evidence now
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

/** The letter as it is now; of one that was deleted, what is known of it. */
function changeOf(itemId: string, letter: StoredLetter | undefined, event: Event | undefined): JsonObject {
  if (letter !== undefined) return letterToJson(letter);
  const queue = event?.queue ?? "";
  return {
    item_id: itemId,
    job_id: queue,
    queue,
    state: "discarded",
    removed: event?.data?.why ?? "removed",
  };
}
