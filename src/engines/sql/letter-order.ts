/**
 * The orders in which letters are listed, and the cursors between pages. A cursor is a position, so it stays valid when letters
 * are removed.
 */
import type { LetterOrder } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";

/** A letter's number and its sort key. */
export interface PageCursor {
  readonly no: number;
  readonly key: string | number;
}

const newestFirst = (a: PageCursor, b: PageCursor) => b.no - a.no;
const byKey = (a: PageCursor, b: PageCursor) => compare(a.key, b.key) || newestFirst(a, b);

export const IN_ORDER: Readonly<Record<LetterOrder, (a: PageCursor, b: PageCursor) => number>> = {
  newest: newestFirst,
  oldest: (a, b) => a.no - b.no,
  attempts: (a, b) => compare(b.key, a.key) || newestFirst(a, b),
  item: byKey,
  type: byKey,
};

/** Compares like the store: numbers by value, texts by UTF-8 bytes. */
function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

export function cursorOf(order: LetterOrder, { no, key }: PageCursor): string {
  return Buffer.from(JSON.stringify([order, key, no])).toString("base64url");
}

export function readCursor(order: LetterOrder, cursor: string): PageCursor {
  const [of, key, no] = readList(cursor);
  const isKey = typeof key === (order === "item" || order === "type" ? "string" : "number");
  if (of === order && isKey && Number.isSafeInteger(no))
    return { key: key as PageCursor["key"], no: no as number };
  throw new RedriveError("usage", `"${cursor}" is not the cursor of a page in the order ${order}.`, {
    hint: "Take `next` of the page before, in the same order.",
  });
}

function readList(cursor: string): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(read) ? read : [];
  } catch {
    return []; // not JSON, so not one of our cursors
  }
}

/** The sort key of each order; letters with the same key are ordered by number. */
export const KEY: Readonly<Record<LetterOrder, string>> = {
  newest: "0",
  oldest: "0",
  attempts: "i.attempts",
  item: "i.item_id",
  type: "g.error_type",
};

/** The ORDER BY clause of each order. */
export const ROWS: Readonly<Record<LetterOrder, string>> = {
  newest: "no DESC",
  oldest: "no",
  attempts: "key DESC, no DESC",
  item: "key, no DESC",
  type: "key, no DESC",
};

/** A page that begins after a position. */
export interface PageRequest {
  readonly order: LetterOrder;
  readonly after: PageCursor | undefined;
  readonly limit: number;
}

interface PageSql {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Selects a page from a relation with the columns `no` and `key`. */
export function pageOf({ order, after, limit }: PageRequest, from: string): PageSql {
  const rest = after === undefined ? { sql: "true", values: [] } : conditionAfter(order, after);
  const sql = `SELECT no, key FROM ${from} WHERE ${rest.sql} ORDER BY ${ROWS[order]} LIMIT ?`;
  return { sql, values: [...rest.values, limit] };
}

/** The first comparison uses the index; the second handles letters with the same key. */
function conditionAfter(order: LetterOrder, { no, key }: PageCursor): PageSql {
  if (order === "newest") return { sql: "no < ?", values: [no] };
  if (order === "oldest") return { sql: "no > ?", values: [no] };
  const beyond = order === "attempts" ? "<" : ">";
  return { sql: `key ${beyond}= ? AND (key ${beyond} ? OR no < ?)`, values: [key, key, no] };
}

/** Finds letters in a store that has lost its groups: counts come from groups, so every filter would find nothing. */
export const LETTERS_WITHOUT_GROUPS =
  "SELECT 1 AS found FROM letters WHERE NOT EXISTS (SELECT 1 FROM groups) LIMIT 1";

export function groupsMissing(store: string): RedriveError {
  return new RedriveError(
    "store_corrupt",
    `The store ${store} is damaged: its letters have lost their groups.`,
    {
      hint: "Run `redrive store check`: it reports the damage and what can be saved.",
    },
  );
}
