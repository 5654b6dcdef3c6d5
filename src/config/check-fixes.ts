/** Checks `fixes` beyond the schema: one change each, unique names, a match with conditions, and valid CEL. */
import { LETTER_VARIABLES } from "../redrive/matcher.ts";
import { type Compiled, compileExpression, compileValue } from "../std/expression.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { parsePath } from "../std/set-path.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import {
  atKey,
  checkOneKey,
  eachObject,
  isText,
  type Path,
  refusalOf,
  repeatedNames,
} from "./check-rules.ts";

export function checkFixes(fixes: Json | undefined): readonly Finding[] {
  return [...repeatedNames(fixes, ["fixes"], "fix"), ...eachObject(fixes, ["fixes"], checkFix)];
}

const CHANGES = ["set", "patch", "command"];

function checkFix(fix: JsonObject, path: Path): readonly Finding[] {
  return [
    ...checkOneKey(fix, path, CHANGES, {
      none: `a fix needs a change: ${CHANGES.join(", ")}`,
      more: (first) => `a fix can have only one change, and this one already has ${first}`,
    }),
    ...("timeout" in fix && !("command" in fix)
      ? [atKey([...path, "timeout"], "timeout has no effect without command")]
      : []),
    ...checkMatch(fix.match, [...path, "match"]),
    ...checkSet(fix.set, [...path, "set"]),
  ];
}

function checkMatch(match: Json | undefined, path: Path): readonly Finding[] {
  if (!isJsonObject(match)) return [];
  if (Object.keys(match).length === 0)
    return [{ path, message: "this would match every letter; add group, type, class or filter" }];
  const { filter } = match;
  return isText(filter) ? problemOf(compileExpression(filter, LETTER_VARIABLES), [...path, "filter"]) : [];
}

function checkSet(set: Json | undefined, path: Path): readonly Finding[] {
  if (!isJsonObject(set)) return [];
  if (Object.keys(set).length === 0) return [{ path, message: "this changes nothing" }];
  return Object.entries(set).flatMap(([key, value]) => [
    ...refusalOf(() => parsePath(key), { path: [...path, key], atKey: true }),
    ...(isText(value) ? problemOf(compileValue(value, LETTER_VARIABLES), [...path, key]) : []),
  ]);
}

function problemOf<T>(compiled: Compiled<T>, path: Path): readonly Finding[] {
  if (compiled.ok) return [];
  const { message, word, suggestion } = compiled;
  return [{ path, message, word, suggestion }];
}
