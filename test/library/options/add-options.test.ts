/** The options of `queue.add`, of the items of `addMany` and of the wait for a result; imports and single reads of a queue. */

import { writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect } from "vitest";
import { type AddOptions, open, type Queue } from "../../../src/index.ts";
import type { ResultOptions } from "../../../src/library/add.ts";
import type { ItemFilter } from "../../../src/library/item.ts";
import type { ImportItemsOptions } from "../../../src/queue/import-items.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { describeOptions, idsOf, NOT, type OptionCase, type OptionCases } from "./option-cases.ts";
import { failing, timed } from "./policy-cases.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const options: OptionCases<AddOptions> = {
  key: {
    refuses: NOT.text,
    effect: async ({ redrive }) => {
      expect((await redrive.queue<number>("q").add(1, { key: "k" })).id).toBe("k");
    },
  },
  name: {
    refuses: [7, {}, null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      await queue.add(1, { name: "invoice 7" });
      const names: unknown[] = [];
      queue.work(({ name }) => void names.push(name));
      await test.drain();
      expect(names).toEqual(["invoice 7"]);
    },
  },
  priority: {
    refuses: ["urgent", 1, null],
    effect: async (test) => {
      const queue = test.redrive.queue<string>("q");
      for (const priority of ["low", "normal", "high"] as const) await queue.add(priority, { priority });
      const order: string[] = [];
      queue.work(({ data }) => void order.push(data), { concurrency: 1 });
      await test.drain();
      expect(order).toEqual(["high", "normal", "low"]);
    },
  },
  delay: {
    refuses: [...NOT.duration, new Date()],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      const { minutes, handler } = timed(test, () => undefined);
      await queue.add(1, { delay: "90m" });
      queue.work(handler);
      await test.drain({ advance: true });
      expect(minutes).toEqual([90]);
    },
  },
  at: {
    refuses: ["tomorrow", "10m", new Date(Number.NaN), true, null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      const { minutes, handler } = timed(test, () => undefined);
      const at = test.clock.now() + 60_000;
      await queue.add(1, { at: new Date(at) });
      await queue.add(1, { at: at + 60_000 });
      await queue.add(1, { at: new Date(at + 120_000).toISOString() });
      queue.work(handler);
      await test.drain({ advance: true });
      expect(minutes).toEqual([1, 2, 3]);
    },
  },
  expiresAfter: {
    refuses: [...NOT.duration, 0],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      await queue.add(1, { expiresAfter: "1h", delay: "1h" });
      test.clock.advance("121m");
      queue.work(() => 1);
      await test.drain();
      expect(await queue.counts()).toMatchObject({ dead: 1, done: 0 });
    },
  },
  expiresAt: {
    refuses: ["tomorrow", new Date(Number.NaN), null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      await queue.add(1, { expiresAt: "2026-03-01T01:00:00Z" });
      test.clock.advance("61m");
      queue.work(() => 1);
      await test.drain();
      expect(await queue.counts()).toMatchObject({ dead: 1, done: 0 });
    },
  },
  orderingKey: {
    refuses: NOT.text,
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q");
      for (const data of [1, 2, 3]) await queue.add(data, { orderingKey: "one" });
      let [now, most] = [0, 0];
      queue.work(async () => {
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now -= 1;
      });
      await test.drain();
      expect(most).toBe(1);
    },
  },
  retries: {
    refuses: [-1, "3", 1.5, null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q", { retries: 5, backoff: "none" });
      await queue.add(1, { retries: 1 });
      queue.work(failing);
      await test.drain({ advance: true });
      expect(await queue.letters().first()).toMatchObject({ failureCount: 2 });
    },
  },
  backoff: {
    refuses: ["sometimes", 5, { kind: "fixed" }, null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q", { retries: 2, backoff: "none" });
      const { minutes, handler } = timed(test, failing);
      await queue.add(1, { backoff: "fixed:7m" });
      queue.work(handler);
      await test.drain({ advance: true });
      expect(minutes).toEqual([0, 7, 14]);
    },
  },
  transaction: rolledBack("add", (queue, transaction) => queue.add(1, { transaction })),
};

