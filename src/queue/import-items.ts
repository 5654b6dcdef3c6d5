/** Imports items from JSON Lines or CSV into a named queue. Invalid rows are reported, and the others are added. */
import type { Readable } from "node:stream";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { findField } from "../intake/identity.ts";
import { formatOfName, openInput } from "../intake/input.ts";
import { PRIORITIES } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { compact, isJsonObject, type Json } from "../std/json.ts";
import { type AddedItem, type AddItemsOptions, openQueueIntake, type QueueItem } from "./add-items.ts";
import { requireQueue } from "./find-job.ts";
import { type ItemFormat, readRows } from "./read-rows.ts";
import { parseTimeOption, TIME_OPTION_FORMS } from "./time-option.ts";

/** The options for importing items from a file. */
export interface ImportItemsOptions extends Omit<AddItemsOptions, "transaction"> {
  /** Default: from the file name, else JSON Lines. */
  readonly format?: ItemFormat;
  /** The fields of a record that contain the settings of its item. Default: none. */
  readonly fields?: RowFields;
  /** Whether each record is `{data, key, name, priority, due, expires, ordering_key}`. Default: the whole record is the data. */
  readonly isEnvelope?: boolean;
  /** Whether CSV values that look like a number, true, false or null are converted. Default: all values are strings. */
  readonly isTyped?: boolean;
  /** Reports what would happen to the rows, and writes nothing. */
  readonly isDry?: boolean;
  /** Called for every refused row, in file order. */
  readonly onRefused?: (row: RefusedRow) => void;
  /** Called after each batch. */
  readonly onProgress?: (report: ItemImport) => void;
  /** The stream that the path `-` reads. Default: `process.stdin`. */
  readonly stdin?: Readable;
  /** Stops the import between two batches. */
  readonly signal?: AbortSignal;
}

/** A refused row. */
export type RefusedRow = { readonly line: number; readonly reason: string; readonly key?: string };

/** The number of rows by result: read = added + existing + replaced + refused. */
export interface ItemImport {
  readonly read: number;
  readonly added: number;
  readonly existing: number;
  readonly replaced: number;
  readonly refused: number;
  /** Why the import stopped before the end of the file; absent when it did not. */
  readonly brokenOff?: string;
}

const BATCH_MAX = 500;

/** Imports the file (`-` is stdin) and records the import. Importing it again adds no duplicates if its rows have keys. */
export async function importItems(
  engine: Engine,
  queue: string,
  path: string,
  options: ImportItemsOptions = {},
): Promise<ItemImport> {
  const job = await requireQueue(engine, queue);
  const report = await importRows(engine, job, path, options);
  const { added, replaced } = report;
  if (!options.isDry && added + replaced > 0)
    await engine.recordChange({ action: "items_imported", queue: job.id, details: { added, replaced } });
  return report;
}

async function importRows(
  engine: Engine,
  job: Job,
  path: string,
  options: ImportItemsOptions,
): Promise<ItemImport> {
  const intake = await openQueueIntake(engine, job);
  const input = await openInput(path, options.stdin ?? process.stdin);
  const format = options.format ?? formatFor(path);
  const counts = importCounts(options);
  const send = (items: readonly QueueItem[]) =>
    options.isDry ? intake.preview(items) : intake.add(items, options);
  let batch: Waiting[] = [];
  const flush = async () => {
    const rows = batch;
    batch = [];
    const going = rows.filter((one) => one.row.ok);
    const answers = await send(going.flatMap(({ row }) => (row.ok ? [row.item] : [])));
    const answerOf = new Map(going.map((one, index) => [one, answers[index]]));
    for (const one of rows) counts.count(one, answerOf.get(one));
    options.onProgress?.(counts.report());
  };
  const now = await engine.now();
  const { isEnvelope, fields = {} } = options;
  const toRow = (data: Json) => (isEnvelope ? envelopeRowOf(data, now) : rowOf(data, fields, now));
  for await (const record of readRows(input, { format, isTyped: options.isTyped ?? false })) {
    if (options.signal?.aborted) return { ...counts.report(), brokenOff: "it was interrupted" };
    if (!record.ok && record.isEnd) counts.breakOff(record);
    batch.push({ line: record.line, row: record.ok ? toRow(record.data) : record });
    if (batch.length === BATCH_MAX) await flush();
  }
  await flush();
  return counts.report();
}

