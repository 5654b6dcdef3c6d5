/** The short form of the torture run of schedules; `node bench/torture/schedules.mjs` is the long one. */
import { afterAll, expect, it } from "vitest";
import { tortureSchedules } from "../../bench/torture/schedules.mjs";
import { randomName } from "../../src/std/random.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
const schema = `test_${randomName(10)}`;
afterAll(async () => {
  directory.remove();
  await dropSchema(schema);
});

it.each([
  ["sqlite", 7, () => `sqlite:${directory.file("store.db")}`],
  ["postgres", 11, () => postgresUrl(schema)],
] as const)(
  "three workers on %s that are killed add every due run once, or as the rule for missed runs says",
  async (_, seed, url) => {
    const { violations, figures } = await tortureSchedules({ url: url(), seed, days: 2 });
    expect(violations).toEqual([]);
    expect(figures.kills).toBeGreaterThan(0);
    expect(figures.runs).toBeGreaterThan(100);
  },
);
