/**
 * The book of alerts as one watcher sees it. The store has the truth; while it cannot be written, what this watcher does is
 * kept here and written into whatever the store has by then. One change at a time, each by compare-and-set.
 */
import type { Engine } from "../engine.ts";
import { isStoreError, WorkError } from "../errors.ts";
import { canonicalJson } from "../kit/json.ts";
import { type AlertBook, bookFromJson, bookToJson, EMPTY_BOOK } from "./alert-book.ts";

/** The document of the store. */
export const BOOK_NAME = "watch/alerts";

export type Change = (book: AlertBook) => AlertBook;

/** Each try means that another watcher was there first; more than a few in a row are not met. */
const TRIES_MAX = 50;

/** When more is unheard, it becomes one change that overrules what others did meanwhile. */
const UNHEARD_MAX = 100;

export class SharedBook {
  /** As it was last seen, with what the store has not heard yet. */
  #known: AlertBook = EMPTY_BOOK;
  #unheard: readonly Change[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** What the store has, with what it has not heard yet. */
  async read(engine: Engine): Promise<AlertBook> {
    const { book } = await this.#look(engine);
    return book;
  }

  /** Changes it in the store. Null stands for a store that cannot be reached; then, and when it cannot be written, it is changed here. */
  change(engine: Engine | null, change: Change): Promise<{ book: AlertBook; trouble: WorkError | null }> {
    const made = this.#last.then(() => this.#change(engine, change));
    this.#last = made.catch(() => undefined); // whoever asked is told
    return made;
  }

  async #change(engine: Engine | null, change: Change) {
    if (engine === null) return { book: this.#keep(change), trouble: null };
    try {
      return { book: await this.#write(engine, change), trouble: null };
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return { book: this.#keep(change), trouble: error };
    }
  }

  async #write(engine: Engine, change: Change): Promise<AlertBook> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const { book, version, stored } = await this.#look(engine);
      const next = change(book);
      const isNews = canonicalJson(bookToJson(next)) !== canonicalJson(bookToJson(stored));
      if (isNews && !(await engine.writeDocument(BOOK_NAME, { seen: version, body: bookToJson(next) })))
        continue;
      this.#unheard = [];
      this.#known = next;
      return next;
    }
    throw new WorkError("store_busy", `Other watchers kept changing ${BOOK_NAME}.`, {
      hint: "Are many watchers at work on this store? One or two are enough.",
    });
  }

  async #look(engine: Engine): Promise<{ book: AlertBook; stored: AlertBook; version: number }> {
    const document = await engine.readDocument(BOOK_NAME);
    const stored = bookFromJson(document?.body);
    const book = this.#unheard.reduce((before, change) => change(before), stored);
    this.#known = book;
    return { book, stored, version: document?.version ?? 0 };
  }

  /** What changes nothing is not kept: a store may be away for long. */
  #keep(change: Change): AlertBook {
    const next = change(this.#known);
    const isNews = canonicalJson(bookToJson(next)) !== canonicalJson(bookToJson(this.#known));
    this.#known = next;
    if (isNews)
      this.#unheard = this.#unheard.length < UNHEARD_MAX ? [...this.#unheard, change] : [() => next];
    return next;
  }
}
