/** A letter's life as lines for a person: every attempt, and what people and rules did between them, in time order. */
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
import { clean, fit, type Paint } from "./paint.ts";
import { shorten } from "./shorten.ts";
import { thousands } from "./words.ts";

export interface TimelineView {
  readonly paint: Paint;
  readonly columns: number;
}

/** What is older is counted, not shown. */
const MOMENTS_MAX = 30;

export function timelineText(moments: readonly Moment[], view: TimelineView): string {
  const shown = moments.slice(-MOMENTS_MAX);
  const left = moments.length - shown.length;
  const lines = left > 0 ? [view.paint.dim(`      … ${left} earlier; --json has every failure`)] : [];
  let before: Failure | undefined;
  for (const moment of shown) {
    lines.push(...momentLines(moment, before, view));
    if (moment.kind === "attempt") before = moment.attempt.failure ?? before;
  }
  return `${lines.join("\n")}\n`;
}

function momentLines(moment: Moment, before: Failure | undefined, view: TimelineView): readonly string[] {
  const { paint } = view;
  switch (moment.kind) {
    case "attempt":
      return attemptLines(moment.attempt, before, view);
    case "redrive":
      return [said(moment.at, `sent again${byOperation(moment.operation)}`, view)];
    case "discard":
      return [
        said(moment.at, `discarded${byOperation(moment.operation)}${because(moment.operation.reason)}`, view),
      ];
    case "restore":
      return [said(moment.at, `restored${byOperation(moment.operation)}`, view)];
    case "amendment": {
      const { revision, author, rule, note } = moment.amendment;
      const who = rule === undefined ? author : `the rule ${rule}`;
      const head = said(moment.at, `changed by ${who} (revision ${revision})${because(note)}`, view);
      return [head, ...changeLines(moment.amendment.before, moment.after, view)];
    }
    case "note":
      return [
        said(moment.at, `note by ${moment.note.author}`, view),
        ...moment.note.text.split("\n").map((line) => detail(paint.cyan(fit(line, room(view))))),
      ];
    case "late": {
      const { attemptNumber, outcome, note } = moment.result;
      return [said(moment.at, `late result of attempt ${attemptNumber}: ${outcome} ${note}`, view)];
    }
    case "resolved": {
      const { kind, author, reason } = moment.resolution;
      const who = author === undefined ? "" : ` by ${author}`;
      return [said(moment.at, `${RESOLVED[kind]}${who}${because(reason)}`, view)];
    }
  }
}

const RESOLVED: Readonly<Record<ResolutionKind, string>> = {
  requeue: "resolved: it succeeded as it was, sent again",
  manual_fix: "resolved: it succeeded after its data was corrected, sent again",
  auto_fix: "resolved: it succeeded after a rule corrected its data, sent again",
  discard: "discarded",
};

/** Attempts have their number in front, everything else a dot. */
function said(at: number, text: string, { paint, columns }: TimelineView): string {
  const line = `${toRfc3339(at)}  ${text}`;
  return `  ${paint.dim("·")}   ${fit(line, Math.max(40, columns - 6))}`;
}

function byOperation(operation: Operation | undefined): string {
  return operation === undefined ? "" : ` by ${operation.author} (operation ${operation.id})`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : `: ${reason}`;
}

function attemptLines(attempt: Attempt, before: Failure | undefined, view: TimelineView): readonly string[] {
  const { failure } = attempt;
  const number = `#${attempt.number}`.padEnd(2);
  if (failure === undefined) {
    const at = toRfc3339(attempt.endedAt ?? attempt.startedAt);
    const tint = attempt.outcome === "succeeded" ? view.paint.green : view.paint.dim;
    const log = attempt.log === undefined ? [] : [detail(view.paint.dim(`log: ${clean(attempt.log)}`))];
    return [`  ${number}  ${at}  ${tint(OUTCOMES[attempt.outcome])}`, ...log];
  }
  const how = failure.exitCode !== undefined ? `exit ${failure.exitCode}` : (failure.signal ?? "");
  const facts = [`after ${formatDuration(failure.durationMs)}`, failure.errorType.name, how];
  const head = `  ${number}  ${[toRfc3339(failure.timestamp), ...facts].filter(Boolean).join("  ")}`;
  return [head, ...failureLines(failure, before, view)];
}

const OUTCOMES: Readonly<Record<Attempt["outcome"], string>> = {
  running: "is running",
  succeeded: "succeeded",
  failed: "failed; its record has no details",
  released: "released: the runner stopped, and it does not count",
  lost: "lost: its worker vanished",
};

function failureLines(failure: Failure, before: Failure | undefined, view: TimelineView): readonly string[] {
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

/** A change of the data: what was there, and what is there now. */
export function changeLines(before: Json, after: Json, view: TimelineView): readonly string[] {
  const changes = diffJson(before, after);
  const shown = changes.slice(0, CHANGES_MAX).flatMap((change) => oneChange(change, view));
  const left = changes.length - CHANGES_MAX;
  return left > 0 ? [...shown, detail(view.paint.dim(`… and ${left} more changes`))] : shown;
}

function oneChange({ path, before, after }: Change, view: TimelineView): readonly string[] {
  const { paint } = view;
  const value = (sign: string, json: Json) => fit(`${sign} ${path}: ${stringifyJson(json)}`, room(view));
  return [
    ...(before === undefined ? [] : [detail(paint.red(value("-", before)))]),
    ...(after === undefined ? [] : [detail(paint.green(value("+", after)))]),
  ];
}

function detail(line: string): string {
  return `      ${line}`;
}

function room({ columns }: TimelineView): number {
  return Math.max(40, columns - 6);
}

/** The machine is named when it is another one: there the path leads nowhere here. */
export function evidenceText(file: EvidenceFile): string {
  const { path, sha256, bytes, mediaType, host, missing, kept, problem } = file;
  const facts = [
    mediaType,
    bytes === undefined ? undefined : `${thousands(bytes)} ${bytes === 1 ? "byte" : "bytes"}`,
    sha256 === undefined ? undefined : `sha256 ${sha256.slice(0, 12)}…`,
    missing ? "missing" : undefined,
    problem,
    host === undefined || host === hostname() ? undefined : `on ${host}`,
    kept === undefined ? undefined : `kept as ${kept}`,
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? path : `${path} (${facts.join(", ")})`;
}
