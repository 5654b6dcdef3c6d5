/**
 * Checks `groups` and `classify` beyond the schema. The checks of all lists in `redrive.yml` skip values that do not match
 * the schema, because these are already reported.
 */
import { RedriveError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { compilePattern } from "../std/pattern.ts";
import type { Finding } from "../yaml/read-yaml.ts";

export type Path = readonly PropertyKey[];

export function checkGroups(groups: Json | undefined): readonly Finding[] {
  return [
    ...repeatedNames(groups, ["groups"], "group"),
    ...eachObject(groups, ["groups"], (group, path) => [
      ...checkName(group.name, [...path, "name"]),
      ...checkMatch(group.match, [...path, "match"], "type, class, step, text or pattern"),
    ]),
  ];
}

export function checkClassRules(rules: Json | undefined): readonly Finding[] {
  return eachObject(rules, ["classify"], (rule, path) => [
    ...(rule.type === undefined && rule.class === undefined
      ? [{ path, message: "this changes nothing; add type, class or both" }]
      : []),
    ...checkMatch(rule.match, [...path, "match"], "type, exit_code, step, text or pattern"),
  ]);
}

const NAME_CHARS_MAX = 200;

function checkName(given: Json | undefined, path: Path): readonly Finding[] {
  if (typeof given !== "string") return [];
  const name = given.trim();
  if (name.length > NAME_CHARS_MAX)
    return [{ path, message: `this is longer than ${NAME_CHARS_MAX} characters` }];
  if (name.includes(","))
    return [{ path, message: "a comma is not allowed, because it separates names in --group" }];
  return /^[0-9a-f]{16}$/.test(name) ? [{ path, message: "this looks like a signature" }] : [];
}

function checkMatch(match: Json | undefined, path: Path, keys: string): readonly Finding[] {
  if (!isJsonObject(match)) return [];
  if (Object.keys(match).length === 0)
    return [{ path, message: `this would match every failure; add ${keys}` }];
  const { pattern } = match;
  if (!isText(pattern)) return [];
  return refusalOf(() => compilePattern(pattern), { path: [...path, "pattern"] });
}

export function isText(value: Json | undefined): value is string {
  return typeof value === "string" && value.trim() !== "";
}

export function eachObject(
  list: Json | undefined,
  path: Path,
  check: (value: JsonObject, path: Path) => readonly Finding[],
): readonly Finding[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((value, index) => (isJsonObject(value) ? check(value, [...path, index]) : []));
}

export function repeatedNames(list: Json | undefined, path: Path, what: string): readonly Finding[] {
  const seen = new Set<string>();
  return eachObject(list, path, ({ name }, at) => {
    if (typeof name !== "string") return [];
    const isTaken = seen.has(name.trim());
    seen.add(name.trim());
    const message = `the name "${name.trim()}" is already used by another ${what}`;
    return isTaken ? [{ path: [...at, "name"], message }] : [];
  });
}

/** Reports a problem unless exactly one of the keys is present. */
export function checkOneKey(
  value: JsonObject,
  path: Path,
  keys: readonly string[],
  message: { readonly none: string; readonly more: (first: string) => string },
): readonly Finding[] {
  const [first, ...others] = keys.filter((key) => key in value);
  if (first === undefined) return [{ path, message: message.none, lacks: keys }];
  return others.map((key) => atKey([...path, key], message.more(first)));
}

export function atKey(path: Path, message: string): Finding {
  return { path, atKey: true, message };
}

/** Returns the parser's error as a problem; empty if the value is valid. */
export function refusalOf(parse: () => unknown, at: Pick<Finding, "path" | "atKey">): readonly Finding[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    return [{ ...at, message: error.message.replace(/^T/, "t").replace(/\.$/, "") }];
  }
}
