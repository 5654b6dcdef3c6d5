/** One letter for a person: what it was about, its life as a timeline, what changed, its output, and what to do next. */

import { type LetterHistory, type LetterLinks, momentsOf } from "../../dead-letter/history.ts";
import type { Event } from "../../item/event.ts";
import type { GroupMark } from "../../item/group.ts";
import type { Letter, WorktreeArtifacts } from "../../item/letter.ts";
import type { KnownFix } from "../../redrive/groups.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { stringifyJson } from "../../std/json.ts";
import { type ChangedFact, compareFailures } from "../../triage/compare-failures.ts";
import { failureTitle, groupTitle } from "../../triage/title.ts";
import type { Fact, Screen, Section, Step } from "./details.ts";
import { detailsText } from "./details.ts";
import { joinFacts, titleFacts } from "./failures.ts";
import { knownSections, stateText } from "./group.ts";
import { clean, fit, width } from "./paint.ts";
import { timelineText } from "./timeline.ts";
import { shellWord, timesText } from "./words.ts";

interface View extends Screen {
  /** What the store knows besides the letter; a letter from a file has none. */
  readonly history?: LetterHistory;
  /** The items that it was made from or sent anew as. */
  readonly links?: LetterLinks;
  /** What helped its group before. */
  readonly fixes?: readonly KnownFix[];
}

export function letterText(letter: Letter, view: View): string {
  const { paint, history } = view;
  const last = letter.failureHistory.at(-1);
  const state = STATE_WORDS[letter.state];
  const title = { title: clean(letter.itemId), ...(state && { note: ` ${paint.yellow(`(${state})`)}` }) };
  const moments = timelineText(history?.moments ?? momentsOf(letter), view)
    .trimEnd()
    .split("\n");
  const revision = letter.revision > 1 ? { note: ` (revision ${letter.revision})` } : {};
  const groupCount = history?.groupCount ?? 1;
  return detailsText(
    [
      { ...title, facts: factsOf(letter, view) },
      ...(history?.group ? knownSections(history.group, view.fixes ?? [], view) : []),
      { title: "Data", ...revision, lines: dataText(letter).split("\n").map(clean) }, // never cut
      { title: "History", lines: moments.map((line) => line.slice(2)) },
      ...differenceSections(letter, view),
      outputSection("stderr", last?.stderrTail, view),
      outputSection("stdout", last?.stdoutTail, view),
      outputSection("stack trace", last?.stackTrace, view),
      {
        title: "Worktree",
        lines: letter.worktreeArtifacts ? worktreeLines(letter.worktreeArtifacts, view) : [],
      },
      { title: "Events", lines: history ? eventLines(history.events, view) : [] },
      { title: "Next", next: history ? nextSteps(letter, groupCount) : [] },
    ],
    view,
  );
}

function factsOf(letter: Letter, { history, links = {} }: View): readonly Fact[] {
  const last = letter.failureHistory.at(-1);
  const found = last === undefined ? groupTitle(letter.errorPattern) : failureTitle(last);
  const shared = sharedText((history?.groupCount ?? 1) - 1);
  return [
    ["Job", letter.jobId],
    ["Died", `${toRfc3339(letter.lastAttempt)}: ${letter.reason}`],
    ["Error", found.title],
    ["Where", joinFacts(titleFacts(found))],
    ["Group", `${letter.errorSignature}${shared}${lifeText(history?.group)}`],
    ["Retry", retryText(letter)],
    ["Redriven", letter.redriveCount > 0 ? timesText(letter.redriveCount) : undefined],
    ["Copied from", links.requeuedFrom],
    ["Requeued as", links.requeuedAs?.join(", ")],
  ];
}

const STATE_WORDS: Readonly<Partial<Record<Letter["state"], string>>> = {
  ready: "ready: being redriven",
  leased: "leased: being redriven",
  held: "held: being redriven",
  done: "resolved",
  discarded: "discarded",
};

function sharedText(others: number): string {
  if (others <= 0) return "";
  return `, shared with ${others} other ${others === 1 ? "letter" : "letters"}`;
}

/** That a group is open, as most are, need not be said. */
function lifeText(mark: GroupMark | null | undefined): string {
  if (!mark || (mark.state === "open" && mark.regressions === 0)) return "";
  return `; ${stateText(mark)}`;
}

function retryText(letter: Letter): string {
  if (letter.state === "done") return "not needed: it succeeded";
  if (letter.state === "discarded") return "after it is restored";
  if (letter.poison) return "poison: it failed too often (--force overrides)";
  if (letter.reprocessEligible) return "eligible";
  return letter.manualReviewRequired
    ? "needs a person (--force overrides)"
    : "not eligible (--force overrides)";
}

const DATA_CHARS_MAX = 2000;

function dataText(letter: Letter): string {
  const text = typeof letter.itemData === "string" ? letter.itemData : stringifyJson(letter.itemData, 2);
  return text.length > DATA_CHARS_MAX
    ? `${text.slice(0, DATA_CHARS_MAX)}… (${text.length} characters; --json shows all)`
    : text;
}

