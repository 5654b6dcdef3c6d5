/** Renders groups of letters: a list, and one group in detail. */
import type { GroupRecord, IgnoreUntil } from "../../item/group.ts";
import type { Operation } from "../../item/operation.ts";
import type { GroupList, GroupSummary, GroupView, KnownFix } from "../../redrive/groups.ts";
import { formatDuration } from "../../std/duration.ts";
import { isJsonObject, type Json, stringifyJson } from "../../std/json.ts";
import { groupTitle, locationText } from "../../triage/title.ts";
import { detailsText, type Fact, groupTable, type Section, type Step, titleOf } from "./layout.ts";
import type { Shorten } from "./letter-list.ts";
import {
  agoText,
  clean,
  counted,
  fit,
  lettersText,
  listed,
  minuteText,
  type Screen,
  thousands,
  timesText,
} from "./text.ts";
import { costText, usageTexts } from "./usage.ts";

interface ListScreen extends Screen {
  readonly now: number;
  /** Shortens a signature. Default: the whole signature is shown. */
  readonly nameOf?: Shorten;
}

/** Renders a page of groups, what the page omits, and how many letters an older algorithm grouped. */
export function groupListText(
  { total, leftOut, outdated }: GroupList,
  {
    shown,
    suggested,
    ...screen
  }: ListScreen & { readonly shown: readonly GroupSummary[]; readonly suggested: number },
): string {
  const count = `${thousands(shown.length)} of ${counted(total, "group")}.`;
  const list = total === 0 ? "No groups.\n" : `${listTable(shown, screen)}${screen.paint.dim(count)}\n`;
  return `${list}${leftOutText(leftOut)}${suggestedText(suggested)}${outdatedText(outdated)}`;
}

