/**
 * Checks what the form of `groups` and `classify` cannot express: unique names that are no signatures, matches with
 * conditions, and valid patterns.
 */
import { WorkError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { compilePattern } from "../std/pattern.ts";
import type { Finding } from "../yaml/read-yaml.ts";

type Path = readonly PropertyKey[];

/** Ignores values that do not match the form, which are reported already. */
export function checkGroups(groups: Json | undefined): readonly Finding[] {
  if (!Array.isArray(groups)) return [];
  const names = groups.map((group) => (isJsonObject(group) ? nameOf(group) : undefined));
  return groups.flatMap((group, index) => {
    if (!isJsonObject(group)) return [];
    const path = ["groups", index];
    const isTaken = names[index] !== undefined && names.indexOf(names[index]) < index;
    return [
      ...checkName(names[index], [...path, "name"], isTaken),
      ...checkMatch(group.match, [...path, "match"], "type, class, step, text or pattern"),
    ];
  });
}

/** Like `checkGroups` for `classify`, whose rules have a result instead of a name. */
export function checkClassRules(rules: Json | undefined): readonly Finding[] {
  if (!Array.isArray(rules)) return [];
  return rules.flatMap((rule, index) => {
    if (!isJsonObject(rule)) return [];
    const path = ["classify", index];
    const isIdle = rule.type === undefined && rule.class === undefined;
    return [
      ...(isIdle ? [{ path, message: "it changes nothing; add type, class or both" }] : []),
      ...checkMatch(rule.match, [...path, "match"], "type, exit_code, step, text or pattern"),
    ];
  });
}

function nameOf({ name }: JsonObject): string | undefined {
  return typeof name === "string" ? name.trim() : undefined;
}

const NAME_CHARS_MAX = 200;

function checkName(name: string | undefined, path: Path, isTaken: boolean): readonly Finding[] {
  if (name === undefined) return [];
  if (isTaken) return [{ path, message: `there is another group with the name "${name}"` }];
  if (name.length > NAME_CHARS_MAX)
    return [{ path, message: `it is longer than ${NAME_CHARS_MAX} characters` }];
  if (name.includes(",")) return [{ path, message: "a comma would make it two names in --group" }];
  return /^[0-9a-f]{16}$/.test(name) ? [{ path, message: "it would be taken for a signature" }] : [];
}

function checkMatch(match: Json | undefined, path: Path, keys: string): readonly Finding[] {
  if (!isJsonObject(match)) return [];
  if (Object.keys(match).length === 0) {
    return [{ path, message: `it would match every failure; say which: ${keys}` }];
  }
  const { pattern } = match;
  return typeof pattern === "string" && pattern.trim() !== "" ? unusable(pattern, [...path, "pattern"]) : [];
}

function unusable(pattern: string, path: Path): readonly Finding[] {
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    return [{ path, message: error.message.replace(/^T/, "t").replace(/\.$/, "") }];
  }
}
