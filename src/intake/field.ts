/** A field of a record, by name or dotted path, and the id that one makes. */
import type { WorkError } from "../errors.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import { invalidInput, type Origin } from "./origin.ts";
import type { IntakeRecord } from "./record.ts";

/** The value of the field. A record that lacks it is an error: dropped or guessed at, work would be lost. */
export function fieldOf(record: IntakeRecord, path: string, origin: Origin): Json {
  const value = findField(record.data, path);
  if (value !== undefined) return value;
  const problem = isJsonObject(record.data)
    ? `the record has no field "${path}"`
    : `the record is not an object, so it has no field "${path}"`;
  throw fieldError(record, problem, origin);
}

/** An id is stored, shown and typed: it may be this long. */
export const ID_BYTES_MAX = 512;

/** The id that the field gives: its text, number or boolean as text. */
export function idFrom(record: IntakeRecord, path: string, origin: Origin): string {
  const value = fieldOf(record, path, origin);
  if (value === null || typeof value === "object") {
    throw fieldError(record, `the field "${path}" is ${kindOf(value)}, and cannot be an id`, origin);
  }
  const id = String(value);
  const problem = idProblem(id);
  if (problem !== undefined) throw fieldError(record, `the id in the field "${path}" ${problem}`, origin);
  return id;
}

/** The value of the field, if it is there. A key with a dot in it, as CSV headers have, is found before the dot means a step. */
export function findField(data: Json, path: string): Json | undefined {
  if (!isJsonObject(data)) return undefined;
  if (Object.hasOwn(data, path)) return data[path];
  const dot = path.indexOf(".");
  const head = path.slice(0, dot);
  return dot > 0 && Object.hasOwn(data, head)
    ? findField(data[head] ?? null, path.slice(dot + 1))
    : undefined;
}

function kindOf(value: null | object): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : "an object";
}

/** What is wrong with an id, to be said after it; undefined when nothing is. */
export function idProblem(id: string): string | undefined {
  if (id === "") return "is empty";
  if (Buffer.byteLength(id) > ID_BYTES_MAX) return `is longer than ${ID_BYTES_MAX} bytes`;
  // A half of a surrogate pair is no text: stored, two such ids could become one.
  if (/[\p{Cc}\p{Cs}]/u.test(id)) return "has a control character or half a character in it";
  return undefined;
}

function fieldError(record: IntakeRecord, problem: string, origin: Origin): WorkError {
  return invalidInput(origin, { line: record.line }, problem, {
    hint: "Correct the record, or choose a field that every record has.",
  });
}
