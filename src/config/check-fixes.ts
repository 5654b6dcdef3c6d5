/**
 * Checks what the form of fixes cannot express: one change each, unique names, a match with conditions, and valid CEL.
 */
import { WorkError } from "../errors.ts";
import { LETTER_VARIABLES } from "../redrive/matcher.ts";
import { parsePath } from "../redrive/set-path.ts";
import { type Compiled, compileExpression, compileValue } from "../std/expression.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import type { Finding } from "../yaml/read-yaml.ts";

type Path = readonly PropertyKey[];

/** Ignores values that do not match the form, which are reported already. */
export function checkFixes(fixes: readonly Json[]): readonly Finding[] {
  return [
    ...sameNames(fixes),
    ...fixes.flatMap((fix, index) => (isJsonObject(fix) ? checkFix(fix, ["fixes", index]) : [])),
  ];
}

function sameNames(fixes: readonly Json[]): Finding[] {
  const names = fixes.map((fix) => (isJsonObject(fix) ? fix.name : undefined));
  return names.flatMap((name, index) =>
    typeof name === "string" && names.indexOf(name) < index
      ? [{ path: ["fixes", index, "name"], message: `there is another fix with the name "${name}"` }]
      : [],
  );
}

function checkFix(fix: JsonObject, path: Path): Finding[] {
  return [
    ...oneChange(fix, path),
    ...timeoutOfCommand(fix, path),
    ...checkMatch(fix.match, path),
    ...checkSet(fix.set, path),
  ];
}

const CHANGES = ["set", "patch", "command"];

function oneChange(fix: JsonObject, path: Path): Finding[] {
  const [first, ...others] = CHANGES.filter((key) => key in fix);
  if (first === undefined) {
    return [{ path, message: `a fix needs a change: ${CHANGES.join(", ")}`, lacks: CHANGES }];
  }
  return others.map((key) => ({
    path: [...path, key],
    atKey: true,
    message: `a fix has one change, and this one has ${first} already`,
  }));
}

function timeoutOfCommand(fix: JsonObject, path: Path): Finding[] {
  if (!("timeout" in fix) || "command" in fix) return [];
  return [{ path: [...path, "timeout"], atKey: true, message: "timeout has no meaning without command" }];
}

function checkMatch(match: Json | undefined, fix: Path): Finding[] {
  if (!isJsonObject(match)) return [];
  const path = [...fix, "match"];
  if (Object.keys(match).length === 0) {
    return [{ path, message: "it would match every letter; say which: group, type, class or filter" }];
  }
  const { filter } = match;
  if (typeof filter !== "string" || filter.trim() === "") return [];
  return told(compileExpression(filter, LETTER_VARIABLES), [...path, "filter"]);
}

function checkSet(set: Json | undefined, fix: Path): Finding[] {
  if (!isJsonObject(set)) return [];
  const path = [...fix, "set"];
  if (Object.keys(set).length === 0) return [{ path, message: "it changes nothing" }];
  return Object.entries(set).flatMap(([key, value]) => [
    ...unreadablePath(key, path),
    ...(typeof value === "string" && value.trim() !== ""
      ? told(compileValue(value, LETTER_VARIABLES), [...path, key])
      : []),
  ]);
}

function unreadablePath(text: string, set: Path): Finding[] {
  try {
    parsePath(text);
    return [];
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    const message = error.message.replace(/^T/, "t").replace(/\.$/, "");
    return [{ path: [...set, text], atKey: true, message }];
  }
}

function told<T>(compiled: Compiled<T>, path: Path): Finding[] {
  if (compiled.ok) return [];
  const { message, word, suggestion } = compiled;
  return [{ path, message, word, suggestion }];
}