type Waiting = { readonly line: number; readonly row: Row };

function formatFor(path: string): ItemFormat {
  const named = path === "-" ? undefined : formatOfName(path);
  if (named === undefined || named === "jsonl") return "jsonl";
  if (named === "csv") return named;
  throw new RedriveError("usage", `${path}: items can be imported only from JSON Lines and CSV.`, {
    hint: "Give --format if the file has one of these formats, or convert it: jq -c '.[]' FILE.json.",
  });
}

function importCounts({ onRefused }: ImportItemsOptions) {
  const counts = { read: 0, added: 0, existing: 0, replaced: 0, refused: 0 };
  let brokenOff: string | undefined;
  return {
    report: (): ItemImport => compact({ ...counts, brokenOff }),
    breakOff: ({ line, reason }: { line: number; reason: string }) => {
      brokenOff = `line ${line}: ${reason}; the rest of the file was not read`;
    },
    count: ({ line, row }: Waiting, answer: AddedItem | undefined) => {
      const { outcome, reason = "", itemId } = row.ok && answer ? answer : refusedBy(row);
      counts.read += 1;
      counts[outcome] += 1;
      if (outcome === "refused") onRefused?.(compact({ line, reason, key: itemId }));
    },
  };
}

const refusedBy = (row: Row): AddedItem => ({
  outcome: "refused",
  reason: row.ok ? "no result" : row.reason,
});

export interface RowFields {
  /** A path such as `a.b` selects a nested field. */
  readonly key?: string;
  readonly name?: string;
  readonly priority?: string;
  readonly due?: string;
  readonly expires?: string;
  readonly orderingKey?: string;
}

export const ENVELOPE: Required<RowFields> = {
  key: "key",
  name: "name",
  priority: "priority",
  due: "due",
  expires: "expires",
  orderingKey: "ordering_key",
};

export type Row =
  | { readonly ok: true; readonly item: QueueItem }
  | { readonly ok: false; readonly reason: string };

/** Uses the whole record as data. A settings field that is missing, null or empty is ignored. */
export function rowOf(data: Json, fields: RowFields, now: number): Row {
  try {
    return { ok: true, item: { data, ...settingsOf(data, fields, now) } };
  } catch (error) {
    if (error instanceof RowFault) return { ok: false, reason: error.message };
    throw error;
  }
}

/** Uses `data` of the record as data. Any unknown field is an error, because it would be lost. */
export function envelopeRowOf(record: Json, now: number): Row {
  if (!isJsonObject(record) || record.data === undefined)
    return { ok: false, reason: "it has no data field" };
  const { lane, ...renamed } = record;
  if (lane !== undefined) return envelopeRowOf({ ordering_key: lane, ...renamed }, now); // the former name
  const names = Object.values(ENVELOPE);
  const other = Object.keys(record).find((name) => name !== "data" && !names.includes(name));
  if (other !== undefined) {
    const reason = `it has the unknown field "${other}"; valid fields: data, ${names.join(", ")}`;
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
    throw new RowFault(`it has no field ${fields.key}, which should contain the key`);
  return compact({
    key,
    name: text("name"),
    priority: priorityFrom(text("priority")),
    dueAt: momentFrom("due time", text("due"), now),
    expiresAt: momentFrom("expiry", text("expires"), now),
    orderingKey: text("orderingKey"),
  });
}

function textAt(data: Json, path: string | undefined): string | undefined {
  const value = path === undefined ? undefined : findField(data, path);
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "object") throw new RowFault(`its ${path} is neither text nor a number`);
  return String(value);
}

function priorityFrom(text: string | undefined): QueueItem["priority"] {
  if (text === undefined) return undefined;
  const found = PRIORITIES.find((one) => one === text.trim().toLowerCase());
  if (found !== undefined) return found;
  throw new RowFault(`its priority "${text}" is not one of ${PRIORITIES.join(", ")}`);
}

function momentFrom(what: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseTimeOption(text, now);
  if (ms !== undefined) return ms;
  throw new RowFault(`its ${what} "${text}" is not ${TIME_OPTION_FORMS}`);
}
