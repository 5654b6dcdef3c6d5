/** Integers beyond 2^53 keep their digits and their type on the whole way of an item, on every store. */
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  DlqManager,
  detachLetters,
  type Engine,
  editLetters,
  importLetters,
  parseJson,
  requireJob,
  stringifyJson,
} from "../../src/exports/engine.ts";
import { open, type Redrive } from "../../src/index.ts";
import type { Json } from "../../src/std/json.ts";
import { randomName } from "../../src/std/random.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { fc } from "../support/properties.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
const schema = `test_${randomName(10)}`;
afterAll(async () => {
  directory.remove();
  await dropSchema(schema);
});

const URLS = {
  memory: () => "memory:",
  sqlite: () => `sqlite:${directory.file("store.db")}`,
  postgres: () => postgresUrl(schema),
};

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const large = fc
  .tuple(fc.bigInt({ min: SAFE, max: 10n ** 60n }), fc.boolean())
  .map(([value, isNegative]) => (isNegative ? -value : value));
/** Large integers in several places, beside ordinary data. */
const data = fc.record({
  id: large,
  list: fc.array(fc.oneof(large, fc.integer(), fc.string()), { maxLength: 4 }),
  inner: fc.record({ also: large, text: large.map(String) }),
  rest: fc.jsonValue().map((value) => parseJson(JSON.stringify(value))),
});

describe.each(["memory", "sqlite", "postgres"] as const)("large integers in a %s store", (engine) => {
  let redrive: Redrive;
  let store: Engine;
  beforeEach(async () => {
    redrive = await open(URLS[engine](), { home: directory.path });
    store = redrive.engine;
  });
  afterEach(() => redrive.close());

  it("survive add, lease, failure, letter, edit, export, import and retry", async () => {
    await fc.assert(
      fc.asyncProperty(data, data, async (given, edited) => {
        const [name, copy] = [`queue-${randomName(8)}`, `copy-${randomName(8)}`];
        const seen: string[] = [];
        const queue = redrive.queue(name, { retries: 0 });
        await queue.add(given as Json, { key: "k" });
        await queue.work(
          (task) => {
            seen.push(stringifyJson(task.data));
            throw new Error("no");
          },
          { untilEmpty: true },
        ).ended;
        expect(seen).toEqual([stringifyJson(given)]);
        expect(await textsOf(name)).toEqual([stringifyJson(given)]);

        const selection = { filter: { queue: name, itemIds: ["k"] } };
        const recipe = { replace: { data: edited as Json, revision: 1 } };
        await editLetters(store, { queue: name, selection, recipe, author: "test" });
        expect(await textsOf(name)).toEqual([stringifyJson(edited)]);

        const file = directory.file(`${randomName(8)}.json`);
        const manager = await DlqManager.open(store, { job: name });
        await manager.exportItems(file);
        expect(readFileSync(file, "utf8")).toContain(`"item_data":${stringifyJson(edited)}`);
        expect(await importLetters(store, file, { job: copy })).toMatchObject({ imported: 1 });
        expect(await textsOf(copy)).toEqual([stringifyJson(edited)]);

        await detachLetters(store, { job: await requireJob(store, name), selection, author: "test" });
        await queue.work((task) => void seen.push(stringifyJson(task.data)), { untilEmpty: true }).ended;
        expect(seen).toEqual([stringifyJson(given), stringifyJson(edited)]);
      }),
      { numRuns: engine === "postgres" ? 10 : 25 },
    );
  });

  async function textsOf(queue: string): Promise<string[]> {
    const { letters } = await store.listLetters({ queue, limit: 10 });
    return letters.map(({ itemData }) => stringifyJson(itemData));
  }
});
