/** Renders one letter: data, history in chronological order, changes between failures, output, and suggested commands. */

import { hostname } from "node:os";
import { type LetterHistory, type LetterLinks, type Moment, momentsOf } from "../../dead-letter/history.ts";
import { type AgentRun, openSessionCommand, sumOfRuns } from "../../item/agent-run.ts";
import type { Event } from "../../item/event.ts";
import type { EvidenceFile, Failure } from "../../item/failure.ts";
import type { GroupRecord } from "../../item/group.ts";
import type { Attempt } from "../../item/item.ts";
import type { Letter, ResolutionKind, WorktreeArtifacts } from "../../item/letter.ts";
import type { Operation } from "../../item/operation.ts";
import type { KnownFix } from "../../redrive/groups.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { type Json, stringifyJson } from "../../std/json.ts";
import { type Change, diffJson } from "../../std/json-diff.ts";
import { type ChangedFact, compareFailures } from "../../triage/compare-failures.ts";
import { failureTitle, groupTitle } from "../../triage/title.ts";
import { knownSections, stateText } from "./group.ts";
import { detailsText, type Fact, joinFacts, type Section, type Step, titleFacts } from "./layout.ts";
import {
  capped,
  clean,
  counted,
  fit,
  listed,
  type Screen,
  shellWord,
  shorten,
  timesText,
  width,
} from "./text.ts";
import { usageTexts } from "./usage.ts";

interface View extends Screen {
  /** Further records from the store; absent for a letter from a file. */
  readonly history?: LetterHistory;
  /** The item from which the letter was requeued, and the items that were requeued from it. */
  readonly links?: LetterLinks;
  readonly fixes?: readonly KnownFix[];
  /** The agents that ran for the item. */
  readonly agents?: readonly AgentRun[];
}

export function letterText(letter: Letter, view: View): string {
  const { paint, history } = view;
  const last = letter.failureHistory.at(-1);
  const state = STATE_WORDS[letter.state];
  const title = { title: clean(letter.itemId), ...(state && { note: ` ${paint.yellow(`(${state})`)}` }) };
  const revision = letter.revision > 1 ? { note: ` (revision ${letter.revision})` } : {};
  return detailsText(
    [
      { ...title, facts: factsOf(letter, view) },
      ...(history?.group ? knownSections(history.group, view.fixes ?? [], view) : []),
      { title: "Data", ...revision, lines: dataText(letter).split("\n").map(clean) }, // never cut
      { title: "History", lines: timelineLines(history?.moments ?? momentsOf(letter), view) },
      ...differenceSections(letter, view),
      outputSection("stderr", last?.stderrTail, view),
      outputSection("stdout", last?.stdoutTail, view),
      outputSection("stack trace", last?.stackTrace, view),
      { title: "Agents", lines: agentLines(letter, view) },
      { title: "Worktree", lines: worktreeLines(letter.worktreeArtifacts, view) },
      { title: "Events", lines: history ? eventLines(history.events, view) : [] },
      { title: "Next", next: history ? nextSteps(letter, history.groupCount) : [] },
    ],
    view,
  );
}

