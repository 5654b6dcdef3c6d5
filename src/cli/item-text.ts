/** Items of a queue as people read them: a page of them, and one with all that happened to it. */
import type { Attempt, Item } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import { asText } from "../kit/json.ts";
import { type ItemView, resultOf } from "../queue/item-json.ts";
import { clean, fit, type Paint, type Tint } from "./paint.ts";
import { table } from "./table.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
}

export function itemsText(items: readonly Item[], now: number, { paint, columns }: View): string {
  return table(
    items,
    [
      { title: "ITEM", value: ({ itemId }) => itemId },
      { title: "STATE", value: ({ state }) => state, paint: (cell, { state }) => tintOf(state, paint)(cell) },
      { title: "PRIORITY", value: ({ priority }) => priority, giveUp: 2 },
      { title: "DUE", value: (item) => dueText(item, now), giveUp: 1 },
      { title: "TRIES", value: ({ attempts }) => String(attempts), align: "right" },
      { title: "DATA", value: ({ name, data }) => name ?? asText(data) },
    ],
    columns,
  );
}

/** Only of those that wait: for the others it is over. */
function dueText({ state, dueAt }: Item, now: number): string {
  if (state !== "ready" && state !== "held") return "";
  return dueAt > now ? `in ${formatDuration(dueAt - now)}` : "now";
}

function tintOf(state: ItemState, paint: Paint): Tint {
  if (state === "done") return paint.green;
  if (state === "dead") return paint.red;
  return state === "leased" ? paint.cyan : state === "ready" ? (text) => text : paint.yellow;
}

export function itemText({ item, attempts, notes }: ItemView, view: View): string {
  const { paint, columns } = view;
  const facts = factsOf(item).map(([name, value]) => `  ${paint.dim(name.padEnd(9))} ${clean(value)}\n`);
  const result = resultOf(attempts);
  const sections = [
    `${paint.bold(clean(item.itemId))}  ${tintOf(item.state, paint)(item.state)}\n${facts.join("")}`,
    `${paint.bold("Data")}\n  ${fit(asText(item.data), Math.max(40, columns * 3))}\n`,
    attempts.length > 0 &&
      `${paint.bold("Attempts")}\n${attempts.map((one) => attemptLine(one, view)).join("")}`,
    result !== undefined && `${paint.bold("Result")}\n  ${fit(asText(result), Math.max(40, columns * 3))}\n`,
    notes.length > 0 &&
      `${paint.bold("Notes")}\n${notes.map(({ at, author, text }) => `  ${toRfc3339(at)}  ${clean(author)}: ${clean(text)}\n`).join("")}`,
    item.state === "dead" &&
      `${paint.bold("Next")}\n  ${paint.cyan(`redrive dlq inspect ${item.itemId} --queue ${item.queue}`)}\n`,
  ];
  return sections.filter(Boolean).join("\n");
}

function factsOf(item: Item): readonly (readonly [string, string])[] {
  const { queue, name, priority, dueAt, expiresAt, lane, revision, redriveCount, requeuedFrom, requeuedAs } =
    item;
  const facts: [string, string][] = [["Queue", queue]];
  if (name !== undefined) facts.push(["Name", name]);
  facts.push(["Priority", priority], ["Due", toRfc3339(dueAt)]);
  if (expiresAt !== undefined) facts.push(["Expires", toRfc3339(expiresAt)]);
  if (lane !== undefined) facts.push(["Lane", lane]);
  if (revision > 1) facts.push(["Revision", String(revision)]);
  if (redriveCount > 0) facts.push(["Redriven", redriveCount === 1 ? "once" : `${redriveCount} times`]);
  if (requeuedFrom !== undefined) facts.push(["Made from", requeuedFrom]);
  if (requeuedAs !== undefined && requeuedAs.length > 0)
    facts.push(["Sent anew", `as ${requeuedAs.join(", ")}`]);
  return facts;
}

function attemptLine({ number, outcome, startedAt, endedAt, failure }: Attempt, { columns }: View): string {
  const took = endedAt === undefined ? "" : `  ${formatDuration(endedAt - startedAt)}`;
  const why = failure === undefined ? "" : `  ${failure.errorType.name}: ${failure.errorMessage}`;
  return `  ${fit(`#${number}  ${toRfc3339(startedAt)}  ${outcome}${took}${why}`, Math.max(40, columns - 2))}\n`;
}
