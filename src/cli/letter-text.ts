/** One letter for a person: what it was about, its life as a timeline, what changed, its output, and what to do next. */
import { type LetterHistory, momentsOf } from "../dead-letter/history.ts";
import type { LetterLinks } from "../dead-letter/links.ts";
import type { Event } from "../item/event.ts";
import type { GroupMark } from "../item/group.ts";
import type { Letter, WorktreeArtifacts } from "../item/letter.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { KnownFix } from "../redrive/group-fixes.ts";
import { type ChangedFact, compareFailures } from "../triage/compare-failures.ts";
import { failureTitle, groupTitle } from "../triage/title.ts";
import { joinFacts, titleFacts } from "./common-facts.ts";
import { knownText, stateText } from "./group-text.ts";
import { nextStepsText } from "./letter-steps.ts";
import { clean, fit, type Paint, width } from "./paint.ts";
import { timelineText } from "./timeline-text.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
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
  const revision = letter.revision > 1 ? ` (revision ${letter.revision})` : "";
  const sections = [
    header(letter, view),
    ...(history?.group ? knownText(history.group, view.fixes ?? [], view) : []),
    section(`${paint.bold("Data")}${revision}`, indentWhole(dataText(letter))),
    section(paint.bold("History"), timelineText(history?.moments ?? momentsOf(letter), view)),
    differenceText(letter, view),
    last && output("stderr", last.stderrTail, view),
    last && output("stdout", last.stdoutTail, view),
    last && output("stack trace", last.stackTrace, view),
    letter.worktreeArtifacts && worktreeText(letter.worktreeArtifacts, view),
    history && eventsText(history.events, view),
    history &&
      section(paint.bold("Next"), nextStepsText(letter, { ...view, groupCount: history.groupCount })),
  ];
  return sections.filter(Boolean).join("\n");
}

function section(title: string, body: string): string {
  return `${title}\n${body}`;
}

/** A pattern may be as long as a message. */
const FACT_LINES_MAX = 3;

