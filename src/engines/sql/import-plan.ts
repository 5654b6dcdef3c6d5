/**
 * Plans an import before anything is written. Letters are taken one after another, so that the second letter of an item
 * finds the first. Pure; import.ts reads and writes the store.
 */
import type { ImportReport } from "../../engine.ts";
import { type ImportedLetter, lastMessageOf, releasedElsewhere } from "../../item/imported-letter.ts";
import type { Attempt, DeathRecord } from "../../item/item.ts";
import type { Letter, Resolution } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";

/** An item that the queue already has. */
export interface KnownItem {
  readonly itemId: string;
  readonly ref: number;
  readonly state: ItemState;
  readonly attempts: number;
  readonly isPurged: boolean;
}

/** An item that the import creates, extends, or fills again after a purge. */
export interface Admission {
  readonly itemId: string;
  readonly known: KnownItem | undefined;
  /** The letter that creates or refills the item; undefined if the item is only extended. */
  readonly came: { readonly letter: Letter; readonly given: ImportedLetter } | undefined;
  readonly state: ItemState;
  /** 0 until a new item is numbered. */
  ref: number;
  /** The number of attempts after the import; `records` are the ones to insert. */
  attempts: number;
  readonly records: Attempt[];
}

/** A letter to bury. Burials are kept in the order of the import. */
export interface PlannedBurial {
  readonly item: Admission;
  readonly death: DeathRecord;
  readonly message: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly resolution: Resolution | undefined;
  /** Attempts that are new to the store; their failures are added to the error log. */
  readonly news: readonly Attempt[];
}

export class Admissions {
  readonly burials: PlannedBurial[] = [];
  readonly #known: ReadonlyMap<string, KnownItem>;
  readonly #items = new Map<string, Admission>();

  constructor(known: readonly KnownItem[]) {
    this.#known = new Map(known.map((item) => [item.itemId, item]));
  }

  get items(): readonly Admission[] {
    return [...this.#items.values()];
  }

  /** Existing dead items that get a new death record. */
  get reburied(): readonly Admission[] {
    return this.items.filter(({ came }) => came === undefined);
  }

  take(letter: Letter, given: ImportedLetter): keyof ImportReport {
    const known = this.#known.get(letter.itemId);
    const item = this.#items.get(letter.itemId);
    if (item === undefined && (known === undefined || known.isPurged)) {
      this.#comeIn(letter, given, known);
      return "imported";
    }
    const { state, attempts } = item ?? known ?? { state: "ready", attempts: 0 };
    if (state !== "dead" || attempts >= given.attempts.length) return "existing";
    this.#extend(item ?? this.#foundDead(letter.itemId, known), given);
    return "extended";
  }

  /** Creates an item, or refills a purged one, which keeps at least the number of attempts that it had. */
  #comeIn(letter: Letter, given: ImportedLetter, known: KnownItem | undefined): void {
    const records = [...given.attempts];
    const last = records.at(-1)?.endedAt ?? 0;
    while (records.length < (known?.attempts ?? 0)) records.push(releasedElsewhere(records.length + 1, last));
    const { itemId, resolution } = letter;
    const came = { letter, given };
    const sums = { ref: known?.ref ?? 0, attempts: records.length };
    const item = { itemId, known, came, state: given.state, records, ...sums };
    this.#items.set(itemId, item);
    this.#bury(item, given, { resolution, news: given.attempts.slice(known?.attempts ?? 0) });
  }

  #foundDead(itemId: string, known: KnownItem | undefined): Admission {
    const [ref, attempts] = [known?.ref ?? 0, known?.attempts ?? 0];
    const item: Admission = { itemId, known, came: undefined, state: "dead", ref, attempts, records: [] };
    this.#items.set(itemId, item);
    return item;
  }

  /** Adds the missing attempts to a dead item with a shorter history, and buries it again with the imported death record. */
  #extend(item: Admission, given: ImportedLetter): void {
    const news = given.attempts.slice(item.attempts);
    item.records.push(...news);
    item.attempts = given.attempts.length;
    this.#bury(item, given, { resolution: undefined, news });
  }

  #bury(item: Admission, given: ImportedLetter, how: Pick<PlannedBurial, "resolution" | "news">): void {
    const { attempts, death, firstAt, lastAt } = given;
    this.burials.push({ item, death, message: lastMessageOf(attempts), firstAt, lastAt, ...how });
  }
}
