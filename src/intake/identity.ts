/** Assigns ids to records: from a field or from the content, never from the position in the input. */
import { hash } from "node:crypto";
import type { RedriveError } from "../errors.ts";
import type { NewItem } from "../item/item.ts";
import { canonicalJson, isJsonObject, type Json } from "../std/json.ts";
import { toBase32 } from "../std/random.ts";
import { type IntakeRecord, invalidInput, type Origin } from "./origin.ts";
import { KEY_BYTES, SeenTable } from "./seen-table.ts";

export interface IdentityOptions {
  /** The field that contains the id; `a.b` is a nested field. Default: the id is a hash of the content. */
  readonly idField?: string;
  /**
   * `true` drops records with equal content; a field name drops records with equal values in that field.
   * Default: keep all.
   */
  readonly distinct?: boolean | string;
}

export class Identity {
  readonly #origin: Origin;
  readonly #idField: string | undefined;
  readonly #distinct: boolean | string;
  readonly #contents = new SeenTable();
  readonly #values = new SeenTable();
  /** Reused for every record, to avoid allocations. */
  readonly #key = new Uint8Array(KEY_BYTES);

  constructor(origin: Origin, options: IdentityOptions) {
    this.#origin = origin;
    this.#idField = options.idField;
    this.#distinct = options.distinct ?? false;
  }

  /** Returns the item of a record, or undefined if `distinct` drops it. */
  itemOf(record: IntakeRecord): NewItem | undefined {
    const { data } = record;
    const distinct = this.#distinct;
    if (distinct === true && this.#countOf(this.#contents, data) > 1) return undefined;
    if (typeof distinct === "string") {
      if (this.#countOf(this.#values, fieldOf(record, distinct, this.#origin)) > 1) return undefined;
    }
    if (this.#idField !== undefined) return { itemId: idFrom(record, this.#idField, this.#origin), data };
    // The second record with the same content gets the suffix `-2`, the third `-3`.
    const nth = distinct === true ? 1 : this.#countOf(this.#contents, data);
    return { itemId: nth === 1 ? toBase32(this.#key) : `${toBase32(this.#key)}-${nth}`, data };
  }

  #countOf(table: SeenTable, value: Json): number {
    return table.count(hashInto(this.#key, value));
  }
}

/** Returns the id of the first item with this content. */
export function contentId(data: Json): string {
  return toBase32(hashInto(new Uint8Array(KEY_BYTES), data));
}

/** Whether an id has the form of a generated one, derived from the content or random. */
export function isGeneratedId(id: string): boolean {
  return GENERATED.test(id);
}

const GENERATED = /^[0-9a-hjkmnp-tv-z]{16}(?:-\d+)?$/;

function hashInto(key: Uint8Array, value: Json): Uint8Array {
  // A binary string is used, because a buffer for each digest costs four times as much.
  const digest = hash("sha256", canonicalJson(value), "binary");
  for (let index = 0; index < KEY_BYTES; index++) key[index] = digest.charCodeAt(index);
  return key;
}

/** Returns the value of the field. Throws if it is missing, because skipping the record would lose work. */
export function fieldOf(record: IntakeRecord, path: string, origin: Origin): Json {
  const value = findField(record.data, path);
  if (value !== undefined) return value;
  const problem = isJsonObject(record.data)
    ? `the record has no field "${path}"`
    : `the record is not an object, so it has no field "${path}"`;
  throw fieldError(record, problem, origin);
}

const ID_BYTES_MAX = 512;

/** Returns the field's value as an id: a string, or a number or boolean as text. */
export function idFrom(record: IntakeRecord, path: string, origin: Origin): string {
  const value = fieldOf(record, path, origin);
  if (value === null || typeof value === "object") {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    throw fieldError(record, `the field "${path}" is ${kind}, which cannot be an id`, origin);
  }
  const id = String(value);
  const problem = idProblem(id);
  if (problem !== undefined) throw fieldError(record, `the id in the field "${path}" ${problem}`, origin);
  return id;
}

/** Returns the value of the field, if it exists. A key that itself contains the dots, as in CSV headers, has precedence. */
export function findField(data: Json, path: string): Json | undefined {
  if (!isJsonObject(data)) return undefined;
  if (Object.hasOwn(data, path)) return data[path];
  const dot = path.indexOf(".");
  const head = path.slice(0, dot);
  return dot > 0 && Object.hasOwn(data, head)
    ? findField(data[head] ?? null, path.slice(dot + 1))
    : undefined;
}

/** Returns why an id is invalid, as the end of a sentence that begins with "the id"; undefined if it is valid. */
export function idProblem(id: string): string | undefined {
  if (id === "") return "is empty";
  if (Buffer.byteLength(id) > ID_BYTES_MAX) return `is longer than ${ID_BYTES_MAX} bytes`;
  // The store could convert two ids with lone surrogates into the same id.
  if (/[\p{Cc}\p{Cs}]/u.test(id)) return "contains a control character or a lone surrogate";
  return undefined;
}

function fieldError(record: IntakeRecord, problem: string, origin: Origin): RedriveError {
  return invalidInput(origin, { line: record.line }, problem, {
    hint: "Correct the record, or choose a field that every record has.",
  });
}
