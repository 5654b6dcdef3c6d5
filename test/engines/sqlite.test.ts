import { afterAll } from "vitest";
import { engineSuite } from "../conformance/suite.ts";
import { sqliteStores } from "../support/sqlite-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

engineSuite("sqlite", sqliteStores(directory));
