/** What is exported and imported again is equal, in every format that keeps letters whole, through real engines. */
import { afterAll, describe, expect, test } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import type { Letter } from "../../../src/item/letter.ts";
import { fc } from "../../support/properties.ts";
import { ExchangeKit, storable } from "./exchange-kit.ts";

const kit = new ExchangeKit();
afterAll(() => kit.remove());

const NAMES = [
  ...["json", "jsonl", "csv"].flatMap((name) => ["", ".gz", ".zst"].map((end) => `.${name}${end}`)),
  "/",
];

const some = fc.uniqueArray(storable, {
  minLength: 1,
  maxLength: 6,
  selector: ({ jobId, itemId }) => `${jobId}\n${itemId}`,
});

async function fill(engine: Engine, letters: readonly Letter[]): Promise<void> {
  for (const jobId of new Set(letters.map((letter) => letter.jobId))) {
    await engine.createJob({ id: jobId, name: jobId, kind: "map", spec: {} });
    await engine.importLetters(
      jobId,
      letters.filter((letter) => letter.jobId === jobId),
    );
  }
}

const byJob = (documents: readonly { readonly job_id?: unknown }[]) =>
  [...documents].sort((one, other) => (String(one.job_id) < String(other.job_id) ? -1 : 1));

let runs = 0;
const STORES = {
  memory: () => "memory:",
  sqlite: () => `sqlite:${kit.directory.file("store.db")}`,
};

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])("from store to store (%s)", (kind) => {
  test.each(NAMES)("letters are equal after letters%s", async (end) => {
    await fc.assert(
      fc.asyncProperty(some, async (letters) => {
        const [one, two] = [await kit.store(STORES[kind]()), await kit.store(STORES[kind]())];
        await fill(one, letters);
        const name = `${++runs}${end}`;
        const before = await kit.documents(one);
        expect(before).toHaveLength(letters.length);
        expect(await kit.export(one, name)).toMatchObject({ letters: letters.length });
        const report = await kit.import(two, name);
        expect(report).toMatchObject({ imported: letters.length, refusedCount: 0, ignoredFields: [] });
        // A directory has a folder for each job; within a job the order stays.
        const sorted = end === "/" ? byJob : (all: typeof before) => all;
        expect(sorted(await kit.documents(two))).toEqual(sorted(before));
        expect(await two.check()).toEqual([]);
        expect(await kit.import(two, name)).toMatchObject({ imported: 0, existing: letters.length });
      }),
      { numRuns: kind === "memory" ? 15 : 5 },
    );
  });
});
