/** Connections of Node's own SQLite, a second copy of the library in the process. Node 20 lacks it; `npm run test:nodes` has it. */
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { open } from "../../src/index.ts";
import type { SqliteConnection } from "../../src/item/transaction.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

interface NodeDatabase extends SqliteConnection {
  close(): void;
}

const builtin = process.getBuiltinModule?.("node:sqlite") as
  | { readonly DatabaseSync: new (path: string) => NodeDatabase }
  | undefined;
const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.runIf(builtin !== undefined)("a transaction of node:sqlite", () => {
  // The store's file must not be opened here: the two copies would not see each other's locks.
  it("is refused, because committed items could be lost, and nothing is written", async () => {
    await using redrive = await open(`sqlite:${directory.file("store.db")}`, { home: directory.path });
    const queue = redrive.queue<number>("q");
    await queue.ready();
    if (builtin === undefined) return;
    const client = new builtin.DatabaseSync(directory.file("other.db"));
    client.exec("BEGIN");
    await expect(queue.add(1, { transaction: client })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("another copy of SQLite"),
      hint: expect.stringContaining("@photostructure/sqlite"),
    });
    client.close();
    expect(await queue.counts()).toMatchObject({ total: 0 });
  });
});

it("a connection of the store's SQLite works, however the package is loaded", async () => {
  const { createRequire } = await import("node:module");
  const required = createRequire(import.meta.url)("@photostructure/sqlite") as {
    readonly DatabaseSync: typeof DatabaseSync;
  };
  const path = directory.file("both.db");
  await using redrive = await open(`sqlite:${path}`, { home: directory.path });
  const queue = redrive.queue<number>("q");
  await queue.ready();
  for (const library of [DatabaseSync, required.DatabaseSync]) {
    const client = new library(path);
    client.exec("BEGIN IMMEDIATE");
    await queue.add(1, { transaction: client });
    client.exec("COMMIT");
    client.close();
  }
  expect(await queue.counts()).toMatchObject({ total: 2 });
});
