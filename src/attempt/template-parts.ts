/**
 * The grammar of `${…}`: a text is cut into what stands there and the places to fill, and a place is looked up in the
 * values. Which variables exist, and how a value is quoted, is for its users to say.
 */
import { basename, dirname, extname } from "node:path";
import { asText, isJsonObject, type Json } from "../kit/json.ts";

/** The values in place, or why there are none. */
export type Filled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** `${name.path[0]:-fallback}`. */
export interface Place {
  readonly kind: "place";
  readonly written: string;
  readonly name: string;
  readonly path: readonly PathStep[];
  readonly fallback: string | undefined;
  /** `${raw:…}`: the value goes into a shell script as it is. */
  readonly isRaw: boolean;
  /** What of the value goes in; absent is all of it. */
  readonly of?: (value: string) => string;
}

/** Begins like a variable and is none. */
export interface Unreadable {
  readonly kind: "unreadable";
  readonly written: string;
}

export type PathStep = string | number;
export type TemplatePart = string | Place | Unreadable;

/** `$${`, then `${…}` (or its beginning without an end), then `{}` and its kin where they count. */
const PLACE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const PLACE_OR_BRACES = /\$\$\{|\$\{([^}]*)(\}?)|\{(?:\.|\/|\/\/|\/\.|#)?\}/g;

/** The replacement strings of GNU parallel: which variable, and what of its value. */
const BRACES: Readonly<Record<string, Pick<Place, "name" | "of">>> = {
  "{}": { name: "item" },
  "{.}": { name: "item", of: withoutExtension },
  "{/}": { name: "item", of: basename },
  "{//}": { name: "item", of: dirname },
  "{/.}": { name: "item", of: (value) => withoutExtension(basename(value)) },
  "{#}": { name: "index", of: (value) => String(Number(value) + 1) },
};

/** The name of a hidden file is no extension. */
function withoutExtension(path: string): string {
  return path.slice(0, path.length - extname(path).length);
}

/** Whether the text has a variable of any form, as an argument of a command. */
export function hasVariable(text: string): boolean {
  return templateParts(text, { braces: true }).some((part) => typeof part !== "string");
}

/** Cuts the text. `$${` stands for `${`; with `braces` also `{}`, `{.}`, `{/}`, `{//}`, `{/.}` and `{#}` are places. */
export function templateParts(text: string, options: { readonly braces?: boolean } = {}): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (const match of text.matchAll(options.braces ? PLACE_OR_BRACES : PLACE)) {
    parts.push(text.slice(at, match.index), readPlace(match));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

function readPlace(match: RegExpExecArray): TemplatePart {
  const [written, inside, end] = match;
  if (written === "$${") return "${";
  const braces = BRACES[written];
  if (braces) return { kind: "place", written, path: [], fallback: undefined, isRaw: false, ...braces };
  const parsed = end === "}" ? PLACE_INSIDE.exec(inside ?? "") : null;
  if (!parsed) return { kind: "unreadable", written };
  const [, raw, name = "", path = "", fallback] = parsed;
  return { kind: "place", written, name, path: readPath(path), fallback, isRaw: raw !== undefined };
}

/** A name, then fields and indexes, then perhaps a default. */
const PLACE_INSIDE = /^(raw:)?([A-Za-z_]\w*)((?:\.[^.[\]:\s]+|\[\d+\]|\["[^"]*"\])*)(?::-(.*))?$/s;
const PATH_STEP = /\.([^.[\]:\s]+)|\[(\d+)\]|\["([^"]*)"\]/g;

function readPath(path: string): PathStep[] {
  return Array.from(path.matchAll(PATH_STEP), ([, field, index, quoted]) =>
    index === undefined ? (field ?? quoted ?? "") : Number(index),
  );
}

/**
 * The text for a place: a string as it is, all else as JSON; undefined when there is no value. A null counts as
 * missing where a default is given; without one it is JSON like any other value.
 */
export function lookUp(place: Place, values: Readonly<Record<string, Json>>): string | undefined {
  let value: Json | undefined = Object.hasOwn(values, place.name) ? values[place.name] : undefined;
  for (const step of place.path) value = value === undefined ? undefined : stepInto(value, step);
  if (place.fallback !== undefined && (value ?? null) === null) return place.fallback;
  if (value === undefined) return undefined;
  return place.of === undefined ? asText(value) : place.of(asText(value));
}

function stepInto(value: Json, step: PathStep): Json | undefined {
  if (typeof step === "number") return Array.isArray(value) ? (value as readonly Json[])[step] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** The place without its braces and default: `item.list[0]`. */
export function wayTo({ name, path }: Place): string {
  return name + path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}
