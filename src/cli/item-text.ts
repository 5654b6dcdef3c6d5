/** Items of a queue, or receipts of a target, as people read them: a page of them, and one with all that happened to it. */
import type { Attempt, Item } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import { asText } from "../kit/json.ts";
import { type ItemView, resultOf } from "../queue/item-json.ts";
import { clean, fit, type Paint, type Tint } from "./paint.ts";
import { type Column, table } from "./table.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
}

/** What an item and its parts are called. */
interface Words {
  readonly id: string;
  readonly queue: string;
  readonly data: string;
  readonly attempts: string;
  readonly lane: string;
  /** Whether anybody can give it one. */
  readonly hasPriority: boolean;
}

const WORDS: Readonly<Record<"item" | "receipt", Words>> = {
  item: {
    id: "ITEM",
    queue: "Queue",
    data: "Data",
    attempts: "Attempts",
    lane: "Lane",
    hasPriority: true,
  },
  receipt: {
    id: "KEY",
    queue: "Target",
    data: "Receipt",
    attempts: "Tries",
    lane: "Order",
    hasPriority: false,
  },
};

export interface ItemsView extends View {
  readonly items: readonly Item[];
  /** By the store's clock. */
  readonly now: number;
  readonly word: keyof typeof WORDS;
}

export function itemsText({ items, now, word, paint, columns }: ItemsView): string {
  const { id, data, hasPriority } = WORDS[word];
  const priority: Column<Item> = { title: "PRIORITY", value: (item) => item.priority, giveUp: 2 };
  return table(
    items,
    [
      { title: id, value: ({ itemId }) => itemId },
      { title: "STATE", value: ({ state }) => state, paint: (cell, { state }) => tintOf(state, paint)(cell) },
      ...(hasPriority ? [priority] : []),
      { title: "DUE", value: (item) => dueText(item, now), giveUp: 1 },
      { title: "TRIES", value: ({ attempts }) => String(attempts), align: "right" },
      { title: data.toUpperCase(), value: (item) => item.name ?? asText(item.data) },
    ],
    columns,
  );
}

function dueText(item: Item, now: number): string {
  if (!isWaiting(item)) return "";
  const { dueAt } = item;
  return dueAt > now ? `in ${formatDuration(dueAt - now)}` : "now";
}

/** Only those that wait are due: for the others it is over. */
function isWaiting({ state }: Item): boolean {
  return state === "ready" || state === "held";
}

function tintOf(state: ItemState, paint: Paint): Tint {
  if (state === "done") return paint.green;
  if (state === "dead") return paint.red;
  return state === "leased" ? paint.cyan : state === "ready" ? (text) => text : paint.yellow;
}

export function itemText(
  { item, attempts, notes }: ItemView,
  view: View,
  word: keyof typeof WORDS = "item",
): string {
  const { paint, columns } = view;
  const words = WORDS[word];
  const facts = factsOf(item, words).map(
    ([name, value]) => `  ${paint.dim(name.padEnd(9))} ${clean(value)}\n`,
  );
  const result = resultOf(attempts);
  const sections = [
    `${paint.bold(clean(item.itemId))}  ${tintOf(item.state, paint)(item.state)}\n${facts.join("")}`,
    `${paint.bold(words.data)}\n  ${fit(asText(item.data), Math.max(40, columns * 3))}\n`,
    attempts.length > 0 &&
      `${paint.bold(words.attempts)}\n${attempts.map((one) => attemptLines(one, view)).join("")}`,
    result !== undefined && `${paint.bold("Result")}\n  ${fit(asText(result), Math.max(40, columns * 3))}\n`,
    notes.length > 0 &&
      `${paint.bold("Notes")}\n${notes.map(({ at, author, text }) => `  ${toRfc3339(at)}  ${clean(author)}: ${clean(text)}\n`).join("")}`,
    item.state === "dead" &&
      `${paint.bold("Next")}\n${stepsOf(item, word)
        .map((step) => `  ${paint.cyan(step)}\n`)
        .join("")}`,
  ];
  return sections.filter(Boolean).join("\n");
}

function stepsOf({ itemId, queue }: Item, word: keyof typeof WORDS): readonly string[] {
  const inspect = `redrive dlq inspect ${itemId} --queue ${queue}`;
  return word === "receipt" ? [inspect, `redrive receipts recover ${queue}`] : [inspect];
}

function factsOf(item: Item, words: Words): readonly (readonly [string, string])[] {
  const { queue, name, priority, dueAt, expiresAt, lane, revision, redriveCount, requeuedFrom, requeuedAs } =
    item;
  const facts: [string, string][] = [[words.queue, queue]];
  if (name !== undefined) facts.push(["Name", name]);
  if (words.hasPriority) facts.push(["Priority", priority]);
  if (isWaiting(item)) facts.push(["Due", toRfc3339(dueAt)]);
  if (expiresAt !== undefined) facts.push(["Expires", toRfc3339(expiresAt)]);
  if (lane !== undefined) facts.push([words.lane, lane]);
  if (revision > 1) facts.push(["Revision", String(revision)]);
  if (redriveCount > 0) facts.push(["Redriven", redriveCount === 1 ? "once" : `${redriveCount} times`]);
  if (requeuedFrom !== undefined) facts.push(["Made from", requeuedFrom]);
  if (requeuedAs !== undefined && requeuedAs.length > 0)
    facts.push(["Sent anew", `as ${requeuedAs.join(", ")}`]);
  return facts;
}

/** The reason has a line of its own: it is what one looks for. */
function attemptLines({ number, outcome, startedAt, endedAt, failure }: Attempt, { columns }: View): string {
  const took = endedAt === undefined ? "" : `  ${formatDuration(endedAt - startedAt)}`;
  const type = failure === undefined ? "" : `  ${failure.errorType.name}`;
  const first = fit(
    `#${number}  ${toRfc3339(startedAt)}  ${outcome}${took}${type}`,
    Math.max(40, columns - 2),
  );
  const why = failure === undefined ? "" : `      ${fit(failure.errorMessage, Math.max(40, columns * 3))}\n`;
  return `  ${first}\n${why}`;
}
