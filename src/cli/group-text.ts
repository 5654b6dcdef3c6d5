/** Groups for a person: a list of them, and one with all that is known of it. */
import type { GroupMark, IgnoreUntil } from "../item/group.ts";
import type { KnownFix } from "../redrive/group-fixes.ts";
import type { GroupList, GroupSummary, GroupView, Outdated } from "../redrive/groups.ts";
import { groupTitle, locationText } from "../triage/title.ts";
import { fixLine, minuteText } from "./group-fix-text.ts";
import { groupTable } from "./group-table.ts";
import { lettersText } from "./operation-text.ts";
import { clean, fit, type Paint } from "./paint.ts";
import { agoText } from "./progress-line.ts";
import { thousands } from "./progress-rate.ts";

export interface Screen {
  readonly paint: Paint;
  readonly columns: number;
}

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

/** One group with all that is known of it. */
export function groupText(
  { group, mark, samples }: GroupView,
  fixes: readonly KnownFix[],
  screen: Screen,
): string {
  const { paint, columns } = screen;
  const found = groupTitle(mark.pattern);
  const facts: [string, string][] = [
    ["Error", found.title],
    ["Where", locationText(found.location)],
    ["State", stateText(mark)],
    ["Letters", countText(group)],
    ...(group.errorType ? [["Type", `${group.errorType}, ${group.errorClass}`] as [string, string]] : []),
    ...(group.jobs.length > 0 ? [["Jobs", group.jobs.join(", ")] as [string, string]] : []),
    ...(samples.length > 0 ? [["Samples", samples.join(", ")] as [string, string]] : []),
    ["Pattern", mark.pattern],
  ];
  const lines = facts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `  ${paint.dim(name.padEnd(9))} ${fit(value, columns * 3)}\n`);
  const sections = [`${paint.bold(group.signature)}\n${lines.join("")}`, ...knownText(mark, fixes, screen)];
  return [...sections, nextText(group, paint)].filter(Boolean).join("\n");
}

/** Notes, and what helped before; nothing where there is nothing. */
export function knownText(
  { notes }: Pick<GroupMark, "notes">,
  fixes: readonly KnownFix[],
  { paint, columns }: Screen,
): readonly string[] {
  const said = notes.map(({ at, author, text }) => `${minuteText(at)}  ${author}: ${text}`);
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0
      ? []
      : [`${paint.bold(title)}\n${lines.map((line) => `  ${fit(line, columns * 2)}\n`).join("")}`];
  return [...section("Notes", said), ...section("What helped before", fixes.map(fixLine))];
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

function nextText({ signature, count, state, jobs }: GroupSummary, paint: Paint): string {
  const [job] = jobs;
  const steps = [
    ...(count > 0 ? [`redrive dlq list --group ${signature}`] : []),
    ...(count > 0 && job !== undefined
      ? [`redrive dlq retry ${clean(job)} --group ${signature} --canary`]
      : []),
    `redrive groups explain ${signature}`,
    ...(state === "open" ? [] : [`redrive groups open ${signature}`]),
  ];
  return `${paint.bold("Next")}\n${steps.map((step) => `  ${paint.cyan(step)}\n`).join("")}`;
}