function factsOf(letter: Letter, { history, links = {} }: View): readonly Fact[] {
  const last = letter.failureHistory.at(-1);
  const found = last === undefined ? groupTitle(letter.errorPattern) : failureTitle(last);
  const others = (history?.groupCount ?? 1) - 1;
  const shared = others > 0 ? `, shared with ${counted(others, "other letter")}` : "";
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

const AGENTS_SHOWN_MAX = 5;

/** Lists the last agents with their usage, and the command that opens the session of the last one interactively. */
function agentLines({ worktreeArtifacts }: Letter, { agents = [], ...view }: View): readonly string[] {
  if (agents.length === 0) return [];
  const shown = agents.slice(-AGENTS_SHOWN_MAX).map(({ lease, step, agent, usage, session }) => {
    const facts = [`#${lease?.attempt ?? 0} ${step}`, agent, ...usageTexts(usage), session];
    return lineOf(clean(facts.filter(Boolean).join(" · ")), view);
  });
  const total = agents.length > 1 ? [`together ${usageTexts(sumOfRuns(agents)).join(" · ")}`] : [];
  const command = agents.map(openSessionCommand).findLast((one) => one !== undefined);
  const folder = worktreeArtifacts && shellWord(worktreeArtifacts.worktreePath); // agents look up sessions by folder
  const open = !folder ? command : `cd ${folder} && ${command}`;
  return [...shown, ...total, ...(command ? [`To open the last session: ${open}`] : [])];
}

const STATE_WORDS: Readonly<Partial<Record<Letter["state"], string>>> = {
  ready: "ready: being redriven",
  leased: "leased: being redriven",
  held: "held: being redriven",
  done: "resolved",
  discarded: "discarded",
};

/** Formats the group's state; empty for an open group, which is the usual case. */
function lifeText(record: GroupRecord | null | undefined): string {
  if (!record || (record.state === "open" && record.regressions === 0)) return "";
  return `; ${stateText(record)}`;
}

function retryText(letter: Letter): string {
  if (letter.state === "done") return "not needed: it succeeded";
  if (letter.state === "discarded") return "after it is restored";
  if (letter.poison) return "poison: it failed too often (--force overrides)";
  if (letter.reprocessEligible) return "eligible";
  return letter.manualReviewRequired
    ? "needs manual review (--force overrides)"
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

/** Renders only the differences between the last two failures. */
function differenceSections({ failureHistory }: Letter, view: View): readonly Section[] {
  const [before, after] = failureHistory.slice(-2);
  if (before === undefined || after === undefined) return [];
  const { facts, goneLines, newLines } = compareFailures(before, after);
  const { paint } = view;
  const some = (sign: string, texts: readonly string[]) =>
    capped(
      texts.map((text) => lineOf(`${sign} ${text}`, view)),
      CHANGED_LINES_MAX,
      (left) => `${sign} … ${left} more lines`,
    );
  const lines = [
    ...facts.flatMap((fact) => factLines(fact, view).map((text) => lineOf(text, view))),
    ...some("-", goneLines).map(paint.red),
    ...some("+", newLines).map(paint.green),
  ];
  return [{ title: "Changed", note: ` from #${before.attemptNumber} to #${after.attemptNumber}`, lines }];
}

function lineOf(text: string, { columns }: View): string {
  return fit(text, Math.max(40, columns - 2));
}

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

/** Renders the worktree. Its path is not cut, so that it can be copied. */
function worktreeLines(artifacts: WorktreeArtifacts | undefined, view: View): readonly string[] {
  if (artifacts === undefined) return [];
  const { worktreePath, branchName, head, uncommittedChanges: changes } = artifacts;
  const branch = `branch ${branchName}${head === undefined ? "" : ` at ${head.slice(0, 10)}`}`;
  const uncommitted = changes === undefined ? [] : ["not committed:", ...changes.trimEnd().split("\n")];
  return [clean(worktreePath), ...[branch, ...uncommitted].map((line) => lineOf(line, view))];
}

/** Renders events without messages, which the history already contains. */
function eventLines(events: readonly Event[], view: View): readonly string[] {
  return events.map(({ at, type, attempt, data: { message: _, ...facts } = {} }) => {
    const values = Object.entries(facts).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : stringifyJson(value)}`,
    );
    const number = attempt === undefined ? "" : ` #${attempt}`;
    return lineOf(`${toRfc3339(at)}  ${`${type}${number}`.padEnd(22)}  ${values.join(", ")}`.trimEnd(), view);
  });
}

function nextSteps(letter: Letter, groupCount: number): readonly Step[] {
  const job = shellWord(letter.jobId) ?? "JOB";
  const item = shellWord(letter.itemId) ?? "ITEM";
  const hasLog = letter.failureHistory.at(-1)?.log !== undefined;
  const logs: readonly Step[] = hasLog ? [[`redrive logs ${job} ${item}`, "show the whole output"]] : [];
  if (letter.state === "done") return [...logs, [`redrive events ${job}`, "show the events of its job"]];
  if (letter.state === "discarded")
    return [...logs, [`redrive dlq restore ${item} --job ${job}`, "restore it"]];
  if (letter.state !== "dead") return [...logs, ["redrive ops", "show the retry that is running"]];
  const force = letter.reprocessEligible && !letter.poison ? "" : " --force";
  const others = `redrive dlq list --job ${job} --group ${letter.errorSignature}`;
  return [
    ...logs,
    ...(groupCount > 1 ? [[others, `list all ${groupCount} letters of its group`] as const] : []),
    [`redrive dlq edit ${item} --job ${job}`, "correct its data"],
    [`redrive dlq retry ${job} ${item}${force}`, "retry it"],
    [`redrive dlq discard ${item} --job ${job} --reason TEXT`, "discard it"],
  ];
}

/** The maximum number of entries to show; older ones are only counted. */
const MOMENTS_MAX = 30;

export function timelineLines(moments: readonly Moment[], view: Screen): readonly string[] {
  const shown = moments.slice(-MOMENTS_MAX);
  const left = moments.length - shown.length;
  const lines = left > 0 ? [view.paint.dim(`    … ${left} earlier; --json has every failure`)] : [];
  let before: Failure | undefined;
  for (const moment of shown) {
    lines.push(...momentLines(moment, before, view));
    if (moment.kind === "attempt") before = moment.attempt.failure ?? before;
  }
  return lines;
}

function momentLines(moment: Moment, before: Failure | undefined, view: Screen): readonly string[] {
  const entry = (text: string) => entryLine(moment.at, text, view);
  switch (moment.kind) {
    case "attempt":
      return attemptLines(moment.attempt, before, view);
    case "redrive":
      return [entry(`sent again${byOperation(moment.operation)}`)];
    case "discard":
      return [entry(`discarded${byOperation(moment.operation)}${because(moment.operation.reason)}`)];
    case "restore":
      return [entry(`restored${byOperation(moment.operation)}`)];
    case "amendment": {
      const { revision, author, rule, note } = moment.amendment;
      const who = rule === undefined ? author : `the rule ${rule}`;
      const head = entry(`changed by ${who} (revision ${revision})${because(note)}`);
      return [head, ...changeLines(moment.amendment.before, moment.after, view)];
    }
    case "note":
      return [
        entry(`note by ${moment.note.author}`),
        ...moment.note.text.split("\n").map((line) => detail(view.paint.cyan(fit(line, room(view))))),
      ];
    case "late": {
      const { attemptNumber, outcome, note } = moment.result;
      return [entry(`late result of attempt ${attemptNumber}: ${outcome} ${note}`)];
    }
    case "resolved": {
      const { kind, author, reason } = moment.resolution;
      const who = author === undefined ? "" : ` by ${author}`;
      return [entry(`${RESOLVED[kind]}${who}${because(reason)}`)];
    }
  }
}

const RESOLVED: Readonly<Record<ResolutionKind, string>> = {
  requeue: "resolved: a requeued copy succeeded",
  manual_fix: "resolved: a requeued copy succeeded after its data was corrected",
  auto_fix: "resolved: a requeued copy succeeded after a rule corrected its data",
  discard: "discarded",
};

/** Formats an entry that is not an attempt; it begins with a dot instead of a number. */
function entryLine(at: number, text: string, view: Screen): string {
  return `${view.paint.dim("·")}   ${fit(`${toRfc3339(at)}  ${text}`, room(view))}`;
}

function byOperation(operation: Operation | undefined): string {
  return operation === undefined ? "" : ` by ${operation.author} (operation ${operation.id})`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : `: ${reason}`;
}

function attemptLines(attempt: Attempt, before: Failure | undefined, view: Screen): readonly string[] {
  const { failure } = attempt;
  const number = `#${attempt.number}`.padEnd(2);
  if (failure === undefined) {
    const at = toRfc3339(attempt.endedAt ?? attempt.startedAt);
    const tint = attempt.outcome === "succeeded" ? view.paint.green : view.paint.dim;
    const log = attempt.log === undefined ? [] : [detail(view.paint.dim(`log: ${clean(attempt.log)}`))];
    return [`${number}  ${at}  ${tint(OUTCOMES[attempt.outcome])}`, ...log];
  }
  const how = failure.exitCode !== undefined ? `exit ${failure.exitCode}` : (failure.signal ?? "");
  const facts = [`after ${formatDuration(failure.durationMs)}`, failure.errorType.name, how];
  const head = `${number}  ${[toRfc3339(failure.timestamp), ...facts].filter(Boolean).join("  ")}`;
  return [head, ...failureLines(failure, before, view)];
}

const OUTCOMES: Readonly<Record<Attempt["outcome"], string>> = {
  running: "is running",
  succeeded: "succeeded",
  failed: "failed, without recorded details",
  released: "released: the runner stopped, so the attempt does not count",
  lost: "lost: the worker vanished",
};

function failureLines(failure: Failure, before: Failure | undefined, view: Screen): readonly string[] {
  const { paint } = view;
  const files = [
    ...(failure.evidence ?? []).map((file) => `evidence: ${clean(evidenceText(file))}`),
    ...(failure.log ? [paint.dim(`log: ${clean(failure.log)}`)] : []),
    ...(failure.jsonLogLocation ? [paint.dim(`json log: ${clean(failure.jsonLogLocation)}`)] : []),
  ];
  if (before !== undefined && isSame(failure, before)) {
    return [paint.dim(`the same as #${before.attemptNumber}`), ...files].map(detail);
  }
  const context = failure.errorContext ?? [];
  const step = context.some((line) => line.endsWith(failure.stepFailed)) ? [] : [failure.stepFailed];
  return [
    paint.red(shorten(failureTitle(failure).title, room(view))),
    ...step.filter(Boolean).map((line) => paint.dim(shorten(line, room(view)))),
    ...context.map((line) => paint.dim(clean(line))),
    ...files,
  ].map(detail);
}

function isSame(one: Failure, other: Failure): boolean {
  return (
    one.errorMessage === other.errorMessage &&
    one.stepFailed === other.stepFailed &&
    one.errorType.name === other.errorType.name &&
    one.exitCode === other.exitCode &&
    String(one.errorContext) === String(other.errorContext)
  );
}

const CHANGES_MAX = 8;

function changeLines(before: Json, after: Json, view: Screen): readonly string[] {
  const changes = diffJson(before, after);
  const shown = changes.slice(0, CHANGES_MAX).flatMap((change) => oneChange(change, view));
  const left = changes.length - CHANGES_MAX;
  return left > 0 ? [...shown, detail(view.paint.dim(`… and ${left} more changes`))] : shown;
}

function oneChange({ path, before, after }: Change, view: Screen): readonly string[] {
  const { paint } = view;
  const value = (sign: string, json: Json) => fit(`${sign} ${path}: ${stringifyJson(json)}`, room(view));
  return [
    ...(before === undefined ? [] : [detail(paint.red(value("-", before)))]),
    ...(after === undefined ? [] : [detail(paint.green(value("+", after)))]),
  ];
}

function detail(line: string): string {
  return `    ${line}`;
}

function room({ columns }: Screen): number {
  return Math.max(40, columns - 6);
}

/** Formats an evidence file. Includes the machine if the file is on another one. */
export function evidenceText(file: EvidenceFile): string {
  const { path, sha256, bytes, mediaType, host, missing, kept, problem } = file;
  const facts = listed([
    mediaType,
    bytes !== undefined && counted(bytes, "byte"),
    sha256 !== undefined && `sha256 ${sha256.slice(0, 12)}…`,
    missing && "missing",
    problem,
    host !== undefined && host !== hostname() && `on ${host}`,
    kept !== undefined && `kept as ${kept}`,
  ]);
  return facts === "" ? path : `${path} (${facts})`;
}
