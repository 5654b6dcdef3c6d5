/** Renders the history of a letter in time order: attempts, and the actions of people and rules between them. */
import { hostname } from "node:os";
import type { Moment } from "../../dead-letter/history.ts";
import type { EvidenceFile, Failure } from "../../item/failure.ts";
import type { Attempt } from "../../item/item.ts";
import type { ResolutionKind } from "../../item/letter.ts";
import type { Operation } from "../../item/operation.ts";
import { type Change, diffJson } from "../../redrive/json-diff.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { type Json, stringifyJson } from "../../std/json.ts";
import { failureTitle } from "../../triage/title.ts";
import { clean, fit, type Screen } from "./paint.ts";
import { shorten } from "./shorten.ts";
import { counted, listed } from "./words.ts";

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
  requeue: "resolved: it succeeded as it was, sent again",
  manual_fix: "resolved: it succeeded after its data was corrected, sent again",
  auto_fix: "resolved: it succeeded after a rule corrected its data, sent again",
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
  failed: "failed; its record has no details",
  released: "released: the runner stopped, and it does not count",
  lost: "lost: its worker vanished",
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
