/** Renders operations on letters: previews, results, and one operation in detail. */
import { leftOf, type Operation, type OperationStatus, type SelectedLetter } from "../../item/operation.ts";
import type { ShownOperation } from "../../queue/shown-operation.ts";
import { type EditPreview, editToJson } from "../../redrive/amend.ts";
import { describeStage, returnedOf, stageOf } from "../../redrive/canary.ts";
import { isOver } from "../../redrive/change-operation.ts";
import type { OperationView } from "../../redrive/operation-view.ts";
import { isCanary, planText } from "../../redrive/plan.ts";
import type { RedrivePreview } from "../../redrive/preview.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { type Json, stringifyJson } from "../../std/json.ts";
import type { Change } from "../../std/json-diff.ts";
import { titleLine } from "../../triage/title.ts";
import { type Column, detailsText, type Fact, groupTable, table, titleOf } from "./layout.ts";
import {
  clean,
  fit,
  lettersText,
  listed,
  type Paint,
  type Screen,
  some,
  type Tint,
  thousands,
} from "./text.ts";

/** Formats the remaining letters of an unfinished operation, and the command that continues it. */
export function leftText(operation: Operation): string {
  const left = operation.status === "selecting" ? "the rest" : thousands(leftOf(operation));
  return `${left} left (to continue: redrive ops resume ${operation.id})`;
}

/** Formats a result: `Discarded 3 letters of orders, 1 refused (see: redrive ops show op-1).` */
export function resultText(operation: Operation, did: string, more?: string): string {
  const { id, queue, refused } = operation;
  return `${listed([
    `${did} of ${queue}`,
    more,
    refused > 0 && `${refused} refused (see: redrive ops show ${id})`,
    !isOver(operation) && leftText(operation),
  ])}.\n`;
}

export function undoHint({ id, done }: Operation): string {
  return done > 0 ? `To undo: redrive ops undo ${id}\n` : "";
}

export function noMatchText(queue: string | undefined): string {
  return `No letters${queue === undefined ? "" : ` of ${queue}`} match.\n`;
}

/** Formats the result of a redrive. With `hasWorkers`, the queue's workers process the redriven letters later. */
export function redriveText(operation: Operation, { hasWorkers }: { readonly hasWorkers: boolean }): string {
  const { id, queue, selected, done, refused, succeeded, failed } = operation;
  if (selected === 0) return noMatchText(queue);
  const left = leftOf(operation);
  const isWaiting = hasWorkers && done + refused === selected;
  const parts = listed([
    `${succeeded} succeeded`,
    `${failed} failed again`,
    refused > 0 && `${refused} refused${whyRefused(operation)}`,
    left > 0 && isWaiting && `${left} queued for workers (see: redrive ops show ${id})`,
    left > 0 && !isWaiting && `${thousands(left)} left (to continue: redrive ops resume ${id})`,
  ]);
  return `${lettersText(selected)} of ${queue}: ${parts}.\n`;
}

function whyRefused(operation: Operation): string {
  if (operation.status === "cancelled" || returnedOf(operation) !== null) return "";
  return operation.force ? ` (see: redrive ops show ${operation.id})` : " (not eligible; --force overrides)";
}

/** Explains why a canary stopped; null if it did not. */
export function canaryText(operation: Operation): string | null {
  const returned = returnedOf(operation);
  if (returned === null) return null;
  const { itemId, signature, pattern } = returned;
  return [
    `The canary stopped: ${itemId} failed again with the same failure (group ${signature}).`,
    ...(pattern === undefined ? [] : [`  ${clean(titleLine(pattern))}`]),
    `The other ${lettersText(operation.refused)} were not retried.`,
    `Inspect it: redrive dlq inspect ${itemId}`,
  ].join("\n");
}

export function previewText(preview: RedrivePreview, queue: string, screen: Screen): string {
  const { selected, redrivable, groups, refusals } = preview;
  if (selected === 0) return noMatchText(queue);
  const refused = some(selected - redrivable, "would be refused (--force overrides)");
  const retry = { title: "RETRY", value: (group: (typeof groups)[number]) => group.redrivable };
  const first = `Would retry ${lettersText(redrivable)} of ${queue}${refused && `; ${refused}`}.\n`;
  return `${first}\n${selectedGroupsText(groups, screen, [retry])}${refusalLines(refusals, screen.columns)}`;
}

const GROUPS_SHOWN_MAX = 20;

export function selectedGroupsText<Group extends { pattern: string; signature: string; count: number }>(
  groups: readonly Group[],
  screen: Screen,
  more: readonly Column<Group>[] = [],
): string {
  const shown = groupTable(
    groups.slice(0, GROUPS_SHOWN_MAX),
    [
      { title: "LETTERS", value: ({ count }) => count },
      ...more,
      { title: "GROUP", value: ({ signature }) => signature, giveUp: 5 },
    ],
    screen,
  );
  const hidden = groups.length - GROUPS_SHOWN_MAX;
  return `${shown}${hidden > 0 ? `and ${hidden} more groups\n` : ""}`;
}

export function refusalLines(
  refusals: OperationView["refusals"],
  columns = Number.POSITIVE_INFINITY,
): string {
  if (refusals.length === 0) return "";
  return `\nRefused:\n${refusals.map(({ reason, count }) => `${fit(`  ${count}  ${reason}`, columns)}\n`).join("")}`;
}

