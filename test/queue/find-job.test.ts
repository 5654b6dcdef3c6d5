/** A job is found by its id, by its name, and as the latest of those that were made from a name. */
import { expect, test } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { requireJob } from "../../src/queue/find-job.ts";

async function storeWith(...ids: string[]) {
  const engine = await openStore("memory:");
  for (const id of ids) await engine.createJob({ id, name: `named-${id}`, kind: "workflow", spec: {} });
  return engine;
}

test("by its id or its name", async () => {
  const engine = await storeWith("fix-lint-aaaaaaaa", "fix-lint-bbbbbbbb");
  expect((await requireJob(engine, "fix-lint-aaaaaaaa")).id).toBe("fix-lint-aaaaaaaa");
  expect((await requireJob(engine, "named-fix-lint-aaaaaaaa")).id).toBe("fix-lint-aaaaaaaa");
});

test("by the name of its workflow, the latest one", async () => {
  const engine = await storeWith("fix-lint-aaaaaaaa", "fix-lint-bbbbbbbb", "fix-lint-more-cccccccc");
  expect((await requireJob(engine, "fix-lint")).id).toBe("fix-lint-bbbbbbbb");
  expect((await requireJob(engine, "Fix lint")).id).toBe("fix-lint-bbbbbbbb");
});

test("not by a part of the name", async () => {
  const engine = await storeWith("fix-lint-aaaaaaaa");
  await expect(requireJob(engine, "fix")).rejects.toThrow("There is no job fix.");
});
