/**
 * What watchers know together of their alerts: which are raised, what was told whom and when, and who is telling now. It
 * is one small document of the store, changed by compare-and-set, so that two watchers do not tell the same twice and a
 * restart neither repeats nor forgets. Pure: book in, book out.
 */
import type { Json, JsonObject } from "../kit/json.ts";
import type { ConditionKind, Severity } from "./settings.ts";

/** Something that is wrong now. */
export interface AlertFinding {
  /** The same for the same rule and queue, whenever it is found. */
  readonly key: string;
  readonly rule: string;
  readonly kind: ConditionKind;
  /** Null when it is about the store. */
  readonly queue: string | null;
  readonly severity: Severity;
  /** What the rule looks at, and from where on it is wrong. */
  readonly value: number;
  readonly limit: number;
  /** For people, one line. */
  readonly text: string;
  /** The same when it is over. */
  readonly overText: string;
}

/** A finding and its story. Times are by the store's clock. */
export interface Alert extends AlertFinding {
  readonly raisedAt: number;
  /** Present when it is over. */
  readonly recoveredAt?: number;
  /** By the channel's name. */
  readonly told: Readonly<Record<string, Told>>;
}

/** What a channel knows of an alert. */
export interface Told {
  /** Of the raising that it was told last. */
  readonly raisedAt: number;
  /** When it was last told that something is wrong; 0 when it never was. */
  readonly at: number;
  /** It was told that it is over. */
  readonly isOver: boolean;
}

/** Who is telling a channel. After the time it is free again, for its watcher may be gone. */
export interface Claim {
  readonly by: string;
  readonly until: number;
}

/** The whole book. */
export interface AlertBook {
  readonly alerts: Readonly<Record<string, Alert>>;
  readonly claims: Readonly<Record<string, Claim>>;
  /** The newest event that was looked at for new groups; null before the first look. */
  readonly eventsSeen: number | null;
  /** How often the store could not be written, as it was last seen; null before the first look. */
  readonly writeFailures: number | null;
  /** When that number was last seen to rise. */
  readonly writeFailuresRoseAt: number;
}

export const EMPTY_BOOK: AlertBook = {
  alerts: {},
  claims: {},
  eventsSeen: null,
  writeFailures: null,
  writeFailuresRoseAt: 0,
};

/** What a check found. */
export interface Checked {
  readonly findings: readonly AlertFinding[];
  /** The rules that were looked at: what they do not find any more is over. Others' alerts stay as they are. */
  readonly rules: readonly { readonly name: string }[];
  readonly at: number;
}

/** Raises what is found, and ends what is not found any more. */
export function advance(book: AlertBook, { findings, rules, at }: Checked): AlertBook {
  const looked = new Set(rules.map(({ name }) => name));
  const found = new Map(findings.map((finding) => [finding.key, finding]));
  const alerts: Record<string, Alert> = {};
  for (const [key, alert] of Object.entries(book.alerts)) {
    if (found.has(key)) continue;
    alerts[key] = looked.has(alert.rule) ? { ...alert, recoveredAt: alert.recoveredAt ?? at } : alert;
  }
  for (const finding of findings) alerts[finding.key] = raised(book.alerts[finding.key], finding, at);
  return { ...book, alerts };
}

function raised(before: Alert | undefined, finding: AlertFinding, at: number): Alert {
  if (before === undefined) return { ...finding, raisedAt: at, told: {} };
  const { recoveredAt, ...open } = before;
  return { ...open, ...finding, ...(recoveredAt !== undefined && { raisedAt: at }) };
}

/** Writes down that a channel was told. */
export function markTold(
  book: AlertBook,
  tellings: readonly { readonly key: string; readonly raisedAt: number; readonly isOver: boolean }[],
  { channel, at }: { readonly channel: string; readonly at: number },
): AlertBook {
  const alerts = { ...book.alerts };
  for (const { key, raisedAt, isOver } of tellings) {
    const alert = alerts[key];
    if (alert === undefined || (isOver && alert.raisedAt !== raisedAt)) continue; // it came back meanwhile
    const told = { raisedAt: alert.raisedAt, at: isOver ? (alert.told[channel]?.at ?? 0) : at, isOver };
    alerts[key] = { ...alert, told: { ...alert.told, [channel]: told } };
  }
  return { ...book, alerts };
}

/** Takes a channel for one watcher, unless another one has it. */
export function claim(
  book: AlertBook,
  channel: string,
  { by, until, at }: Claim & { at: number },
): AlertBook {
  const held = book.claims[channel];
  if (held !== undefined && held.until > at && held.by !== by) return book;
  return { ...book, claims: { ...book.claims, [channel]: { by, until } } };
}

/** Gives it back. */
export function unclaim(book: AlertBook, channel: string, by: string): AlertBook {
  if (book.claims[channel]?.by !== by) return book;
  const { [channel]: _, ...claims } = book.claims;
  return { ...book, claims };
}

/** The form in which the store keeps it. */
export function bookToJson(book: AlertBook): JsonObject {
  return JSON.parse(JSON.stringify(book)) as JsonObject;
}

/** Reads it; a document of another form is one that nobody has written yet. */
export function bookFromJson(json: Json | undefined): AlertBook {
  if (typeof json !== "object" || json === null || !("alerts" in json)) return EMPTY_BOOK;
  return { ...EMPTY_BOOK, ...(json as unknown as AlertBook) };
}
