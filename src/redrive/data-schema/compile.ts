/**
 * Validates data against a JSON Schema (2020-12 or draft 7). A schema with an invalid or unsupported keyword is refused,
 * so that no check is skipped silently. `format` is not checked, as the standard allows.
 */
import { isJsonObject, type Json, type JsonObject, stringifyJson } from "../../std/json.ts";
import type { Path } from "../set-path.ts";
import { type Check, KEYWORDS, problemAt, schemaError } from "./keywords.ts";

/** Compiles a schema or throws `usage`. The result returns the first problem of the data, with its path. */
export function compileSchema(schema: Json): (data: Json) => string | undefined {
  const check = new Compiler(schema).compile(schema);
  return (data) => check(data, []);
}

/** Keywords that affect the result but are not supported. */
const UNSUPPORTED = ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

class Compiler {
  readonly #root: Json;
  readonly #targets = new Map<string, Check>();

  constructor(root: Json) {
    this.#root = root;
  }

  readonly compile = (schema: Json): Check => {
    if (schema === true) return () => undefined;
    if (schema === false) return (_, at) => problemAt(at, "is not allowed");
    if (!isJsonObject(schema)) throw schemaError(`${stringifyJson(schema)} is not a schema`);
    const checks = Object.entries(schema).flatMap(([name, value]) => this.#checksOf(name, value, schema));
    return (data, at) => {
      for (const check of checks) {
        const problem = check(data, at);
        if (problem !== undefined) return problem;
      }
      return undefined;
    };
  };

  #checksOf(name: string, value: Json, schema: JsonObject): Check[] {
    if (UNSUPPORTED.includes(name)) throw schemaError(`${name} is not supported`);
    if (name === "$ref") return [this.#reference(value)];
    const make = KEYWORDS.get(name);
    return make === undefined ? [] : [make({ name, value, schema, compile: this.compile })];
  }

  /** Compiled on first use, because a schema may refer to itself. */
  #reference(value: Json): Check {
    const target = resolvePointer(this.#root, value);
    const inProgress = new Set<Path>();
    return (data, at) => {
      if (inProgress.has(at)) throw schemaError(`${value} refers to itself endlessly`);
      inProgress.add(at);
      try {
        return this.#checkOf(String(value), target)(data, at);
      } finally {
        inProgress.delete(at);
      }
    };
  }

  #checkOf(reference: string, target: Json): Check {
    const known = this.#targets.get(reference);
    if (known) return known;
    const check = this.compile(target);
    this.#targets.set(reference, check);
    return check;
  }
}

/** Resolves references within the same document only; nothing is fetched. */
function resolvePointer(root: Json, reference: Json): Json {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) {
    throw schemaError(`$ref ${stringifyJson(reference)} does not point into the schema itself (#/…)`);
  }
  let place: Json | undefined = root;
  for (const step of reference.split("/").slice(1)) {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    place = entryOf(place, name);
    if (place === undefined) throw schemaError(`$ref ${reference} points to nothing`);
  }
  return place;
}

function entryOf(place: Json | undefined, name: string): Json | undefined {
  if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return undefined;
  return Reflect.get(place, name) as Json;
}
