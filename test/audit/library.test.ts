/** Every method of the library that changes something leaves an entry in the audit with the name of the program. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Target } from "../../src/delivery/target.ts";
import { Groups } from "../../src/library/groups.ts";
import { Jobs } from "../../src/library/jobs.ts";
import { Letters } from "../../src/library/letters.ts";
import { open } from "../../src/library/open.ts";
import { Operations } from "../../src/library/operations.ts";
import { Queue } from "../../src/library/queue.ts";
import { Redrive } from "../../src/library/redrive.ts";
import { Schedules } from "../../src/library/schedules.ts";
import { StandingQueue } from "../../src/queue/queue.ts";
import { begin, entriesSince, READS, running, type Stocked, stocked } from "./kit.ts";

interface Change {
  readonly leaves: string;
  readonly act: (redrive: Redrive, store: Stocked) => Promise<unknown>;
  /** Runs before the method, as the same program. */
  readonly before?: (redrive: Redrive, store: Stocked) => Promise<unknown>;
}

const WORK =
  "work itself: its items and attempts are events, and an entry for each would cost as much as the work";
const OPENS = "opens an object and changes nothing by itself";
const ENDS = "ends what this program does";
const first = ({ groups }: Stocked) => groups[0] ?? "";
const orders = (redrive: Redrive) => redrive.queue("orders");
const letters = (redrive: Redrive) => orders(redrive).letters();
const billing = (redrive: Redrive) =>
  redrive.receipts("billing", { url: "http://127.0.0.1:9/", isDelivering: false });
const discarded = (redrive: Redrive) => letters(redrive).discard({ reason: "test" });

/** Starts the map `night`, whose only item ends when it is stopped. */
const mapping = (redrive: Redrive) =>
  new Promise<void>((resolve) => {
    const work = async (_: number, { signal }: { readonly signal: AbortSignal }) => {
      resolve();
      await new Promise((end) => signal.addEventListener("abort", end));
      throw signal.reason;
    };
    redrive.map("night", [1], work).catch(() => undefined); // the stop rejects it
  });

const CLASSES = {
  Redrive,
  Queue,
  Letters,
  Operations,
  Groups,
  Jobs,
  Schedules,
  Target,
  StandingQueue,
} as const;

