/**
 * A store whose rows violate the rules of its own schema: the command names the problem and a hint, without a stack
 * trace.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, it } from "vitest";
import { ON_POSTGRES, openWorkshop } from "./workshop.ts";

it.skipIf(ON_POSTGRES)("wrong counters end a retry with a message, and the check lists them", async () => {
  const shop = openWorkshop();
  await shop.map(["a"], "exit 1", ["--name", "t", "--retries", "0"]);
  const store = new DatabaseSync(shop.storePath);
  store.exec("UPDATE queues SET ready = 0, dead = 0, letters = 0");
  store.close();
  const { code, stderr } = await shop.run(["dlq", "retry", "t", "--yes"]);
  expect(code).toBe(75);
  expect(stderr).toContain("redrive store check");
  expect(stderr).not.toMatch(/\n +at /);
  expect((await shop.run(["store", "check"])).code).toBe(1);
});

it.skipIf(ON_POSTGRES)("letters whose groups were all deleted are not reported as none", async () => {
  const shop = openWorkshop();
  await shop.map(["a"], "exit 1", ["--name", "t", "--retries", "0"]);
  const store = new DatabaseSync(shop.storePath);
  store.exec("PRAGMA foreign_keys = 0; DELETE FROM groups");
  store.close();
  const { code, stdout, stderr } = await shop.run(["dlq", "list"]);
  expect([code, stdout]).toEqual([75, ""]);
  expect(stderr).toContain("redrive store check");
});