export function operationText(view: ShownOperation, screen: Screen): string {
  const { operation, refusals, letters } = view;
  const { paint, columns } = screen;
  const status = statusTint(paint, operation.status)(operation.status);
  return detailsText(
    [
      { ...titleOf(operation.id, `${operation.kind}, ${status}`), facts: factsOf(view) },
      { title: "Refused", lines: refusals.map((one) => fit(`${one.count}  ${one.reason}`, columns - 2)) },
      { title: "Letters", lines: letters.length === 0 ? [] : letterRows(letters, columns - 2) },
    ],
    screen,
  );
}

function factsOf({ operation, waitsForWorker }: ShownOperation): readonly Fact[] {
  const { queue, author, createdAt, endedAt, reason, undoes, plan, kind } = operation;
  return [
    ["Job", queue],
    ["Started", `${toRfc3339(createdAt)} by ${author}`],
    ["Ended", endedAt === undefined ? undefined : toRfc3339(endedAt)],
    ["Reason", reason],
    ["Undoes", undoes],
    ["Filter", typeof plan.where === "string" ? plan.where : undefined],
    ["Plan", kind === "redrive" ? planText(operation) : undefined],
    ["Stage", kind === "redrive" && isCanary(operation) ? stageText(operation) : undefined],
    ["Letters", countsText(operation).trimEnd()],
    ["Waits for", waitsForWorker ? `a worker: redrive worker --queue ${queue} -- COMMAND` : undefined],
  ];
}

function stageText(operation: Operation): string {
  const { number, stages, name } = describeStage(operation, stageOf(operation).stage);
  return `${number} of ${stages}: ${name}`;
}

export function countsText(operation: Operation): string {
  const { kind, selected, done, refused, succeeded, failed } = operation;
  const parts = kind === "redrive" ? [`${succeeded} succeeded`, `${failed} failed again`] : [`${done} done`];
  parts.push(`${refused} refused`, `${leftOf(operation)} left`);
  return `${lettersText(selected)}: ${parts.join(", ")}\n`;
}

function letterRows(letters: readonly SelectedLetter[], columns: number): readonly string[] {
  const rows = table(
    letters,
    [
      { title: "ITEM", value: ({ itemId }) => itemId },
      { title: "STATUS", value: ({ status }) => status },
      { title: "GROUP", value: ({ signature }) => signature },
      { title: "WHY", value: ({ reason }) => reason ?? "" },
    ],
    columns,
  );
  return rows.trimEnd().split("\n");
}

export function statusTint(paint: Paint, status: OperationStatus): Tint {
  if (status === "ended") return paint.green;
  return status === "cancelled" ? paint.red : status === "paused" ? paint.yellow : paint.cyan;
}

/** Formats each change as a line: `~ url: "http://x" → "https://x"`. */
export function changeLines(changes: readonly Change[], { paint, columns }: Screen): string[] {
  return changes.map(({ path, before, after }) => {
    if (before === undefined) return paint.green(fit(`+ ${path}: ${text(after)}`, columns));
    if (after === undefined) return paint.red(fit(`- ${path}: ${text(before)}`, columns));
    const half = Math.max(10, Math.floor((columns - path.length - 8) / 2));
    return `${paint.yellow(`~ ${fit(path, columns)}`)}: ${fit(text(before), half)} → ${fit(text(after), half)}`;
  });
}

function text(value: Json | undefined): string {
  return stringifyJson(value);
}

/** Formats the first changes, and the counts of all. */
export function editPreviewText(preview: EditPreview, { paint, columns }: Screen): string {
  const lines = preview.shown.flatMap(({ itemId, changes }) => [
    paint.bold(fit(itemId, columns)),
    ...changeLines(changes, { paint, columns: columns - 2 }).map((line) => `  ${line}`),
  ]);
  const hidden = preview.changed - preview.shown.length;
  if (hidden > 0) lines.push(`… and ${hidden} more (--show ${preview.changed} shows all)`);
  lines.push(
    ...preview.refusals.map(({ reason, count }) => fit(`${lettersText(count)} refused: ${reason}`, columns)),
  );
  return [...lines, `${editCounts(preview)}.`].join("\n");
}

/** Formats counts: `3 of 5 letters change, 1 already has the data, 1 is refused`. */
function editCounts({ selected, changed, unchanged, refused }: EditPreview): string {
  return listed([
    `${changed} of ${lettersText(selected)} ${changed === 1 ? "changes" : "change"}`,
    some(unchanged, `already ${unchanged === 1 ? "has" : "have"} the data`),
    some(refused, `${refused === 1 ? "is" : "are"} refused`),
  ]);
}

export function editResultText(operation: Operation): string {
  const { id, queue, selected } = operation;
  if (selected === 0 && isOver(operation)) return noMatchText(queue);
  const { changed, unchanged } = editToJson(operation);
  const already = some(Number(unchanged), "already had the data");
  const next = changed === 0 ? "" : `To retry: redrive dlq retry ${queue}\nTo undo: redrive ops undo ${id}\n`;
  return resultText(operation, `Changed ${lettersText(Number(changed))}`, already) + next;
}
