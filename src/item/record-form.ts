/** Defines the JSON form of a record as a table of fields, which is used for writing, reading and validation. */
import { fromRfc3339, toRfc3339 } from "../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";

export interface FieldKind<T> {
  readonly write: (value: T) => Json;
  /** Returns undefined for JSON of the wrong type. */
  readonly read: (json: Json) => T | undefined;
  /** Validates imported JSON more strictly than `read`, which accepts whatever it can. */
  readonly fits?: (json: Json) => boolean;
  /** The message for invalid JSON. Completes a sentence that ends in "is". */
  readonly problem: string;
}

type RequiredKind<T> = FieldKind<T> & { readonly fallback: T };

/** The type of each field. Required fields have a fallback for missing values. */
type FieldKinds<T> = {
  readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K>
    ? FieldKind<NonNullable<T[K]>>
    : RequiredKind<T[K]>;
};

interface Field extends FieldKind<unknown> {
  readonly key: string;
  readonly name: string;
  readonly fallback?: unknown;
}

/** The JSON form of a record. JSON names are the field names in snake case. */
export class RecordForm<T extends object> {
  readonly names: readonly string[];
  readonly #fields: readonly Field[];
  readonly #byName: ReadonlyMap<string, Field>;

  constructor(kinds: FieldKinds<T>) {
    this.#fields = Object.entries(kinds as Record<string, RequiredKind<unknown>>).map(
      ([key, { write, read, fits, problem, fallback }]) =>
        ({ key, name: snakeCase(key), write, read, fits, problem, fallback }) as Field,
    );
    this.#byName = new Map(this.#fields.map((field) => [field.name, field]));
    this.names = [...this.#byName.keys()];
  }

  /** Writes all fields, or only the named ones. */
  readonly toJson = (record: T, names?: readonly string[]): JsonObject => {
    const json: Record<string, Json> = {};
    for (const field of names?.map((name) => this.#byName.get(name)) ?? this.#fields) {
      const value = field && (record as Record<string, unknown>)[field.key];
      if (field && value !== undefined) json[field.name] = field.write(value);
    }
    return json;
  };

  /** Ignores fields of the wrong type. */
  readonly fromJson = (json: JsonObject): T => {
    const record: Record<string, unknown> = {};
    for (const field of this.#fields) {
      const given = json[field.name];
      const value = (given === undefined ? undefined : field.read(given)) ?? field.fallback;
      if (value !== undefined) record[field.key] = value;
    }
    return record as T;
  };

  /** Describes the first invalid field; null counts as absent. Calls `onUnknown` with the names of unknown fields. */
  problemIn(json: JsonObject, path: string, onUnknown: (field: string) => void): string | undefined {
    for (const [name, value] of Object.entries(json)) {
      const kind = this.#byName.get(name);
      if (kind === undefined) onUnknown(`${path.replace(/\d+/, "")}${name}`);
      else if (value !== null && !(kind.fits?.(value) ?? kind.read(value) !== undefined))
        return `${path}${name} is ${kind.problem}`;
    }
    return undefined;
  }
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** Makes a field required, with a fallback for missing values. */
export function required<T, F extends T>(kind: FieldKind<T>, fallback: F): RequiredKind<T> {
  return { ...kind, fallback };
}

/** A field whose values are stored as JSON without conversion. */
function plain<T extends Json>(is: (json: Json) => json is T, problem: string): FieldKind<T> {
  return { write: (value) => value, read: (json) => (is(json) ? json : undefined), problem };
}

/** A number. An import accepts only numbers for which `fits` is true; `read` accepts any number. */
export function numberKind(fits: (value: number) => boolean, problem: string): FieldKind<number> {
  const kind = plain((json): json is number => typeof json === "number", problem);
  return { ...kind, fits: (json) => typeof json === "number" && fits(json) };
}

export const TEXT = plain((json): json is string => typeof json === "string", "not text");
export const FLAG = plain((json): json is boolean => typeof json === "boolean", "neither true nor false");
export const INTEGER = numberKind(Number.isSafeInteger, "not a whole number");
const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
export const COUNT = numberKind(isCount, "not a whole number from 0 on");
export const SPAN_MS = numberKind((value) => value >= 0, "not a number of milliseconds");
export const ANY = plain((_): _ is Json => true, "");

/** Milliseconds since the epoch; an RFC 3339 string in JSON. */
export const TIME = textKind(fromRfc3339, "not a time", toRfc3339);

/** A value that is parsed from a string, such as an enumeration. */
export function textKind<T>(
  parse: (text: string) => T | undefined,
  problem: string,
  write: (value: T) => string = String,
): FieldKind<T> {
  return { write, read: (json) => (typeof json === "string" ? parse(json) : undefined), problem };
}

/** A list. `read` skips entries that cannot be read. */
export function listKind<T>(entry: FieldKind<T>, problem: string): FieldKind<readonly T[]> {
  return {
    write: (values) => values.map(entry.write),
    read: (json) => (Array.isArray(json) ? json.flatMap((one) => entry.read(one) ?? []) : undefined),
    fits: (json) => Array.isArray(json) && json.every((one) => entry.read(one) !== undefined),
    problem,
  };
}

export function objectKind<T extends object>(form: Pick<RecordForm<T>, "toJson" | "fromJson">): FieldKind<T> {
  const read = (json: Json) => (isJsonObject(json) ? form.fromJson(json) : undefined);
  return { write: (record) => form.toJson(record), read, problem: "not an object" };
}

export function objectsKind<T extends object>(form: RecordForm<T>): FieldKind<readonly T[]> {
  return listKind(objectKind(form), "not a list of objects");
}
