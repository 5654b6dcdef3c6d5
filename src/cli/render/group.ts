/** Renders groups of letters: a list, one group in detail, and the explanation of a grouping. */
import type { GroupRecord, IgnoreUntil } from "../../item/group.ts";
import type { Operation } from "../../item/operation.ts";
import type { GroupComparison, GroupExplanation, NearGroup } from "../../redrive/explain-group.ts";
import type { GroupList, GroupSummary, GroupView, KnownFix } from "../../redrive/groups.ts";
import { formatDuration } from "../../std/duration.ts";
import { isJsonObject, type Json, stringifyJson } from "../../std/json.ts";
import type { Explanation } from "../../triage/explain.ts";
import { groupTitle, locationText, titleLine } from "../../triage/title.ts";
import { detailsText, type Fact, groupTable, type Section, type Step, titleOf } from "./layout.ts";
import type { Shorten } from "./letter-list.ts";
import { suggestionLines } from "./suggestion.ts";
import {
  agoText,
  capped,
  clean,
  counted,
  fit,
  lettersText,
  listed,
  minuteText,
  type Screen,
  shorten,
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

const LINES_MAX = 12;
const HITS_MAX = 30;
const WORDS_MAX = 30;
const FRAMES_MAX = 10;

export function explanationText(
  explanation: GroupExplanation,
  screen: Screen,
  comparison?: GroupComparison,
): string {
  const { paint, columns } = screen;
  const { signature, pattern, itemId, jobId, reading } = explanation;
  const about = [
    fit(titleLine(pattern), columns * 2),
    paint.dim(fit(`pattern: ${pattern}`, columns * 2)),
    itemId === undefined
      ? "The group has no letters left."
      : `explained by one of its letters: ${clean(itemId)} of ${jobId}`,
    ...(reading && reading.pattern !== pattern
      ? [paint.dim(fit(`pattern of this letter: ${reading.pattern}`, columns * 2))]
      : []),
  ];
  return detailsText(
    [
      { title: signature, lines: about },
      { title: "Decided", lines: decidedLines(explanation, screen) },
      ...(comparison ? [comparisonSection(explanation, comparison, screen)] : []),
      ...(reading ? readingSections(reading, screen) : []),
      {
        title: "Similar groups",
        note: " (share of common words, number of letters)",
        lines: explanation.nearest
          .filter(isSimilar)
          .map((one) => shorten(nearText(one), Math.max(40, columns - 2))),
      },
      {
        title: "Suggestion",
        lines: explanation.suggestion ? suggestionLines(explanation.suggestion, screen) : [],
      },
    ],
    screen,
  );
}

/** Why another group or letter is in the same group, or is not. */
function comparisonSection(
  { signature }: GroupExplanation,
  { signature: other, isSameGroup, differences }: GroupComparison,
  { columns }: Screen,
): Section {
  const line = (text: string) => fit(text, Math.max(40, columns - 2));
  const found = differences.flatMap(({ part, here, there }) => [
    line(`${part} here:  ${clean(here) || "(none)"}`),
    line(`${" ".repeat(part.length)} there: ${clean(there) || "(none)"}`),
  ]);
  if (isSameGroup && found.length === 0)
    return {
      title: `Compared with ${other}`,
      lines: ["The same group: they differ only in variable words."],
    };
  if (isSameGroup)
    return {
      title: `Compared with ${other}`,
      lines: ["The same group, by a rule or a correction, although these fixed parts differ:", ...found],
    };
  const merge = `Treat them as one: redrive groups merge ${other} --into ${signature}`;
  return {
    title: `Compared with ${other}`,
    lines:
      found.length === 0
        ? [
            "Another group, by a rule or a correction: the fixed parts are the same.",
            "Corrections: redrive groups corrections",
          ]
        : ["Another group, because these fixed parts differ:", ...found, merge],
  };
}

/** Explains rules and corrections, which take precedence over the analysis of the failure. */
function decidedLines(explanation: GroupExplanation, { paint }: Screen): readonly string[] {
  const { group, correctedTo, wouldMove, signature } = explanation;
  const there = correctedTo ?? group?.signature ?? signature;
  return [
    group?.rule !== undefined && `Grouped by the rule "${clean(group.rule)}" in redrive.yml.`,
    correctedTo !== undefined &&
      group !== undefined &&
      `Moved from ${group.signature} to ${correctedTo}: redrive groups corrections`,
    wouldMove && paint.yellow(`It would now be in ${there}: redrive groups rebuild`),
  ].filter((line) => typeof line === "string");
}

function readingSections(reading: Explanation, { paint, columns }: Screen): readonly Section[] {
  const { lines, source, why, hits, words, framesCounted, framesSkipped } = reading;
  const cut = (texts: readonly string[], max: number) =>
    capped(
      texts.map((text) => fit(text, Math.max(40, columns - 2))),
      max,
      (left) => paint.dim(`… ${left} more; --json shows all`),
    );
  const frames = [
    ...framesCounted.map((frame) => `+ ${frameText(frame)}`),
    ...framesSkipped.map((frame) => `- ${frameText(frame)}`),
  ];
  const masks = hits.map(({ masker, before, after }) => `${masker}: ${clean(before)} → ${after}`);
  return [
    {
      title: "Error line",
      note: ` (${source === "message" ? why : `${source}: ${why}`})`,
      lines: cut(lines.length === 0 ? ["nothing"] : lines, LINES_MAX),
    },
    {
      title: "Words",
      note: " (fixed words make the group; variable ones may differ within it)",
      lines: cut(words.map(wordsText), WORDS_MAX),
    },
    { title: "Replaced values", note: " (in this letter)", lines: cut(masks, HITS_MAX) },
    {
      title: "Stack frames",
      note: " (+ is part of the group, - is ignored)",
      lines: cut(frames, FRAMES_MAX),
    },
  ];
}

function wordsText({ text, isVariable, why }: Explanation["words"][number]): string {
  return `${isVariable ? "variable" : "fixed   "}  ${text} · ${why}`;
}

function frameText({ function: name, file }: Explanation["framesCounted"][number]): string {
  const called = name === "" ? "unnamed code" : name;
  return file === undefined ? called : `${called} in ${file}`;
}

/** A group with fewer words in common tells a person nothing. */
const SIMILAR_DISTANCE_MAX = 0.67;

function isSimilar({ distance }: NearGroup): boolean {
  return distance <= SIMILAR_DISTANCE_MAX;
}

function nearText({ signature, count, distance, pattern }: NearGroup): string {
  const same = `${Math.round((1 - distance) * 100)} %`.padStart(5);
  return `${signature} ${same}  ${lettersText(count)}  ${titleLine(pattern)}`;
}