describeOptions<AddOptions>("queue.add", {
  call: (redrive, given) => redrive.queue<number>("q").add(1, given),
  prepare: (redrive) => redrive.queue("q").ready(),
  options,
});

const { transaction: _, ...ofOneItem } = options;

describeOptions<Pick<AddOptions, "transaction">>("queue.addMany", {
  call: (redrive, given) => redrive.queue<number>("q").addMany([{ data: 1 }], given),
  prepare: (redrive) => redrive.queue("q").ready(),
  options: {
    transaction: rolledBack("addMany", (queue, transaction) => queue.addMany([{ data: 1 }], { transaction })),
  },
});

/** Items that are added in a transaction are gone after its rollback. */
function rolledBack(
  name: string,
  add: (queue: Queue<number>, transaction: InstanceType<typeof DatabaseSync>) => Promise<unknown>,
): OptionCase {
  return {
    refuses: [7, {}, "BEGIN", null],
    effect: async () => {
      const path = directory.file(`${name}.db`);
      await using redrive = await open(`sqlite:${path}`, { home: directory.path });
      const queue = redrive.queue<number>("q");
      await queue.ready();
      const client = new DatabaseSync(path);
      client.exec("BEGIN");
      await add(queue, client);
      client.exec("ROLLBACK");
      client.close();
      expect(await queue.counts()).toMatchObject({ total: 0 });
    },
  };
}

describeOptions<Omit<AddOptions, "transaction">>("an item of queue.addMany", {
  call: async (redrive, given: AddOptions) => {
    const [outcome] = await redrive.queue<number>("q").addMany([{ data: 1, ...given }]);
    if (outcome?.outcome === "refused") throw outcome.error;
  },
  prepare: (redrive) => redrive.queue("q").ready(),
  options: ofOneItem,
});