function header(letter: Letter, { paint, history, columns, links = {} }: View): string {
  const last = letter.failureHistory.at(-1);
  const found = last === undefined ? groupTitle(letter.errorPattern) : failureTitle(last);
  const facts: [string, string][] = [
    ["Job", letter.jobId],
    ["Died", `${toRfc3339(letter.lastAttempt)}: ${letter.reason}`],
    ["Error", found.title],
    ["Where", joinFacts(titleFacts(found))],
    [
      "Group",
      `${letter.errorSignature}${sharedText((history?.groupCount ?? 1) - 1)}${lifeText(history?.group)}`,
    ],
    ["Retry", retryText(letter)],
  ];
  if (letter.redriveCount > 0) facts.push(["Redriven", times(letter.redriveCount)]);
  if (links.requeuedFrom !== undefined) facts.push(["Made from", links.requeuedFrom]);
  if (links.requeuedAs !== undefined) facts.push(["Sent anew", `as ${links.requeuedAs.join(", ")}`]);
  const lines = facts.map(
    ([name, value]) => `  ${paint.dim(name.padEnd(9))} ${fit(value, columns * FACT_LINES_MAX)}`,
  );
  const state = STATE_WORDS[letter.state];
  return `${paint.bold(clean(letter.itemId))}${state ? ` ${paint.yellow(`(${state})`)}` : ""}\n${lines.join("\n")}\n`;
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

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function retryText(letter: Letter): string {
  if (letter.state === "done") return "not needed: it succeeded";
  if (letter.state === "discarded") return "not before it is restored";
  if (letter.toxic) return "toxic: it came back too often (--force to override)";
  if (letter.reprocessEligible) return "eligible";
  return letter.manualReviewRequired
    ? "a person has to look first (--force to override)"
    : "not eligible (--force to override)";
}

const DATA_CHARS_MAX = 2000;

function dataText(letter: Letter): string {
  const text =
    typeof letter.itemData === "string" ? letter.itemData : JSON.stringify(letter.itemData, null, 2);
  return text.length > DATA_CHARS_MAX
    ? `${text.slice(0, DATA_CHARS_MAX)}… (${text.length} characters; --json shows all)`
    : text;
}

const CHANGED_LINES_MAX = 6;

/** Only what is not the same says something about the last failure. */
function differenceText({ failureHistory }: Letter, view: View): string {
  const [before, after] = failureHistory.slice(-2);
  if (before === undefined || after === undefined) return "";
  const { facts, goneLines, newLines } = compareFailures(before, after);
  const { paint } = view;
  const line = (text: string) => fit(text, Math.max(40, view.columns - 2));
  const some = (sign: string, lines: readonly string[]) => [
    ...lines.slice(0, CHANGED_LINES_MAX).map((text) => line(`${sign} ${text}`)),
    ...(lines.length > CHANGED_LINES_MAX ? [`${sign} … ${lines.length - CHANGED_LINES_MAX} more lines`] : []),
  ];
  const lines = [
    ...facts.flatMap((fact) => factLines(fact, view).map(line)),
    ...some("-", goneLines).map(paint.red),
    ...some("+", newLines).map(paint.green),
  ];
  if (lines.length === 0) return "";
  const title = `${paint.bold("Changed")} from #${before.attemptNumber} to #${after.attemptNumber}`;
  return section(title, `${lines.map((one) => `  ${one}`).join("\n")}\n`);
}

/** Side by side where there is room. */
function factLines({ name, before, after }: ChangedFact, { columns }: View): readonly string[] {
  const beside = `${name}: ${before || "none"} → ${after || "none"}`;
  if (width(beside) + 2 <= columns) return [beside];
  return [`${name}: ${before || "none"}`, `${"→".padStart(name.length + 1)} ${after || "none"}`];
}

const TAIL_LINES_MAX = 15;

function output(name: string, tail: string | undefined, view: View): string {
  if (!tail?.trim()) return "";
  const lines = tail.trimEnd().split("\n");
  const more = lines.length > TAIL_LINES_MAX ? ` (last ${TAIL_LINES_MAX} lines)` : "";
  return section(`${view.paint.bold(name)}${more}`, indent(lines.slice(-TAIL_LINES_MAX).join("\n"), view));
}

/** Where the last attempt worked; it is kept for whoever looks into it. */
function worktreeText(
  { worktreePath, branchName, head, uncommittedChanges }: WorktreeArtifacts,
  view: View,
): string {
  const changes = uncommittedChanges === undefined ? "" : `\nnot committed:\n${uncommittedChanges.trimEnd()}`;
  const at = head === undefined ? "" : ` at ${head.slice(0, 10)}`;
  const facts = `  ${clean(worktreePath)}\n${indent(`branch ${branchName}${at}${changes}`, view)}`; // a path is not cut
  return section(view.paint.bold("Worktree"), facts);
}

/** Messages are in the history already. */
function eventsText(events: readonly Event[], view: View): string {
  if (events.length === 0) return "";
  const lines = events.map(({ at, type, attempt, data = {} }) => {
    const { message, ...others } = data;
    const facts = Object.entries(others).map(([name, value]) => `${name}: ${asWord(value)}`);
    const number = attempt === undefined ? "" : ` #${attempt}`;
    return `${toRfc3339(at)}  ${`${type}${number}`.padEnd(22)}  ${facts.join(", ")}`.trimEnd();
  });
  return section(view.paint.bold("Events"), indent(lines.join("\n"), view));
}

function asWord(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Data is never cut: the terminal wraps it. */
function indentWhole(text: string): string {
  return `${text
    .split("\n")
    .map((line) => `  ${clean(line)}`)
    .join("\n")}\n`;
}

function indent(text: string, { columns }: View): string {
  return `${text
    .split("\n")
    .map((line) => `  ${fit(line, Math.max(40, columns - 2))}`)
    .join("\n")}\n`;
}
