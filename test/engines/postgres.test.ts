import { afterAll } from "vitest";
import { engineSuite } from "../conformance/suite.ts";
import { postgresStores } from "../support/postgres-stores.ts";

const stores = postgresStores();
afterAll(() => stores.remove());

engineSuite("postgres", stores);