describeOptions<ResultOptions>("added.result", {
  call: async (redrive, given) => {
    const queue = redrive.queue<number>("q", { unique: "return" });
    await (await queue.add(1, { key: "k" })).result(given);
  },
  prepare: (redrive) => redrive.queue<number>("q", { unique: "return" }).add(1, { key: "k" }),
  options: {
    timeout: {
      refuses: NOT.duration,
      effect: async (test) => {
        const added = await test.redrive.queue<number>("q").add(1);
        const rejected = expect(added.result({ timeout: "1h" })).rejects.toMatchObject({
          code: "wait_timeout",
        });
        test.clock.advance("1h");
        await rejected;
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async ({ redrive }) => {
        const added = await redrive.queue<number>("q").add(1);
        const result = added.result({ signal: AbortSignal.abort() });
        await expect(result).rejects.toMatchObject({ code: "interrupted" });
      },
    },
  },
});

describeOptions<ItemFilter>("queue.items", {
  call: (redrive, given) => redrive.queue<number>("q").items(given),
  options: {
    states: {
      refuses: ["waiting", ["ready", "x"], 7, null],
      effect: async ({ redrive }) => {
        const queue = redrive.queue<number>("q");
        for (const key of ["a", "b"]) await queue.add(1, { key });
        await queue.hold("a");
        expect(await idsOf(queue.items({ states: "held" }))).toEqual(["a"]);
        expect(await idsOf(queue.items({ states: ["held", "ready"] }))).toEqual(["a", "b"]);
      },
    },
    ids: {
      refuses: [7, [7], {}, null],
      effect: async ({ redrive }) => {
        const queue = redrive.queue<number>("q");
        for (const key of ["a", "b", "c"]) await queue.add(1, { key });
        expect(await idsOf(queue.items({ ids: "a" }))).toEqual(["a"]);
        expect(await idsOf(queue.items({ ids: ["a", "c"] }))).toEqual(["a", "c"]);
      },
    },
  },
});

for (const verb of ["pause", "hold", "unhold"] as const)
  describeOptions<{ reason?: string }>(`queue.${verb}`, {
    call: (redrive, given) =>
      verb === "pause" ? redrive.queue("q").pause(given) : redrive.queue("q")[verb]("k", given),
    prepare: (redrive) => redrive.queue<number>("q").addMany([{ data: 1, key: "k" }]),
    options: {
      reason: {
        refuses: [7, {}, null],
        effect: async ({ redrive }) => {
          const queue = redrive.queue<number>("q");
          await queue.add(1, { key: "k" });
          if (verb === "unhold") await queue.hold("k");
          if (verb === "pause") await queue.pause({ reason: "maintenance" });
          else await queue[verb]("k", { reason: "maintenance" });
          const { engine } = redrive;
          const events = await engine.listEvents({ after: 0, limit: 100 });
          expect(events.at(-1)?.data).toMatchObject({ reason: "maintenance" });
        },
      },
    },
  });

const ROWS = "id,n\na,1\nb,2\n";

function rowsFile(): string {
  const path = directory.file("rows.csv");
  writeFileSync(path, ROWS);
  return path;
}

describeOptions<ImportItemsOptions>("queue.import", {
  call: (redrive, given) => redrive.queue("q").import(rowsFile(), given),
  prepare: (redrive) => redrive.queue("q").ready(),
  options: {
    author: {
      refuses: [7, null],
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q", { unique: "replace" });
        await queue.import(rowsFile(), { fields: { key: "id" } });
        const changed = directory.file("changed.csv");
        writeFileSync(changed, ROWS.replace("1", "3"));
        await queue.import(changed, { fields: { key: "id" }, author: "ann" });
        const events = await redrive.engine.listEvents({ after: 0, limit: 100 });
        const replaced = events.filter(({ type }) => type === "item_replaced");
        expect(replaced.map(({ data }) => data)).toMatchObject([{ author: "ann" }]);
      },
    },
    format: {
      refuses: ["xls", 7, null],
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q");
        expect(await queue.import(rowsFile(), { format: "jsonl" }).catch((error) => error)).toMatchObject({
          refused: 3,
        });
      },
    },
    fields: {
      refuses: [7, { id: "key" }, { key: 7 }, null],
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q");
        await queue.import(rowsFile(), { fields: { key: "id" } });
        expect(await idsOf(queue.items())).toEqual(["a", "b"]);
      },
    },
    isEnvelope: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        const path = directory.file("rows.jsonl");
        writeFileSync(path, '{"key":"k","data":7}\n');
        const queue = redrive.queue("q");
        await queue.import(path, { isEnvelope: true });
        expect(await queue.item("k")).toMatchObject({ data: 7 });
      },
    },
    isTyped: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q");
        await queue.import(rowsFile(), { isTyped: true, fields: { key: "id" } });
        expect(await queue.item("a")).toMatchObject({ data: { n: 1 } });
      },
    },
    isDry: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q");
        expect(await queue.import(rowsFile(), { isDry: true })).toMatchObject({ read: 2 });
        expect(await queue.counts()).toMatchObject({ total: 0 });
      },
    },
    onRefused: {
      refuses: NOT.function,
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q", { schema: { type: "object", required: ["x"] } });
        const lines: number[] = [];
        await queue.import(rowsFile(), { onRefused: ({ line }) => void lines.push(line) });
        expect(lines).toHaveLength(2);
      },
    },
    onProgress: {
      refuses: NOT.function,
      effect: async ({ redrive }) => {
        const reads: number[] = [];
        await redrive.queue("q").import(rowsFile(), { onProgress: ({ read }) => void reads.push(read) });
        expect(reads.at(-1)).toBe(2);
      },
    },
    stdin: {
      refuses: [7, "x", null],
      effect: async ({ redrive }) => {
        const stdin = Readable.from(['{"n":1}\n']);
        expect(await redrive.queue("q").import("-", { stdin })).toMatchObject({ added: 1 });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async ({ redrive }) => {
        const queue = redrive.queue("q");
        const ended = await queue.import(rowsFile(), { signal: AbortSignal.abort() });
        expect(ended).toMatchObject({ read: 0, brokenOff: expect.any(String) });
        expect(await queue.counts()).toMatchObject({ total: 0 });
      },
    },
  },
});
