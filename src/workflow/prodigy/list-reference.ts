/** Reads references to lists with modifiers, such as `${step.files_added:*.md:json}` and `${files|basename}`. */
import { CHANGE_FIELDS } from "../git-variables.ts";

/** A path such as `step.files_added`, with the equivalent filters of Redrive. */
export interface ListReference {
  readonly path: string;
  readonly filters: readonly string[];
  readonly isGit: boolean;
}

/** Change fields that are lists. The others are numbers. */
const GIT_LISTS: ReadonlySet<string> = new Set(
  CHANGE_FIELDS.filter((field) => field.startsWith("files_") || field === "commits"),
);
const GIT_PATH = /^(step|workflow)(?:\.([A-Za-z_]\w*))?\.(\w+)$/;
const WITH_MODIFIERS = /^([A-Za-z_]\w*(?:\.[\w-]+|\[\d+\])*)((?:[:|][^:|]+)*)$/s;

const FORMATS: Readonly<Record<string, string>> = {
  json: "json",
  lines: "lines",
  newline: "lines",
  csv: "csv",
  comma: "csv",
  basename: "basename",
};

/**
 * Returns undefined for other references, and for modifiers that a shell would interpret. `isList` recognises
 * further names of lists.
 */
export function readListReference(
  inner: string,
  isList: (name: string) => boolean = () => false,
): ListReference | undefined {
  const [, base = "", modifiers = ""] = WITH_MODIFIERS.exec(inner) ?? [];
  if (base === "") return undefined;
  const [, owner, id, field = ""] = GIT_PATH.exec(base) ?? [];
  const isGit = owner !== undefined && CHANGE_FIELDS.includes(field);
  if (!isGit && (modifiers === "" || !isList(base.split(/[.[]/)[0] ?? ""))) return undefined;
  const path = isGit && id !== undefined ? `steps.${id}.${field}` : base;
  const filters = filtersOf(modifiers, isGit);
  if (filters === undefined) return undefined;
  const isWords =
    isGit && GIT_LISTS.has(field) && !filters.some((filter) => ["json", "lines", "csv"].includes(filter));
  return { path, filters: isWords ? [...filters, "words"] : filters, isGit };
}

/** Parses the modifiers of a file list, such as `:*.md:json`. Without a format, each file is a word. */
export function readFileFilters(modifiers: string): readonly string[] | undefined {
  const filters = filtersOf(modifiers, true);
  const hasFormat = filters?.some((filter) => ["json", "lines", "csv"].includes(filter));
  return hasFormat ? filters : filters && [...filters, "words"];
}

function filtersOf(modifiers: string, isGit: boolean): readonly string[] | undefined {
  const filters: string[] = [];
  for (const part of modifiers.split(/[:|]/).slice(1)) {
    const format = FORMATS[part];
    const isGlob = isGit && /[*?/]/.test(part) && !part.startsWith("?");
    if (part === "pattern") continue;
    if (format === undefined && !isGlob) return undefined;
    filters.push(format ?? `match:${part}`);
  }
  return filters;
}
