/** Converts receipts to JSON, and reads them from files and pipes. */

import type { Readable } from "node:stream";
import { RedriveError } from "../errors.ts";
import { findField, idFrom } from "../intake/identity.ts";
import { type Input, openInput, replay, sniffJsonFile } from "../intake/input.ts";
import type { IntakeRecord, Origin } from "../intake/origin.ts";
import { BYTE, parseInputJson, skipByteOrderMark, skipSpace } from "../intake/parse-json.ts";
import type { OpenRecords } from "../intake/read-items.ts";
import { asText, type Json, parseJson, stringifyJson } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";

/** Copies the receipt as JSON, so that later changes to the object have no effect. */
export function receiptOf(value: unknown): Json {
  let text: string | undefined;
  try {
    text = stringifyJson(value);
  } catch (error) {
    throw noJson(messageOf(error));
  }
  if (text === undefined) throw noJson(`it is ${typeof value}`);
  return parseJson(text) as Json;
}

export function orderOf(receipt: Json, field: string | undefined): string | undefined {
  const value = field === undefined ? undefined : findField(receipt, field);
  return value === undefined || value === null ? undefined : asText(value);
}

function noJson(why: string): RedriveError {
  return new RedriveError("usage", `The receipt cannot be written as JSON: ${why}.`);
}

export interface ReadReceipt {
  readonly receipt: Json;
  /** Absent if there is no key field. The key is then derived from the content. */
  readonly key?: string;
}

export interface ReceiptSource {
  readonly path: string;
  /** Default: detected from the file name or the first bytes. */
  readonly format?: "json" | "jsonl";
  /** The field that contains the key. A receipt without this field is an error. Default: none. */
  readonly keyField?: string;
}

export async function* readReceipts(
  source: ReceiptSource,
  { stdin, signal }: { stdin: Readable; signal?: AbortSignal },
): AsyncGenerator<readonly ReadReceipt[]> {
  const input = await openInput(source.path, stdin, signal);
  const { origin, runs } = await recordsOf(input, source.format);
  for await (const records of runs) yield* inRuns(records, { origin, keyField: source.keyField });
}

/** Reads receipts from a JSON value. Each element of an array is one receipt. */
export function receiptsOf(data: Json, name: string, keyField?: string): readonly ReadReceipt[] {
  const origin: Origin = { name, format: "json", sniffed: false };
  const all = Array.isArray(data) ? data : [data];
  return all.map((one: Json) => withKey({ data: one, line: 1 }, { origin, keyField }));
}

type Keying = { readonly origin: Origin; readonly keyField: string | undefined };

function withKey(record: IntakeRecord, { origin, keyField }: Keying): ReadReceipt {
  const { data: receipt } = record;
  return keyField === undefined ? { receipt } : { receipt, key: idFrom(record, keyField, origin) };
}

/** Yields the valid receipts before an invalid one, then throws. */
function* inRuns(records: Iterable<IntakeRecord>, keying: Keying): Generator<readonly ReadReceipt[]> {
  const run: ReadReceipt[] = [];
  try {
    for (const record of records) run.push(withKey(record, keying));
  } catch (error) {
    if (run.length > 0) yield run;
    throw error;
  }
  if (run.length > 0) yield run;
}

async function recordsOf(input: Input, wanted: ReceiptSource["format"]): Promise<OpenRecords> {
  const { name, isFile } = input;
  const named = wanted ?? (isFile && /\.(jsonl|ndjson)$/i.test(name) ? "jsonl" : undefined);
  const { format, chunks } =
    named === undefined ? await sniffJsonFile(input.chunks) : { format: named, chunks: input.chunks };
  const origin: Origin = { name, format, sniffed: named === undefined };
  if (format === "jsonl") {
    const { readJsonLines } = await import("../intake/lines.ts");
    return { origin, runs: readJsonLines(chunks, origin) };
  }
  return { origin, runs: documentRuns(chunks, origin) };
}

/** Streams an array, and reads a single receipt as a whole. */
async function* documentRuns(chunks: AsyncIterable<Buffer>, origin: Origin) {
  const rest = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    head = Buffer.concat([head, next.value]);
    const start = skipSpace(head, skipByteOrderMark(head));
    if (start === head.length) continue;
    if (head[start] !== BYTE.openArray) continue; // a single document has to be complete
    const { readJsonArray } = await import("../intake/json-array.ts");
    yield* readJsonArray(replay(head, rest), origin);
    return;
  }
  const text = head.subarray(skipByteOrderMark(head)).toString();
  if (text.trim() !== "") yield [{ data: parseInputJson(text, origin, { line: 1, column: 1 }), line: 1 }];
}
