/** From one record of a file to an item for a queue: which field is what, and what is wrong with a row. Pure. */
import { findField } from "../intake/field.ts";
import { compact } from "../item/failure.ts";
import { PRIORITIES } from "../item/priority.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import type { QueueItem } from "./add-items.ts";
import { MOMENT_FORMS, parseMoment } from "./moment.ts";

/** Where in a record the settings of its item stand. Default: nowhere; the record is the data, and has none. */
export interface RowFields {
  /** `a.b` reaches inside. */
  readonly key?: string;
  readonly name?: string;
  readonly priority?: string;
  readonly due?: string;
  readonly expires?: string;
  readonly lane?: string;
}

/** The fields of a record that holds the item and its settings: `data` beside them. */
export const ENVELOPE: Required<RowFields> = {
  key: "key",
  name: "name",
  priority: "priority",
  due: "due",
  expires: "expires",
  lane: "lane",
};

/** An item, or why there is none. */
export type Row =
  | { readonly ok: true; readonly item: QueueItem }
  | { readonly ok: false; readonly reason: string };

/** The record as it is, is the data of its item. A field that is not there, null or empty says nothing. */
export function rowOf(data: Json, fields: RowFields, now: number): Row {
  try {
    return { ok: true, item: { data, ...settingsOf(data, fields, now) } };
  } catch (error) {
    if (error instanceof RowFault) return { ok: false, reason: error.message };
    throw error;
  }
}

/** The record holds the data and its settings; a word that is none of them is a mistake, and would be lost. */
export function envelopeRowOf(record: Json, now: number): Row {
  if (!isJsonObject(record) || record.data === undefined)
    return { ok: false, reason: "it has no data in it" };
  const other = Object.keys(record).find((name) => name !== "data" && !Object.hasOwn(ENVELOPE, name));
  if (other !== undefined) {
    const reason = `it has "${other}" in it, which is none of data, ${Object.keys(ENVELOPE).join(", ")}`;
    return { ok: false, reason };
  }
  const row = rowOf(record, ENVELOPE, now);
  return row.ok ? { ok: true, item: { ...row.item, data: record.data } } : row;
}

class RowFault extends Error {}

function settingsOf(data: Json, fields: RowFields, now: number): Omit<QueueItem, "data"> {
  const text = (setting: keyof RowFields) => textAt(data, fields[setting]);
  const key = text("key");
  if (fields.key !== undefined && key === undefined && fields !== ENVELOPE)
    throw new RowFault(`it has no ${fields.key}, which is to be its key`);
  return compact({
    key,
    name: text("name"),
    priority: priorityFrom(text("priority")),
    dueAt: momentFrom("due time", text("due"), now),
    expiresAt: momentFrom("expiry", text("expires"), now),
    lane: text("lane"),
  });
}

function textAt(data: Json, path: string | undefined): string | undefined {
  const value = path === undefined ? undefined : findField(data, path);
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "object") throw new RowFault(`its ${path} is neither a text nor a number`);
  return String(value);
}

function priorityFrom(text: string | undefined): QueueItem["priority"] {
  if (text === undefined) return undefined;
  const found = PRIORITIES.find((one) => one === text.trim().toLowerCase());
  if (found !== undefined) return found;
  throw new RowFault(`its priority is "${text}", and there are ${PRIORITIES.join(", ")}`);
}

function momentFrom(what: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseMoment(text, now);
  if (ms !== undefined) return ms;
  throw new RowFault(`its ${what} is "${text}", which is not ${MOMENT_FORMS}`);
}
