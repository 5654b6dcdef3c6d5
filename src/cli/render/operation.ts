/** Operations as people read them: what became of a redrive, what one would do, and how any operation stands. */

import { leftOf, type Operation, type OperationStatus, type SelectedLetter } from "../../item/operation.ts";
import { type EditPreview, editToJson } from "../../redrive/amend.ts";
import { returnedOf, STAGE_NAMES, stageOf } from "../../redrive/canary.ts";
import { isOver } from "../../redrive/change-operation.ts";
import type { Change } from "../../redrive/json-diff.ts";
import { planText } from "../../redrive/plan.ts";
import type { RedrivePreview } from "../../redrive/preview.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { type Json, stringifyJson } from "../../std/json.ts";
import { titleLine } from "../../triage/title.ts";
import type { Fact, Screen } from "./details.ts";
import { detailsText, titleOf } from "./details.ts";
import { groupTable } from "./failures.ts";
import { clean, fit, type Paint, type Tint } from "./paint.ts";
import { table } from "./table.ts";
import { lettersText, thousands } from "./words.ts";

/** What an operation that is not over has left, and how to go on with it. */
export function leftText(operation: Operation): string {
  const left = operation.status === "selecting" ? "the rest" : thousands(leftOf(operation));
  return `${left} left (to continue: redrive ops resume ${operation.id})`;
}

/** What a redrive has come to. `hasWorkers`: what is in line is done by workers, whoever sent it. */
export function redriveText(operation: Operation, { hasWorkers }: { readonly hasWorkers: boolean }): string {
  const { id, queue, selected, done, refused, succeeded, failed } = operation;
  if (selected === 0) return `No letters of ${queue} match.\n`;
  const left = leftOf(operation);
  const parts = [`${succeeded} succeeded`, `${failed} failed again`];
  if (refused > 0) parts.push(`${refused} refused${whyRefused(operation)}`);
  const isAllSent = done + refused === selected;
  if (left > 0 && hasWorkers && isAllSent)
    parts.push(`${left} in line for workers (see: redrive ops show ${id})`);
  else if (left > 0) parts.push(`${thousands(left)} left (to continue: redrive ops resume ${id})`);
  return `${lettersText(selected)} of ${queue}: ${parts.join(", ")}.\n`;
}

function whyRefused(operation: Operation): string {
  if (operation.status === "cancelled" || returnedOf(operation) !== null) return "";
  return operation.force ? ` (see: redrive ops show ${operation.id})` : " (not eligible; --force overrides)";
}

/** Why a canary sends no more; null when it did not stop. */
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

const GROUPS_SHOWN_MAX = 20;

/** What a redrive would do. */
export function previewText(preview: RedrivePreview, queue: string, screen: Screen): string {
  const { columns } = screen;
  const { selected, redrivable, groups, refusals } = preview;
  if (selected === 0) return `No letters of ${queue} match.\n`;
  const refused = selected - redrivable;
  const first = `Would retry ${lettersText(redrivable)} of ${queue}${refused > 0 ? `; ${refused} would be refused (--force overrides)` : ""}.\n`;
  const shown = groupTable(
    groups.slice(0, GROUPS_SHOWN_MAX),
    [
      { title: "LETTERS", value: ({ count }) => String(count), align: "right" },
      { title: "RETRY", value: (group) => String(group.redrivable), align: "right" },
      { title: "GROUP", value: ({ signature }) => signature, giveUp: 5 },
    ],
    screen,
  );
  const hidden = groups.length - GROUPS_SHOWN_MAX;
  const more = hidden > 0 ? `and ${hidden} more groups\n` : "";
  return `${first}\n${shown}${more}${refusalLines(refusals, columns)}`;
}

/** Why letters are refused, below a heading. */
export function refusalLines(
  refusals: OperationView["refusals"],
  columns = Number.POSITIVE_INFINITY,
): string {
  if (refusals.length === 0) return "";
  return `\nRefused:\n${refusals.map(({ reason, count }) => `${fit(`  ${count}  ${reason}`, columns)}\n`).join("")}`;
}

/** What an operation is shown with. */
export interface OperationView {
  readonly operation: Operation;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  /** A few of its letters. */
  readonly letters: readonly SelectedLetter[];
}

/** An operation in detail. */
export function operationText({ operation, refusals, letters }: OperationView, screen: Screen): string {
  const { paint, columns } = screen;
  const status = statusTint(paint, operation.status)(operation.status);
  return detailsText(
    [
      { ...titleOf(operation.id, `${operation.kind}, ${status}`), facts: factsOf(operation) },
      {
        title: "Refused",
        lines: refusals.map(({ reason, count }) => fit(`${count}  ${reason}`, columns - 2)),
      },
      { title: "Letters", lines: letters.length === 0 ? [] : letterRows(letters, columns - 2) },
    ],
    screen,
  );
}

function factsOf(operation: Operation): readonly Fact[] {
  const { queue, author, createdAt, endedAt, reason, undoes, plan, kind } = operation;
  const stage = kind === "redrive" && plan.canary === true ? stageOf(operation).stage : null;
  return [
    ["Job", queue],
    ["Started", `${toRfc3339(createdAt)} by ${author}`],
    ["Ended", endedAt === undefined ? undefined : toRfc3339(endedAt)],
    ["Reason", reason],
    ["Undoes", undoes],
    ["Filter", typeof plan.where === "string" ? plan.where : undefined],
    ["Plan", kind === "redrive" ? planText(operation) : undefined],
    ["Stage", stage === null ? undefined : `${stage} of ${STAGE_NAMES.length}: ${STAGE_NAMES[stage - 1]}`],
    ["Letters", countsText(operation).trimEnd()],
  ];
}

/** What became of the letters, in one line. */
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

/** The colour of a status. */
export function statusTint(paint: Paint, status: OperationStatus): Tint {
  if (status === "ended") return paint.green;
  return status === "cancelled" ? paint.red : status === "paused" ? paint.yellow : paint.cyan;
}

/** `~ url: "http://x" → "https://x"`, a line for each place. */
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

/** The changes that are shown, and all of them counted. */
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

/** `3 of 5 letters change, 1 has the data already, 1 is refused`. */
function editCounts({ selected, changed, unchanged, refused }: EditPreview): string {
  const parts = [`${changed} of ${lettersText(selected)} ${changed === 1 ? "changes" : "change"}`];
  if (unchanged > 0) parts.push(`${unchanged} ${unchanged === 1 ? "has" : "have"} the data already`);
  if (refused > 0) parts.push(`${refused} ${refused === 1 ? "is" : "are"} refused`);
  return parts.join(", ");
}

/** What an edit has come to. */
export function editResultText(operation: Operation): string {
  const { id, queue, selected, refused } = operation;
  if (selected === 0 && isOver(operation)) return `No letters of ${queue} match.\n`;
  const { changed, unchanged } = editToJson(operation);
  const parts = [`Changed ${lettersText(Number(changed))} of ${queue}`];
  if (unchanged !== 0) parts.push(`${unchanged} had the data already`);
  if (refused > 0) parts.push(`${refused} refused (see: redrive ops show ${id})`);
  if (!isOver(operation)) parts.push(leftText(operation));
  const next = changed === 0 ? "" : `To retry: redrive dlq retry ${queue}\nTo undo: redrive ops undo ${id}\n`;
  return `${parts.join(", ")}.\n${next}`;
}
