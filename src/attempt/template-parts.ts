/** The grammar of `${…}`: splits a text into literals and placeholders, and looks up values. */
import { basename, dirname, extname } from "node:path";
import { asText, isJsonObject, type Json } from "../std/json.ts";

/** The text with its values, or the reason why there is none. */
export type Filled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** `${name.path[0]:-fallback}`. */
export interface Placeholder {
  readonly kind: "placeholder";
  readonly written: string;
  readonly name: string;
  readonly path: readonly PathStep[];
  readonly fallback: string | undefined;
  /** `${raw:…}`: the value is inserted into a shell script without quoting. */
  readonly isRaw: boolean;
  /** Selects a part of the value. Default: all of it. */
  readonly of?: (value: string) => string;
}

/** Begins like a placeholder but is invalid. */
export interface Unreadable {
  readonly kind: "unreadable";
  readonly written: string;
}

export type PathStep = string | number;
export type TemplatePart = string | Placeholder | Unreadable;

/** `$${`, `${…}` (possibly unclosed), and `{}` with its variants where they are allowed. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g;
const PLACEHOLDER_OR_BRACES = /\$\$\{|\$\{([^}]*)(\}?)|\{(?:\.|\/|\/\/|\/\.|#)?\}/g;

/** The replacement strings of GNU parallel. */
const BRACES: Readonly<Record<string, Pick<Placeholder, "name" | "of">>> = {
  "{}": { name: "item" },
  "{.}": { name: "item", of: withoutExtension },
  "{/}": { name: "item", of: basename },
  "{//}": { name: "item", of: dirname },
  "{/.}": { name: "item", of: (value) => withoutExtension(basename(value)) },
  "{#}": { name: "index", of: (value) => String(Number(value) + 1) },
};

/** The name of a hidden file is not an extension. */
function withoutExtension(path: string): string {
  return path.slice(0, path.length - extname(path).length);
}

/** Whether an argument of a command contains a placeholder of any form. */
export function hasVariable(text: string): boolean {
  return templateParts(text, { braces: true }).some((part) => typeof part !== "string");
}

/** Splits the text. `$${` is a literal `${`. With `braces`, `{}`, `{.}`, `{/}`, `{//}`, `{/.}` and `{#}` are placeholders. */
export function templateParts(text: string, options: { readonly braces?: boolean } = {}): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (const match of text.matchAll(options.braces ? PLACEHOLDER_OR_BRACES : PLACEHOLDER)) {
    parts.push(text.slice(at, match.index), readPlaceholder(match));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

function readPlaceholder(match: RegExpExecArray): TemplatePart {
  const [written, inside, end] = match;
  if (written === "$${") return "${";
  const braces = BRACES[written];
  if (braces) return { kind: "placeholder", written, path: [], fallback: undefined, isRaw: false, ...braces };
  const parsed = end === "}" ? PLACEHOLDER_INSIDE.exec(inside ?? "") : null;
  if (!parsed) return { kind: "unreadable", written };
  const [, raw, name = "", path = "", fallback] = parsed;
  return { kind: "placeholder", written, name, path: readPath(path), fallback, isRaw: raw !== undefined };
}

/** A name, then fields and indexes, then an optional default. */
const PLACEHOLDER_INSIDE = /^(raw:)?([A-Za-z_]\w*)((?:\.[^.[\]:\s]+|\[\d+\]|\["[^"]*"\])*)(?::-(.*))?$/s;
const PATH_STEP = /\.([^.[\]:\s]+)|\[(\d+)\]|\["([^"]*)"\]/g;

function readPath(path: string): PathStep[] {
  return Array.from(path.matchAll(PATH_STEP), ([, field, index, quoted]) =>
    index === undefined ? (field ?? quoted ?? "") : Number(index),
  );
}

/** A string as it is, other values as JSON; undefined when there is none. With a default, null counts as missing. */
export function lookUp(placeholder: Placeholder, values: Readonly<Record<string, Json>>): string | undefined {
  let value: Json | undefined = Object.hasOwn(values, placeholder.name)
    ? values[placeholder.name]
    : undefined;
  for (const step of placeholder.path) value = value === undefined ? undefined : stepInto(value, step);
  if (placeholder.fallback !== undefined && (value ?? null) === null) return placeholder.fallback;
  if (value === undefined) return undefined;
  return placeholder.of === undefined ? asText(value) : placeholder.of(asText(value));
}

function stepInto(value: Json, step: PathStep): Json | undefined {
  if (typeof step === "number") return Array.isArray(value) ? (value as readonly Json[])[step] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** The placeholder without its braces and default: `item.list[0]`. */
export function variablePath({ name, path }: Placeholder): string {
  return name + path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}
