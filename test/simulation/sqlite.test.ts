import { afterAll, describe, it } from "vitest";
import { sqliteStores } from "../support/sqlite-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { seeds } from "./seeds.ts";
import { simulate } from "./simulate.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe("the SQLite engine in the simulation", () => {
  it.each(seeds())("does what the memory engine does, seed %i", async (seed) => {
    await simulate(sqliteStores(directory), { seed, steps: 400 });
  });
});
