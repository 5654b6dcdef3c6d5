/** A queue in memory with a clock that the test moves, a way to fill it, and a way to work it to its end. */
import type { Handler } from "../../src/attempt/handler.ts";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { Item } from "../../src/item/item.ts";
import { type AddedItem, addItems, type QueueItem } from "../../src/queue/add-items.ts";
import { createQueue, type QueueSettings } from "../../src/queue/queue-settings.ts";
import { DEFAULT_POLICY } from "../../src/retry/policy.ts";
import { runQueue } from "../../src/runner/runner.ts";
import { systemClock } from "../../src/std/clock.ts";

export const QUEUE = "invoices";

export interface QueueBench {
  readonly engine: Engine;
  add(...items: QueueItem[]): Promise<readonly AddedItem[]>;
  /** The item of that id. */
  item(itemId: string): Promise<Item>;
  /** Works what is ready until nothing is, each once; what the handler throws becomes a letter. */
  work(handler: (data: unknown) => void, operationId?: string): Promise<void>;
}

export async function openQueueBench(settings: QueueSettings = {}): Promise<QueueBench> {
  const engine = await openStore("memory:");
  await createQueue(engine, QUEUE, settings);
  return {
    engine,
    add: (...items) => addItems(engine, QUEUE, items, { author: "ann" }),
    item: (itemId) => itemOf(engine, itemId),
    work: (handler, operationId) => workOnce(engine, handler, operationId),
  };
}

async function itemOf(engine: Engine, itemId: string): Promise<Item> {
  const found = await engine.findItems(itemId, { queue: QUEUE, limit: 1 });
  const item = found.find((one) => one.itemId === itemId);
  if (item === undefined) throw new Error(`there is no item ${itemId}`);
  return item;
}

async function workOnce(engine: Engine, work: (data: unknown) => void, operationId?: string): Promise<void> {
  const handler: Handler = async ({ data }) => {
    work(data);
    return { kind: "succeeded" };
  };
  await runQueue({
    engine,
    queue: QUEUE,
    handler,
    policy: { ...DEFAULT_POLICY, maxAttempts: 1 },
    slots: 1,
    stop: new AbortController().signal,
    clock: systemClock,
    ...(operationId !== undefined && { operationId }),
  });
}
