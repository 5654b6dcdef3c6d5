/** Masks parts with an inner structure: paths of fields, objects in braces, and SQL statements after a colon. */
import { type Hit, type Masker, replaceAll } from "./masker.ts";

export const STRUCTURE_MASKER: Masker = { masks: ["field", "data", "list", "sql"], mask: maskStructures };

function maskStructures(text: string, hit?: Hit): string {
  let masked = text;
  if (text.includes("{")) masked = maskObjects(masked, hit);
  if (text.includes("[")) masked = maskWith("list", masked, LIST, hit);
  if (STATEMENT_HINT.test(masked)) masked = maskWith("sql", masked, STATEMENT, hit);
  return FIELD_HINT.test(masked) ? maskFieldPaths(masked, hit) : masked;
}

function maskWith(mask: string, text: string, shape: RegExp, hit?: Hit): string {
  return replaceAll(text, shape, (match) => {
    hit?.(mask, match, `<${mask}>`);
    return `<${mask}>`;
  });
}

const OBJECT = /(?<!^)\{[^{}]{0,400}\}|^\{[^{}]{0,400}\}(?= [a-z])/g;
const ROUNDS_MAX = 5;
/** A field that describes the failure. Its object is part of the message. */
const DESCRIBES_FAILURE = /(?:^|[\s{,"'])(?:code|details?|err|errors?|message|msg|reason)["']?\s{0,4}[:=]/i;

/** Each round masks the innermost objects. A message that is an object and an object that describes the failure stay. */
function maskObjects(text: string, hit?: Hit): string {
  let masked = text;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = masked;
    masked = replaceAll(masked, OBJECT, (match) => {
      if (match.length === 2 || DESCRIBES_FAILURE.test(match)) return undefined;
      hit?.("data", match, "<data>");
      return "<data>";
    });
    if (masked === before) break;
  }
  return masked;
}

/** `[red, blue]`, and `[red]` where a value stands. The list of allowed values belongs to the message. */
const LIST =
  /(?<=[ =:(]|^)(?<!\b(?:of|set|list|values|options|choices):? )\[[^[\],]{0,100}(?:,[^[\]]{1,300})\]|(?<=[:=] )(?<!\b(?:set|list|values|options|choices): )\[[^[\]]{1,100}\](?=[,;.)]|$)/g;

const STATEMENT_HINT = /: [A-Z]{4}/;
const STATEMENT = /(?<=: )(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP) .{8,}$/g;

const FIELD_HINT = /[a-z\d\]](?:\[|\.[A-Za-z_])/;
/** `spec.items[0].name`, followed by punctuation. A colon after it belongs to the match. */
const FIELD_PATH =
  /(?<![\w./\\@:"'`~#$%&=+<>-])[a-z][A-Za-z\d]*(?:\[[^[\]\s"]{0,80}\]|\.[A-Za-z_][\w-]*){1,30}(?::(?= |$)|(?=$|[,;)]))/g;
const ABBREVIATION = /^(?:e\.g|i\.e)$/;
const CLASS_AT_END = /\.[A-Z]\w*$/;

/** A path without an index is a field only before a colon, because it may be a host. `sshd[17]` is a program and its process. */
function isFieldPath(path: string, isBeforeColon: boolean): boolean {
  if (!path.includes("[")) return isBeforeColon;
  return path.includes(".") || /^[a-z]+[A-Z]/.test(path);
}

function maskFieldPaths(text: string, hit?: Hit): string {
  return replaceAll(text, FIELD_PATH, (match) => {
    const path = match.endsWith(":") ? match.slice(0, -1) : match;
    if (ABBREVIATION.test(path) || CLASS_AT_END.test(path) || !isFieldPath(path, match !== path))
      return undefined;
    hit?.("field", path, "<field>");
    return `<field>${match.slice(path.length)}`;
  });
}
