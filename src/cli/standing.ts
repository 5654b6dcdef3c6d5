/** Code shared by the commands for queues and for receipt targets, which are queues too. */
import type { Engine } from "../engine.ts";
import type { Item } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { ItemState } from "../item/state.ts";
import { itemToJson } from "../queue/find-item.ts";
import type { QueueSummary } from "../queue/queue-status.ts";
import { canonicalJson, type JsonObject } from "../std/json.ts";
import { argument, type Commands, command, type Given } from "./command.ts";
import type { Context } from "./context.ts";
import { count, limit, reason } from "./options.ts";
import { itemsText } from "./render/item.ts";
import { nextPageText } from "./render/layout.ts";
import { pauseText } from "./render/queue.ts";
import { counted } from "./render/text.ts";

/** The differences between the commands of queues and of receipt targets. */
export interface StandingKind<Summary extends QueueSummary> {
  readonly family: "queue" | "receipts";
  readonly word: "item" | "receipt";
  readonly form: "<queue>" | "<target>";
  readonly find: (engine: Engine, id: string) => Promise<Job>;
  readonly summarise: (engine: Engine, job: Job) => Promise<Summary>;
  readonly toJson: (summary: Summary) => JsonObject;
}

/** Creates a queue or target, or changes its settings; returns which of the two happened. */
export async function applySettings<Summary extends QueueSummary>(
  engine: Engine,
  id: string,
  { kind, apply }: { kind: StandingKind<Summary>; apply: () => Promise<Job> },
) {
  const before = await engine.findJob(id);
  const job = await apply();
  const isChanged = canonicalJson(before?.spec ?? null) !== canonicalJson(job.spec);
  return { isNew: before?.kind !== job.kind, isChanged, found: await kind.summarise(engine, job) };
}

interface PauseWords<Summary> {
  readonly pause: string;
  readonly resume: string;
  readonly why: string;
  readonly example: string;
  /** The text after the name of a paused queue or target. */
  readonly onPause: (found: Summary) => string;
  readonly onResume?: (context: Context, found: Summary) => void;
}

export function pauseCommands<Summary extends QueueSummary>(
  kind: StandingKind<Summary>,
  words: PauseWords<Summary>,
): Commands {
  const { family, form, word, toJson } = kind;
  const name = argument(form, "its name");
  const change = (context: Context, id: string, pause: { author: string; reason: string } | null) =>
    context.withStore(async (engine) => {
      const before = await kind.find(engine, id);
      const wasPaused = before.pause !== undefined;
      const isSame = wasPaused && pause !== null; // an existing pause keeps its reason
      const job = isSame ? before : await engine.changeJob(before.id, { pause });
      return { wasPaused, found: await kind.summarise(engine, job) };
    });
  return {
    pause: command({
      summary: words.pause,
      examples: [`redrive ${family} pause ${words.example} --reason ${words.why}`],
      arguments: { name },
      options: { reason },
      run: async (context, { name: id, reason: why = "" }) => {
        const { wasPaused, found } = await change(context, id, { author: context.author, reason: why });
        return context.answer(toJson(found), () =>
          wasPaused && found.pause
            ? `${id} is already paused: ${pauseText(found.pause)}.\n`
            : `Paused ${id}.${words.onPause(found)}\n`,
        );
      },
    }),
    resume: command({
      summary: words.resume,
      examples: [`redrive ${family} resume ${words.example}`],
      arguments: { name },
      run: async (context, { name: id }) => {
        const { wasPaused, found } = await change(context, id, null);
        const ready = `${counted(found.counts.ready, word)} ready`;
        const code = context.answer(toJson(found), () =>
          wasPaused ? `Resumed ${id}: ${ready}.\n` : `${id} was not paused.\n`,
        );
        words.onResume?.(context, found);
        return code;
      },
    }),
  };
}

export const pageOptions = {
  limit,
  after: count("--cursor <cursor>", "continue after this cursor: the `next` value of the previous page", 0),
};

export async function listItems<Summary extends QueueSummary>(
  context: Context,
  {
    name,
    states,
    limit: wanted,
    after = 0,
  }: Given<typeof pageOptions> & { name: string; states?: readonly ItemState[] },
  { word, find }: StandingKind<Summary>,
): Promise<number> {
  const { items, next, now } = await context.withStore(async (engine) => {
    const { id: queue } = await find(engine, name);
    const page = await engine.listItems({ queue, after, limit: wanted + 1, ...(states && { states }) });
    const shown = page.slice(0, wanted); // the extra item only shows whether there is a next page
    const cursor = page.length > wanted ? String(shown.at(-1)?.ref ?? after) : null;
    return { items: shown, next: cursor, now: await engine.now() };
  });
  const toJson = (item: Item) =>
    word === "receipt" ? { key: item.itemId, target: item.queue, ...itemToJson(item) } : itemToJson(item);
  return context.answer({ [`${word}s`]: items.map(toJson), next }, () => {
    if (items.length === 0) return states ? `No ${word}s match.\n` : `${name} has no ${word}s.\n`;
    const { paint, columns } = context;
    return itemsText(items, { now, word, paint, columns }) + nextPageText(context, next);
  });
}
