import { afterAll, describe, it } from "vitest";
import { postgresStores } from "../support/postgres-stores.ts";
import { seeds } from "../support/seeds.ts";
import { simulate } from "./simulate.ts";

const stores = postgresStores();
afterAll(() => stores.remove());

/** Every step is several transactions on a server. */
const TIMEOUT_MS = 180_000;

describe("the PostgreSQL engine in the simulation", () => {
  it.each(seeds(1, 2, 3, 4))(
    "behaves like the model, seed %i",
    async (seed) => {
      await simulate(stores, { seed, steps: 200 });
    },
    TIMEOUT_MS,
  );
});