const METHODS: Readonly<Record<string, Change | string>> = {
  "Redrive.queue": OPENS,
  "Redrive.map": {
    leaves: "job_started",
    act: (redrive) => redrive.map("m", [1], async () => undefined),
  },
  "Redrive.schedule": {
    leaves: "schedule_set",
    act: (redrive) => redrive.schedule("daily", { queue: "orders", cron: "0 4 * * *" }),
  },
  "Redrive.letters": OPENS,
  "Redrive.events": READS,
  "Redrive.errors": READS,
  "Redrive.metrics": READS,
  "Redrive.metricsText": READS,
  "Redrive.queues": READS,
  "Redrive.receipts": { leaves: "queue_created", act: (redrive) => billing(redrive).opened },
  "Redrive.on": OPENS,
  "Redrive.off": OPENS,
  "Redrive.close": ENDS,
  "Queue.ready": { leaves: "queue_created", act: (redrive) => redrive.queue("mails").ready() },
  "Queue.add": WORK,
  "Queue.addMany": WORK,
  "Queue.work": WORK,
  "Queue.workBatch": WORK,
  "Queue.item": READS,
  "Queue.items": READS,
  "Queue.pause": { leaves: "queue_paused", act: (redrive) => orders(redrive).pause() },
  "Queue.resume": {
    leaves: "queue_resumed",
    before: (redrive) => orders(redrive).pause(),
    act: (redrive) => orders(redrive).resume(),
  },
  "Queue.hold": { leaves: "item_held", act: (redrive) => orders(redrive).hold("ready-1") },
  "Queue.unhold": {
    leaves: "item_released",
    before: (redrive) => orders(redrive).hold("ready-1"),
    act: (redrive) => orders(redrive).unhold("ready-1"),
  },
  "Queue.change": { leaves: "queue_changed", act: (redrive) => orders(redrive).change({ retries: 7 }) },
  "Queue.settings": READS,
  "Queue.import": {
    leaves: "items_imported",
    act: (redrive, { home }) => {
      const path = join(home, "rows.jsonl");
      writeFileSync(path, "1\n2\n");
      return orders(redrive).import(path);
    },
  },
  "Queue.letters": OPENS,
  "Queue.counts": READS,
  "Letters.count": READS,
  "Letters.first": READS,
  "Letters.page": READS,
  "Letters.groups": READS,
  "Letters.analyze": READS,
  "Letters.preview": READS,
  "Letters.retry": {
    leaves: "dlq_items_reprocessed",
    act: (redrive) => letters(redrive).retry({ force: true }),
  },
  "Letters.edit": {
    leaves: "dlq_item_amended",
    act: (redrive) => letters(redrive).edit({ set: { country: '"DE"' } }),
  },
  "Letters.discard": { leaves: "dlq_items_discarded", act: discarded },
  "Letters.restore": {
    leaves: "dlq_items_restored",
    before: discarded,
    act: (redrive) => orders(redrive).letters({ states: "discarded" }).restore(),
  },
  "Letters.purge": { leaves: "dlq_items_purged", act: (redrive) => letters(redrive).purge() },
  "Letters.export": READS,
  "Letters.note": { leaves: "note_added", act: (redrive) => letters(redrive).note("seen") },
  "Operations.get": READS,
  "Operations.list": READS,
  "Operations.refusals": READS,
  "Operations.wait": READS,
  "Operations.pause": {
    leaves: "operation_changed",
    before: (_, { engine }) => begin(engine),
    act: ({ operations }) => operations.pause("op-1"),
  },
  "Operations.resume": {
    leaves: "operation_changed",
    before: async ({ operations }, { engine }) => {
      await begin(engine);
      await operations.pause("op-1");
    },
    act: ({ operations }) => operations.resume("op-1"),
  },
  "Operations.cancel": {
    leaves: "operation_changed",
    before: (_, { engine }) => begin(engine),
    act: ({ operations }) => operations.cancel("op-1"),
  },
  "Operations.undo": {
    leaves: "letters_imported",
    act: async (redrive) => redrive.operations.undo((await letters(redrive).purge()).id),
  },
  "Groups.list": READS,
  "Groups.get": READS,
  "Groups.resolve": { leaves: "group_changed", act: ({ groups }, store) => groups.resolve(first(store)) },
  "Groups.reopen": { leaves: "group_changed", act: ({ groups }, store) => groups.reopen(first(store)) },
  "Groups.ignore": { leaves: "group_changed", act: ({ groups }, store) => groups.ignore(first(store)) },
  "Groups.assign": {
    leaves: "groups_assigned",
    act: ({ groups }, store) => groups.assign(first(store), "ann"),
  },
  "Groups.note": { leaves: "group_changed", act: ({ groups }, store) => groups.note(first(store), "seen") },
  "Groups.merge": {
    leaves: "groups_merged",
    act: ({ groups }, store) => groups.merge([first(store)], store.groups[1] ?? ""),
  },
  "Groups.split": {
    leaves: "group_split",
    act: ({ groups }, store) => groups.split(first(store), { text: "country" }),
  },
  "Groups.explain": READS,
  "Jobs.list": READS,
  "Jobs.get": READS,
  "Jobs.results": READS,
  "Jobs.pause": {
    leaves: "queue_paused",
    before: (_, store) => running(store),
    act: ({ jobs }) => jobs.pause("night"),
  },
  "Jobs.continue": {
    leaves: "queue_resumed",
    before: async ({ jobs }, store) => {
      await running(store);
      await jobs.pause("night");
    },
    act: ({ jobs }) => jobs.continue("night"),
  },
  "Jobs.stop": { leaves: "job_stop_requested", before: mapping, act: ({ jobs }) => jobs.stop("night") },
  "Jobs.cancel": { leaves: "job_dismissed", before: mapping, act: ({ jobs }) => jobs.cancel("night") },
  "Jobs.skip": {
    leaves: "item_skip_requested",
    before: (_, store) => running(store),
    act: ({ jobs }) => jobs.skip("night", "one"),
  },
  "Schedules.put": {
    leaves: "schedule_set",
    act: ({ schedules }) => schedules.put("daily", { queue: "orders", cron: "0 4 * * *" }),
  },
  "Schedules.list": READS,
  "Schedules.get": READS,
  "Schedules.pause": { leaves: "schedule_paused", act: ({ schedules }) => schedules.pause("nightly") },
  "Schedules.resume": {
    leaves: "schedule_resumed",
    before: ({ schedules }) => schedules.pause("nightly"),
    act: ({ schedules }) => schedules.resume("nightly"),
  },
  "Schedules.remove": { leaves: "schedule_removed", act: ({ schedules }) => schedules.remove("nightly") },
  "StandingQueue.pause": { leaves: "queue_paused", act: async (redrive) => (await opened(redrive)).pause() },
  "StandingQueue.resume": {
    leaves: "queue_resumed",
    before: async (redrive) => (await opened(redrive)).pause(),
    act: async (redrive) => (await opened(redrive)).resume(),
  },
  "StandingQueue.counts": READS,
  "Target.send": WORK,
  "Target.settings": READS,
  "Target.change": {
    leaves: "queue_changed",
    act: async (redrive) => (await opened(redrive)).change({ retries: 7 }),
  },
  "Target.probe": READS,
  "Target.drain": ENDS,
  "Target.close": ENDS,
};

const targets = new WeakMap<Redrive, Target>();

async function opened(redrive: Redrive): Promise<Target> {
  const target = targets.get(redrive) ?? (billing(redrive) as unknown as Target);
  targets.set(redrive, target);
  await target.opened;
  return target;
}

test("every method is in the table", () => {
  const all = Object.entries(CLASSES).flatMap(([name, { prototype }]) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([key, { value }]) => key !== "constructor" && typeof value === "function")
      .map(([key]) => `${name}.${key}`),
  );
  expect(all.sort()).toEqual(Object.keys(METHODS).sort());
});

const changing = Object.entries(METHODS).filter(
  (entry): entry is [string, Change] => typeof entry[1] !== "string",
);

test.each(changing)("%s leaves an entry", async (_, { leaves, act, before }) => {
  const store = await stocked();
  await using redrive = await open(store.url, { home: store.home, author: "shop" });
  await before?.(redrive, store);
  const event = await store.engine.newestEvent();
  await act(redrive, store);
  const entries = await entriesSince(store.engine, event);
  expect(entries).toContainEqual(expect.objectContaining({ action: leaves, author: "shop", via: "library" }));
});
