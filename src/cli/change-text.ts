/** What an edit changes, as lines that people read. */

import type { Operation } from "../item/operation.ts";
import type { Json } from "../kit/json.ts";
import { type EditPreview, editToJson } from "../redrive/amend.ts";
import { isOver } from "../redrive/change-operation.ts";
import type { Change } from "../redrive/json-diff.ts";
import { leftText, lettersText } from "./operation-text.ts";
import { fit, type Paint } from "./paint.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
}

/** `~ url: "http://x" → "https://x"`, a line for each place. */
export function changeLines(changes: readonly Change[], { paint, columns }: View): string[] {
  return changes.map(({ path, before, after }) => {
    if (before === undefined) return paint.green(fit(`+ ${path}: ${text(after)}`, columns));
    if (after === undefined) return paint.red(fit(`- ${path}: ${text(before)}`, columns));
    const half = Math.max(10, Math.floor((columns - path.length - 8) / 2));
    return `${paint.yellow(`~ ${fit(path, columns)}`)}: ${fit(text(before), half)} → ${fit(text(after), half)}`;
  });
}

function text(value: Json | undefined): string {
  return JSON.stringify(value);
}

/** The changes that are shown, and all of them counted. */
export function editPreviewText(preview: EditPreview, { paint, columns }: View): string {
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
  if (refused > 0) parts.push(`${refused} refused (redrive ops show ${id} says why)`);
  if (!isOver(operation)) parts.push(leftText(operation));
  const next =
    changed === 0 ? "" : `Run again: redrive dlq retry ${queue}\nTake it back: redrive ops undo ${id}\n`;
  return `${parts.join(", ")}.\n${next}`;
}
