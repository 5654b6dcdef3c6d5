/** How records are written and read: fields that are absent are left out, and fields of the wrong kind count as absent. */
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The same object without the fields that are undefined, as `exactOptionalPropertyTypes` and JSON want it. */
export function compact<T extends object>(object: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const key in object) if (object[key] !== undefined) kept[key] = object[key]; // many a letter passes here
  return kept as Defined<T>;
}

/** Reads fields of the expected kind and takes anything else for absent. */
export function reader(json: JsonObject): Reader {
  return new Reader(json);
}

/** A class, because very many records are read: functions made for each would cost more than what they read. */
class Reader {
  readonly #json: JsonObject;

  constructor(json: JsonObject) {
    this.#json = json;
  }

  text(key: string): string | undefined {
    const value = this.#json[key];
    return typeof value === "string" ? value : undefined;
  }

  number(key: string): number | undefined {
    const value = this.#json[key];
    return typeof value === "number" ? value : undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.#json[key];
    return typeof value === "boolean" ? value : undefined;
  }

  object(key: string): JsonObject | undefined {
    const value = this.#json[key];
    return value !== undefined && isJsonObject(value) ? value : undefined;
  }

  list(key: string): readonly Json[] | undefined {
    const value = this.#json[key];
    return Array.isArray(value) ? value : undefined;
  }

  texts(key: string): readonly string[] | undefined {
    return this.list(key)?.filter((entry) => typeof entry === "string");
  }
}
