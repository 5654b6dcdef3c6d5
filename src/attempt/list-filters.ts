/** Filters of variables that contain a list: `${step.files_changed|match:*.rs|lines}`. */
import { asText, type Json, stringifyJson } from "../std/json.ts";
import { globMatcher } from "../std/pattern.ts";

export type ListFilter =
  /** In a script, each element becomes a separate word; elsewhere they are joined with spaces. */
  | { readonly kind: "words" | "lines" | "csv" | "json" | "basename" }
  /** Keeps the elements that match the glob. `*` also matches `/`. */
  | { readonly kind: "match"; readonly glob: string };

/** Parses `|match:*.rs|lines`, which the grammar of variables has already validated. */
export function readFilters(text: string): readonly ListFilter[] {
  return text
    .split("|")
    .slice(1)
    .map((filter) =>
      filter.startsWith("match:")
        ? { kind: "match", glob: filter.slice("match:".length) }
        : { kind: filter as "words" },
    );
}

/** The elements that remain after filtering. A value that is not a list is split into lines. */
export function selectedFrom(value: Json, filters: readonly ListFilter[]): readonly string[] {
  const all = Array.isArray(value)
    ? (value as readonly Json[]).map(asText)
    : asText(value).split(/\r?\n/).filter(Boolean);
  return filters.reduce<readonly string[]>((texts, filter) => {
    if (filter.kind === "match") return texts.filter(globMatcher(filter.glob));
    return filter.kind === "basename" ? texts.map((text) => text.replace(/^.*\//, "")) : texts;
  }, all);
}

export function listText(value: Json, filters: readonly ListFilter[]): string {
  const selects = filters.some(({ kind }) => kind === "match" || kind === "basename");
  const format = filters.findLast(({ kind }) => kind !== "match" && kind !== "basename")?.kind ?? "words";
  if (format === "json" && !selects) return stringifyJson(value);
  const texts = selectedFrom(value, filters);
  if (format === "json") return stringifyJson(texts);
  return texts.join(SEPARATORS[format] ?? " ");
}

const SEPARATORS: Readonly<Record<string, string>> = { lines: "\n", csv: "," };
