/** Operations as people read them: what became of a redrive, what one would do, and how any operation stands. */
import { leftOf, type Operation, type OperationStatus, type SelectedLetter } from "../item/operation.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { returnedOf, STAGE_NAMES, stageOf } from "../redrive/canary.ts";
import { planText } from "../redrive/plan.ts";
import type { RedrivePreview } from "../redrive/preview.ts";
import { titleLine } from "../triage/title.ts";
import { groupTable } from "./group-table.ts";
import { clean, fit, type Paint, type Tint } from "./paint.ts";
import { table } from "./table.ts";

/** `1 letter`, `3 letters`. */
export function lettersText(count: number): string {
  return count === 1 ? "1 letter" : `${count} letters`;
}

/** What an operation that is not over has left, and how to go on with it. */
export function leftText(operation: Operation): string {
  const left = operation.status === "selecting" ? "the rest" : leftOf(operation);
  return `${left} left: redrive ops resume ${operation.id}`;
}

/** What a redrive has come to. `hasWorkers`: what is in line is done by workers, whoever sent it. */
export function redriveText(operation: Operation, { hasWorkers }: { readonly hasWorkers: boolean }): string {
  const { id, queue, selected, done, refused, succeeded, failed } = operation;
  if (selected === 0) return `No letters of ${queue} match.\n`;
  const left = leftOf(operation);
  const parts = [`${succeeded} succeeded`, `${failed} failed again`];
  if (refused > 0) parts.push(`${refused} refused${whyRefused(operation)}`);
  const isAllSent = done + refused === selected;
  if (left > 0 && hasWorkers && isAllSent) parts.push(`${left} in line for workers: redrive ops show ${id}`);
  else if (left > 0) parts.push(`${left} still to do: redrive ops resume ${id}`);
  return `${lettersText(selected)} of ${queue}: ${parts.join(", ")}.\n`;
}

function whyRefused(operation: Operation): string {
  if (operation.status === "cancelled" || returnedOf(operation) !== null) return "";
  return operation.force
    ? ` (redrive ops show ${operation.id} says why)`
    : " (not eligible; --force overrides)";
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
export function previewText(
  preview: RedrivePreview,
  queue: string,
  screen: { readonly paint: Paint; readonly columns: number },
): string {
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
  const why = refusals.map(({ reason, count }) => fit(`  ${count}  ${reason}`, columns)).join("\n");
  return `${first}\n${shown}${more}${why === "" ? "" : `\nRefused:\n${why}\n`}`;
}

/** What an operation is shown with. */
export interface OperationView {
  readonly operation: Operation;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  /** A few of its letters. */
  readonly letters: readonly SelectedLetter[];
}

/** How an operation stands, for a person. */
export function operationText(view: OperationView, screen: { paint: Paint; columns: number }): string {
  const { operation, refusals, letters } = view;
  const { paint, columns } = screen;
  const facts = factsOf(operation).map(([name, value]) => `  ${paint.dim(name.padEnd(9))} ${clean(value)}\n`);
  const status = statusTint(paint, operation.status)(operation.status);
  const sections = [`${paint.bold(operation.id)}  ${operation.kind}, ${status}\n${facts.join("")}`];
  if (refusals.length > 0) {
    const lines = refusals.map(({ reason, count }) => `  ${fit(`${count}  ${reason}`, columns - 2)}\n`);
    sections.push(`${paint.bold("Refused")}\n${lines.join("")}`);
  }
  if (letters.length > 0) sections.push(`${paint.bold("Letters")}\n${lettersTable(letters, columns)}`);
  return sections.join("\n");
}

function factsOf(operation: Operation): readonly (readonly [string, string])[] {
  const { queue, author, createdAt, endedAt, reason, undoes, plan, kind } = operation;
  const facts: [string, string][] = [
    ["Job", queue],
    ["Begun", `${toRfc3339(createdAt)} by ${author}`],
  ];
  if (endedAt !== undefined) facts.push(["Ended", toRfc3339(endedAt)]);
  if (reason !== undefined) facts.push(["Reason", reason]);
  if (undoes !== undefined) facts.push(["Undoes", undoes]);
  if (typeof plan.where === "string") facts.push(["Filter", plan.where]);
  if (kind === "redrive" && planText(operation) !== "") facts.push(["Plan", planText(operation)]);
  const stage = kind === "redrive" && plan.canary === true ? stageOf(operation).stage : null;
  if (stage !== null) facts.push(["Stage", `${stage} of ${STAGE_NAMES.length}: ${STAGE_NAMES[stage - 1]}`]);
  facts.push(["Books", bookText(operation).trimEnd()]);
  return facts;
}

/** What became of the letters, in one line. */
export function bookText(operation: Operation): string {
  const { kind, selected, done, refused, succeeded, failed } = operation;
  const parts = kind === "redrive" ? [`${succeeded} succeeded`, `${failed} failed again`] : [`${done} done`];
  parts.push(`${refused} refused`, `${leftOf(operation)} left`);
  return `${lettersText(selected)}: ${parts.join(", ")}\n`;
}

function lettersTable(letters: readonly SelectedLetter[], columns: number): string {
  return table(
    letters,
    [
      { title: "ITEM", value: ({ itemId }) => itemId },
      { title: "STATUS", value: ({ status }) => status },
      { title: "GROUP", value: ({ signature }) => signature },
      { title: "WHY", value: ({ reason }) => reason ?? "" },
    ],
    columns,
  );
}

/** The colour of a status. */
export function statusTint(paint: Paint, status: OperationStatus): Tint {
  if (status === "ended") return paint.green;
  return status === "cancelled" ? paint.red : status === "paused" ? paint.yellow : paint.cyan;
}
