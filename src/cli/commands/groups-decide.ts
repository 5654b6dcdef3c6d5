/** `redrive groups resolve`, `ignore`, `open` and `note`: what a person decides about groups. */
import { WorkError } from "../../errors.ts";
import type { GroupChange, IgnoreUntil } from "../../item/group.ts";
import { fromRfc3339 } from "../../kit/clock.ts";
import { parseDuration } from "../../kit/duration.ts";
import { requireLiveGroup } from "../../redrive/find-group.ts";
import { type GroupView, groupViewToJson, viewGroup } from "../../redrive/groups.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { stateText } from "../group-text.ts";
import { lettersText } from "../operation-text.ts";
import { countOption, requireText } from "../option.ts";
import { clean } from "../paint.ts";

interface DecideFlags {
  readonly note?: string;
}

interface IgnoreFlags extends DecideFlags {
  readonly until?: string;
  readonly count?: string;
  readonly rate?: string;
}

type Decision = Omit<GroupChange, "author">;

export function groupsResolve(context: Context, groups: string[], flags: DecideFlags): Promise<number> {
  return decide(context, groups, () => ({ state: "resolved", ...noteFrom(flags) }));
}

export function groupsOpen(context: Context, groups: string[], flags: DecideFlags): Promise<number> {
  return decide(context, groups, () => ({ state: "open", ...noteFrom(flags) }));
}

export function groupsIgnore(context: Context, groups: string[], flags: IgnoreFlags): Promise<number> {
  return decide(context, groups, (now) => ({
    state: "ignored",
    ignoreUntil: untilFrom(flags, now),
    ...noteFrom(flags),
  }));
}

export function groupsNote(context: Context, group: string, text: string): Promise<number> {
  return decide(context, [group], () => ({ note: requireText("The note", text) }));
}

/** All groups are found before the first is changed: a word that means none changes nothing. */
async function decide(
  context: Context,
  words: readonly string[],
  decisionAt: (now: number) => Decision,
): Promise<number> {
  const author = authorOf(context.terminal.env);
  const views = await context.withStore(async (engine) => {
    const change = { ...decisionAt(await engine.now()), author };
    const signatures = new Set<string>();
    for (const word of words) signatures.add((await requireLiveGroup(engine, word)).signature);
    const changed: GroupView[] = [];
    for (const signature of signatures) {
      changed.push(await viewGroup(engine, await engine.markGroup(signature, change)));
    }
    return changed;
  });
  context.answer({ groups: views.map(groupViewToJson) }, () => views.map(decidedText).join(""));
  return EXIT.done;
}

function decidedText({ mark, group }: GroupView): string {
  const waiting = mark.state === "resolved" && group.count > 0;
  const left = waiting
    ? `  ${lettersText(group.count)} of it still ${group.count === 1 ? "waits" : "wait"}: redrive dlq list --group ${mark.signature}
`
    : "";
  return `${mark.signature}: ${clean(stateText(mark))}\n${left}`;
}

function noteFrom({ note }: DecideFlags): Pick<Decision, "note"> {
  return note === undefined ? {} : { note: requireText("--note", note) };
}

function untilFrom({ until, count, rate }: IgnoreFlags, now: number): IgnoreUntil {
  const letters = countOption("--count", count, 1);
  return {
    ...(until !== undefined && { at: timeFrom(until, now) }),
    ...(letters !== undefined && { count: letters }),
    ...(rate !== undefined && { perHour: rateFrom(rate) }),
  };
}

/** A time, or a duration from now. */
function timeFrom(text: string, now: number): number {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? fromRfc3339(text) : now + parseDuration(text, "--until");
  if (at !== undefined && at > now) return at;
  const why = at === undefined ? "is not a time" : "is over already";
  throw new WorkError("usage", `--until: "${text}" ${why}.`, {
    hint: "Write a time to come, e.g. 2026-12-24T08:00Z, or a duration from now, e.g. 2d.",
  });
}

function rateFrom(text: string): number {
  const [, number] = /^(\d+)\s*\/\s*h(?:our)?$/.exec(text.trim()) ?? [];
  if (number !== undefined && Number.isSafeInteger(Number(number))) return Number(number);
  throw new WorkError("usage", `--rate: "${text}" is not a rate by the hour.`, { hint: "Write e.g. 10/h." });
}