function listTable(
  groups: readonly GroupSummary[],
  { paint, columns, now, nameOf = (signature) => signature }: ListScreen,
): string {
  const ago = (at: number | undefined) => (at === undefined ? "" : agoText(now - at));
  const tint = (cell: string, { isRegression }: GroupSummary) => (isRegression ? paint.red(cell) : cell);
  return groupTable(
    groups,
    [
      { title: "GROUP", value: ({ signature }) => nameOf(signature) },
      { title: "LETTERS", value: ({ count }) => count },
      ...(groups.some(({ usage }) => usage !== undefined)
        ? [
            {
              title: "COST",
              value: ({ usage }: GroupSummary) => costText(usage),
              align: "right",
              giveUp: 5,
            } as const,
          ]
        : []),
      { title: "STATE", value: stateWord, paint: tint },
      { title: "FIRST", value: ({ firstAt }) => ago(firstAt), giveUp: 3 },
      { title: "LAST", value: ({ lastAt }) => ago(lastAt), giveUp: 2 },
      ...(groups.some(({ assignee }) => assignee !== undefined)
        ? [
            {
              title: "ASSIGNEE",
              value: ({ assignee }: GroupSummary) => assignee,
              cutTo: 10,
              giveUp: 1,
            } as const,
          ]
        : []),
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
  const parts = listed(Object.entries(leftOut).map(([state, count]) => count > 0 && `${count} ${state}`));
  return parts === "" ? "" : `Hidden: ${parts} (--state all).\n`;
}

function suggestedText(suggested: number): string {
  return suggested === 0
    ? ""
    : `${counted(suggested, "group")} may belong together: redrive groups suggest\n`;
}

/** Reports letters of older algorithms; they keep their group until a user regroups them. */
function outdatedText({ letters, algorithms }: GroupList["outdated"]): string {
  if (letters === 0) return "";
  const were = letters === 1 ? "was" : "were";
  return `${lettersText(letters)} ${were} grouped by an older algorithm (${algorithms.join(", ")}): redrive groups rebuild\n`;
}

export function groupText(
  { group, record, samples }: GroupView,
  fixes: readonly KnownFix[],
  screen: Screen,
): string {
  const { title, location } = groupTitle(record.pattern);
  const facts: readonly Fact[] = [
    ["Error", title],
    ["Where", locationText(location)],
    ["State", stateText(record)],
    ["Assignee", group.assignee],
    ["Letters", countText(group)],
    ["Agents", usageTexts(group.usage ?? {}).join(" · ") || undefined],
    ["Type", group.errorType ? `${group.errorType}, ${group.errorClass}` : undefined],
    ["Jobs", group.jobs.join(", ")],
    ["Samples", samples.join(", ")],
    ["Pattern", record.pattern],
  ];
  const next = { title: "Next", next: [...helpingSteps(group, fixes), ...stepsOf(group)] };
  return detailsText(
    [{ ...titleOf(group.signature), facts }, ...knownSections(record, fixes, screen), next],
    screen,
  );
}

export function knownSections(
  { notes }: Pick<GroupRecord, "notes">,
  fixes: readonly KnownFix[],
  { columns }: Screen,
): readonly Section[] {
  const line = (text: string) => fit(text, columns * 2);
  return [
    {
      title: "Notes",
      lines: notes.map((note) => line(`${minuteText(note.at)}  ${note.author}: ${note.text}`)),
    },
    { title: "What helped before", lines: fixes.map((fix) => line(fixLine(fix))) },
  ];
}

export function stateText(record: GroupRecord): string {
  const { state, since, author, regressions, isRegression, ignoreUntil } = record;
  const who = author === undefined ? "" : ` by ${author}`;
  const back = regressions === 0 ? "" : `; came back ${timesText(regressions)} after it was resolved`;
  const until = state === "ignored" ? ` ${untilText(ignoreUntil)}` : "";
  return `${isRegression ? "reopened as a regression," : state}${until} since ${minuteText(since)}${who}${back}`;
}

/** Formats a condition, e.g. `until 2026-12-24 08:00 or 10 new letters or more than 5 within an hour`. */
export function untilText({ at, count, perHour }: IgnoreUntil = {}): string {
  const ends = [
    at !== undefined && minuteText(at),
    count !== undefined && `${count} new ${count === 1 ? "letter" : "letters"}`,
    perHour !== undefined && `more than ${perHour} within an hour`,
  ].filter(Boolean);
  return ends.length === 0 ? "until someone reopens it" : `until ${ends.join(" or ")}`;
}

function countText({ count, firstAt, lastAt }: GroupSummary): string {
  if (firstAt === undefined || lastAt === undefined || count === 0) return "none waiting";
  return `${thousands(count)} waiting; first ${minuteText(firstAt)}, last ${minuteText(lastAt)}`;
}

function stepsOf({ signature, count, state, jobs: [job] }: GroupSummary): readonly Step[] {
  return [
    count > 0 && `redrive dlq list --group ${signature}`,
    count > 0 && job !== undefined && `redrive dlq retry ${clean(job)} --group ${signature} --canary`,
    `redrive groups explain ${signature}`,
    state !== "open" && `redrive groups open ${signature}`,
  ].flatMap((command) => (command ? [[command] as const] : []));
}

/** Suggests repeating the fix that resolved the most letters. The retry after an edit is among the other steps. */
function helpingSteps(
  { signature, count, jobs: [job] }: GroupSummary,
  fixes: readonly KnownFix[],
): readonly Step[] {
  const best = fixes.toSorted((a, b) => b.fix.count - a.fix.count)[0];
  if (best === undefined || count === 0) return [];
  const helped = `helped ${lettersText(best.fix.count)} before`;
  const set = best.edit?.plan.set;
  if (best.fix.kind === "requeue")
    return job === undefined
      ? []
      : [[`redrive dlq retry ${clean(job)} --group ${signature}`, `retrying unchanged ${helped}`]];
  if (best.fix.kind !== "manual_fix" || !Array.isArray(set) || set.length === 0) return [];
  const options = set.map((setting) =>
    isJsonObject(setting) ? `--set '${setting.path}=${setting.value}'` : "",
  );
  if (options.some((option) => option === "" || option.split("'").length !== 3)) return [];
  return [[`redrive dlq edit --group ${signature} ${options.join(" ")} --dry-run`, `this edit ${helped}`]];
}

/** Formats a fix with its time and effect: `2026-11-04 12:30  12 letters succeeded: …`. */
export function fixLine(known: KnownFix): string {
  const { at, count } = known.fix;
  return `${minuteText(at)}  ${lettersText(count)} succeeded: ${fixText(known)}`;
}

export function fixText({ fix, edit }: KnownFix): string {
  const retry = fix.operationId === undefined ? "a retry" : `retry ${fix.operationId}`;
  const by = (author: string | undefined) => (author === undefined ? "" : ` by ${author}`);
  if (fix.kind === "auto_fix")
    return `the rule ${fix.rule ?? "that was removed since"} changed their data, then ${retry}`;
  if (fix.kind === "manual_fix") {
    const what = `edit${fix.editId === undefined ? "" : ` ${fix.editId}`}${edit ? ` (${changeText(edit)})` : ""}`;
    return `${what}${by(edit?.author ?? fix.author)}, then ${retry}`;
  }
  return `${retry}${by(fix.author)} unchanged, ${formatDuration(fix.waitedMs)} after they died`;
}

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
