/** Groups for a person: a list of them, and one with all that is known of it. */

import type { GroupFix, GroupMark, IgnoreUntil } from "../../item/group.ts";
import type { Operation } from "../../item/operation.ts";
import type { GroupExplanation, NearGroup } from "../../redrive/explain-group.ts";
import type { GroupList, GroupSummary, GroupView, KnownFix, Outdated } from "../../redrive/groups.ts";
import { formatDuration } from "../../std/duration.ts";
import { isJsonObject, type Json, stringifyJson } from "../../std/json.ts";
import type { Explanation } from "../../triage/explain.ts";
import { groupTitle, locationText, titleLine } from "../../triage/title.ts";
import type { Fact, Screen, Section, Step } from "./details.ts";
import { detailsText, titleOf } from "./details.ts";
import { groupTable } from "./failures.ts";
import { clean, fit } from "./paint.ts";
import { shorten } from "./shorten.ts";
import { agoText, lettersText, minuteText, thousands } from "./words.ts";

interface ListScreen extends Screen {
  readonly now: number;
  /** What a signature is shown as. Default: all of it. */
  readonly nameOf?: (signature: string) => string;
}

/** A page of groups, what was left out of it, and whether they are as this version would make them. */
export function groupListText(
  { groups, leftOut, outdated }: GroupList,
  { shown, ...screen }: ListScreen & { readonly shown: readonly GroupSummary[] },
): string {
  const { paint } = screen;
  const count = `${thousands(shown.length)} of ${thousands(groups.length)} ${groups.length === 1 ? "group" : "groups"}.`;
  const lines = [
    groups.length === 0 ? "No groups.\n" : `${listTable(shown, screen)}${paint.dim(count)}\n`,
    leftOutText(leftOut),
    outdatedText(outdated),
  ];
  return lines.join("");
}

function listTable(
  groups: readonly GroupSummary[],
  { paint, columns, now, nameOf = (signature) => signature }: ListScreen,
): string {
  const ago = (at: number | undefined) => (at === undefined ? "" : agoText(now - at));
  return groupTable(
    groups,
    [
      { title: "GROUP", value: ({ signature }) => nameOf(signature) },
      { title: "LETTERS", value: ({ count }) => thousands(count), align: "right" },
      {
        title: "STATE",
        value: stateWord,
        paint: (cell, { isRegression }) => (isRegression ? paint.red(cell) : cell),
      },
      { title: "FIRST", value: ({ firstAt }) => ago(firstAt), giveUp: 3 },
      { title: "LAST", value: ({ lastAt }) => ago(lastAt), giveUp: 2 },
      { title: "JOBS", value: ({ jobs }) => jobsText(jobs), cutTo: 10, giveUp: 4 },
    ],
    { paint, columns },
  );
}

function stateWord({ state, isRegression }: Pick<GroupSummary, "state" | "isRegression">): string {
  return isRegression ? "regression" : state;
}

function jobsText(jobs: readonly string[]): string {
  const [first = ""] = jobs;
  return jobs.length > 1 ? `${first} +${jobs.length - 1}` : first;
}

function leftOutText(leftOut: GroupList["leftOut"]): string {
  const parts = Object.entries(leftOut).filter(([, count]) => count > 0);
  if (parts.length === 0) return "";
  return `Left out: ${parts.map(([state, count]) => `${count} ${state}`).join(", ")} (--state all).\n`;
}

/** Letters keep the group that they were given; only a person regroups them. */
function outdatedText({ letters, algorithms }: Outdated): string {
  if (letters === 0) return "";
  const were = letters === 1 ? "was" : "were";
  return `${lettersText(letters)} ${were} grouped by an older algorithm (${algorithms.join(", ")}): redrive groups rebuild\n`;
}

/** One group in detail. */
export function groupText(
  { group, mark, samples }: GroupView,
  fixes: readonly KnownFix[],
  screen: Screen,
): string {
  const { title, location } = groupTitle(mark.pattern);
  const facts: readonly Fact[] = [
    ["Error", title],
    ["Where", locationText(location)],
    ["State", stateText(mark)],
    ["Letters", countText(group)],
    ["Type", group.errorType ? `${group.errorType}, ${group.errorClass}` : undefined],
    ["Jobs", group.jobs.join(", ")],
    ["Samples", samples.join(", ")],
    ["Pattern", mark.pattern],
  ];
  const next = { title: "Next", next: stepsOf(group) };
  return detailsText(
    [{ ...titleOf(group.signature), facts }, ...knownSections(mark, fixes, screen), next],
    screen,
  );
}

/** Notes, and what helped before. */
export function knownSections(
  { notes }: Pick<GroupMark, "notes">,
  fixes: readonly KnownFix[],
  { columns }: Screen,
): readonly Section[] {
  const line = (text: string) => fit(text, columns * 2);
  return [
    {
      title: "Notes",
      lines: notes.map(({ at, author, text }) => line(`${minuteText(at)}  ${author}: ${text}`)),
    },
    { title: "What helped before", lines: fixes.map((fix) => line(fixLine(fix))) },
  ];
}

/** How a group stands, in a line. */
export function stateText(mark: GroupMark): string {
  const { state, since, author, regressions, isRegression, ignoreUntil } = mark;
  const who = author === undefined ? "" : ` by ${author}`;
  const back =
    regressions === 0
      ? ""
      : `; came back ${regressions === 1 ? "once" : `${regressions} times`} after it was resolved`;
  const until = state === "ignored" ? ` ${untilText(ignoreUntil)}` : "";
  return `${isRegression ? "open again, a regression," : state}${until} since ${minuteText(since)}${who}${back}`;
}