const CHANGED_LINES_MAX = 6;

/** Only what differs between the last two failures. */
function differenceSections({ failureHistory }: Letter, view: View): readonly Section[] {
  const [before, after] = failureHistory.slice(-2);
  if (before === undefined || after === undefined) return [];
  const { facts, goneLines, newLines } = compareFailures(before, after);
  const { paint } = view;
  const some = (sign: string, lines: readonly string[]) => [
    ...lines.slice(0, CHANGED_LINES_MAX).map((text) => lineOf(`${sign} ${text}`, view)),
    ...(lines.length > CHANGED_LINES_MAX ? [`${sign} … ${lines.length - CHANGED_LINES_MAX} more lines`] : []),
  ];
  const lines = [
    ...facts.flatMap((fact) => factLines(fact, view).map((text) => lineOf(text, view))),
    ...some("-", goneLines).map(paint.red),
    ...some("+", newLines).map(paint.green),
  ];
  return [{ title: "Changed", note: ` from #${before.attemptNumber} to #${after.attemptNumber}`, lines }];
}

/** In the width of the terminal. */
function lineOf(text: string, { columns }: View): string {
  return fit(text, Math.max(40, columns - 2));
}

/** Side by side where there is room. */
function factLines({ name, before, after }: ChangedFact, { columns }: View): readonly string[] {
  const beside = `${name}: ${before || "none"} → ${after || "none"}`;
  if (width(beside) + 2 <= columns) return [beside];
  return [`${name}: ${before || "none"}`, `${"→".padStart(name.length + 1)} ${after || "none"}`];
}

const TAIL_LINES_MAX = 15;

function outputSection(title: string, tail: string | undefined, view: View): Section {
  if (!tail?.trim()) return { title };
  const lines = tail.trimEnd().split("\n");
  const note = lines.length > TAIL_LINES_MAX ? { note: ` (last ${TAIL_LINES_MAX} lines)` } : {};
  return { title, ...note, lines: lines.slice(-TAIL_LINES_MAX).map((line) => lineOf(line, view)) };
}

/** Where the last attempt worked. A path is not cut. */
function worktreeLines(artifacts: WorktreeArtifacts, view: View): readonly string[] {
  const { worktreePath, branchName, head, uncommittedChanges } = artifacts;
  const at = head === undefined ? "" : ` at ${head.slice(0, 10)}`;
  const changes =
    uncommittedChanges === undefined ? [] : ["not committed:", ...uncommittedChanges.trimEnd().split("\n")];
  return [
    clean(worktreePath),
    ...[`branch ${branchName}${at}`, ...changes].map((line) => lineOf(line, view)),
  ];
}

/** Messages are in the history already. */
function eventLines(events: readonly Event[], view: View): readonly string[] {
  return events.map(({ at, type, attempt, data: { message: _, ...facts } = {} }) => {
    const values = Object.entries(facts).map(([name, value]) => `${name}: ${asWord(value)}`);
    const number = attempt === undefined ? "" : ` #${attempt}`;
    return lineOf(`${toRfc3339(at)}  ${`${type}${number}`.padEnd(22)}  ${values.join(", ")}`.trimEnd(), view);
  });
}

function asWord(value: unknown): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

function nextSteps(letter: Letter, groupCount: number): readonly Step[] {
  const job = shellWord(letter.jobId) ?? "JOB";
  const item = shellWord(letter.itemId) ?? "ITEM";
  const logs = { command: `redrive logs ${job} ${item}`, purpose: "show the whole output" };
  const hasLog = letter.failureHistory.at(-1)?.log !== undefined;
  return [...(hasLog ? [logs] : []), ...stepsByState(letter, { job, item, groupCount })];
}

function stepsByState(
  letter: Letter,
  { job, item, groupCount }: { job: string; item: string; groupCount: number },
): readonly Step[] {
  const events = { command: `redrive events ${job}`, purpose: "show the events of its job" };
  if (letter.state === "done") return [events];
  if (letter.state === "discarded") {
    return [{ command: `redrive dlq restore ${item} --job ${job}`, purpose: "restore it" }];
  }
  if (letter.state !== "dead") return [{ command: "redrive ops", purpose: "show the retry that is running" }];
  const force = letter.reprocessEligible && !letter.poison ? "" : " --force";
  const others = `redrive dlq list --job ${job} --group ${letter.errorSignature}`;
  return [
    ...(groupCount > 1 ? [{ command: others, purpose: `list all ${groupCount} letters of its group` }] : []),
    { command: `redrive dlq edit ${item} --job ${job}`, purpose: "correct its data" },
    { command: `redrive dlq retry ${job} ${item}${force}`, purpose: "retry it" },
    { command: `redrive dlq discard ${item} --job ${job} --reason TEXT`, purpose: "discard it" },
  ];
}
