import { afterAll, describe, it } from "vitest";
import { seeds } from "../support/seeds.ts";
import { sqliteStores } from "../support/sqlite-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { simulate } from "./simulate.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe("the SQLite engine in the simulation", () => {
  it.each(seeds(1, 2, 3, 4))("behaves like the model, seed %i", async (seed) => {
    await simulate(sqliteStores(directory), { seed, steps: 400 });
  });
});
