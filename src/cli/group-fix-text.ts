/** What helped the letters of a group before, in words. */
import type { GroupFix } from "../item/group.ts";
import type { Operation } from "../item/operation.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import type { KnownFix } from "../redrive/group-fixes.ts";
import { lettersText } from "./operation-text.ts";

/** When, how many letters, and after what: `2026-11-04 12:30  12 letters succeeded: …`. */
export function fixLine(known: KnownFix): string {
  const { at, count } = known.fix;
  return `${minuteText(at)}  ${lettersText(count)} succeeded: ${fixText(known)}`;
}

/** Just what was done: `edit op-e (set url=…) by ann, then retry op-x`. */
export function fixText({ fix, edit }: KnownFix): string {
  const retry = fix.operationId === undefined ? "a retry" : `retry ${fix.operationId}`;
  if (fix.kind === "auto_fix")
    return `the rule ${fix.rule ?? "of that time"} changed their data, then ${retry}`;
  if (fix.kind === "manual_fix") return `${editText(fix, edit)}, then ${retry}`;
  return `${retry}${byWhom(fix)} as they were, ${formatDuration(fix.waitedMs)} after they had died`;
}

function editText({ editId, author }: GroupFix, edit: Operation | undefined): string {
  const what = edit === undefined ? "" : ` (${changeText(edit)})`;
  const who = edit?.author ?? author;
  return `edit${editId === undefined ? "" : ` ${editId}`}${what}${who === undefined ? "" : ` by ${who}`}`;
}

function byWhom({ author }: GroupFix): string {
  return author === undefined ? "" : ` by ${author}`;
}

/** What an edit changed, from its plan. */
function changeText({ plan }: Operation): string {
  const { set, patch, fix } = plan;
  if (Array.isArray(set) && set.length > 0) return `set ${set.map(settingText).join(", ")}`;
  if (patch !== undefined) return `patch ${short(JSON.stringify(patch))}`;
  return isJsonObject(fix) ? `the rule ${String(fix.rule)}` : "new data";
}

function settingText(setting: Json): string {
  return isJsonObject(setting) ? short(`${setting.path}=${setting.value}`) : "";
}

const WORDS_CHARS_MAX = 60;

function short(text: string): string {
  return text.length > WORDS_CHARS_MAX ? `${text.slice(0, WORDS_CHARS_MAX)}…` : text;
}

/** To the minute, in UTC. */
export function minuteText(at: number): string {
  return toRfc3339(at).slice(0, 16).replace("T", " ");
}