/** `until 2026-12-24 08:00, 10 new letters or more than 5 an hour`. */
export function untilText({ at, count, perHour }: IgnoreUntil = {}): string {
  const ends = [
    ...(at === undefined ? [] : [minuteText(at)]),
    ...(count === undefined ? [] : [`${count} new ${count === 1 ? "letter" : "letters"}`]),
    ...(perHour === undefined ? [] : [`more than ${perHour} within an hour`]),
  ];
  return ends.length === 0 ? "until somebody opens it" : `until ${ends.join(" or ")}`;
}

function countText({ count, firstAt, lastAt }: GroupSummary): string {
  if (firstAt === undefined || lastAt === undefined || count === 0) return "none waiting";
  return `${thousands(count)} waiting; first ${minuteText(firstAt)}, last ${minuteText(lastAt)}`;
}

function stepsOf({ signature, count, state, jobs: [job] }: GroupSummary): readonly Step[] {
  const retry = job === undefined ? [] : [`redrive dlq retry ${clean(job)} --group ${signature} --canary`];
  const commands = [
    ...(count > 0 ? [`redrive dlq list --group ${signature}`, ...retry] : []),
    `redrive groups explain ${signature}`,
    ...(state === "open" ? [] : [`redrive groups open ${signature}`]),
  ];
  return commands.map((command) => ({ command }));
}

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
  if (patch !== undefined) return `patch ${short(stringifyJson(patch))}`;
  return isJsonObject(fix) ? `the rule ${String(fix.rule)}` : "new data";
}

function settingText(setting: Json): string {
  return isJsonObject(setting) ? short(`${setting.path}=${setting.value}`) : "";
}

const WORDS_CHARS_MAX = 60;

function short(text: string): string {
  return text.length > WORDS_CHARS_MAX ? `${text.slice(0, WORDS_CHARS_MAX)}…` : text;
}

const LINES_MAX = 12;
const HITS_MAX = 30;
const FRAMES_MAX = 10;

export function explanationText(explanation: GroupExplanation, screen: Screen): string {
  const { paint, columns } = screen;
  const { signature, pattern, itemId, jobId, reading } = explanation;
  const head = [
    paint.bold(signature),
    `  ${fit(titleLine(pattern), columns * 2)}`,
    `  ${paint.dim(fit(`pattern: ${pattern}`, columns * 2))}`,
    itemId === undefined ? "  No letter of it is left." : `  by the letter ${clean(itemId)} of ${jobId}`,
  ];
  const sections = [
    head,
    decidedLines(explanation, screen),
    ...(reading ? readingSections(reading, screen) : []),
    nearLines(explanation.nearest, screen),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** Rules and corrections go before the reading; who wonders about a group has to know. */
function decidedLines(explanation: GroupExplanation, { paint }: Screen): readonly string[] {
  const { group, correctedTo, wouldMove, signature } = explanation;
  const lines = [
    ...(group?.rule === undefined ? [] : [`By the rule "${clean(group.rule)}" of redrive.yml.`]),
    ...(correctedTo === undefined || group === undefined
      ? []
      : [`Moved from ${group.signature} to ${correctedTo}: redrive groups corrections`]),
    ...(wouldMove
      ? [
          paint.yellow(
            `Now it would be in ${correctedTo ?? group?.signature ?? signature}: redrive groups rebuild`,
          ),
        ]
      : []),
  ];
  return lines.length === 0 ? [] : [paint.bold("Decided"), ...lines.map((line) => `  ${line}`)];
}

function readingSections(reading: Explanation, screen: Screen): readonly (readonly string[])[] {
  const { paint, columns } = screen;
  const { lines, source, why, hits, framesCounted, framesSkipped } = reading;
  const room = Math.max(40, columns - 2);
  const some = (texts: readonly string[], max: number) => [
    ...texts.slice(0, max).map((text) => `  ${fit(text, room)}`),
    ...(texts.length > max ? [paint.dim(`  … ${texts.length - max} more; --json has all`)] : []),
  ];
  const frames = [
    ...framesCounted.map((frame) => `+ ${frameText(frame)}`),
    ...framesSkipped.map((frame) => `- ${frameText(frame)} (not counted)`),
  ];
  const masks = hits.map(({ masker, before, after }) => `${masker}: ${clean(before)} → ${after}`);
  return [
    [
      `${paint.bold("Read")} (${source}: ${why})`,
      ...some(lines.length === 0 ? ["nothing"] : lines, LINES_MAX),
    ],
    ...(masks.length === 0 ? [] : [[paint.bold("Masked"), ...some(masks, HITS_MAX)]]),
    ...(frames.length === 0 ? [] : [[paint.bold("Frames"), ...some(frames, FRAMES_MAX)]]),
  ];
}

function frameText({ function: name, file }: Explanation["framesCounted"][number]): string {
  const called = name === "" ? "(no name)" : name;
  return file === undefined ? called : `${called} in ${file}`;
}

function nearLines(nearest: readonly NearGroup[], { paint, columns }: Screen): readonly string[] {
  if (nearest.length === 0) return [];
  const lines = nearest.map(({ signature, count, distance, pattern }) => {
    const same = `${Math.round((1 - distance) * 100)} %`.padStart(5);
    return `  ${shorten(`${signature} ${same}  ${count}  ${titleLine(pattern)}`, Math.max(40, columns - 2))}`;
  });
  return [`${paint.bold("Nearest other groups")} (words in common, letters)`, ...lines];
}
