import { expect, it } from "vitest";
import type { OperationKind } from "../../src/item/operation.ts";
import { finishOperation, pauseOperation, reopen } from "../../src/redrive/change-operation.ts";
import { beginSelected } from "../../src/redrive/operation.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { QUEUE, RedriveKit } from "./redrive-kit.ts";

const REASON = { discard: { reason: "not needed" } } as Partial<Record<OperationKind, { reason: string }>>;

it.each([
  ["discard", { discarded: 2 }],
  ["purge", { dead: 0, purged: 2 }],
] as const)("a %s that was begun and left is worked to its end", async (kind, counts) => {
  const home = new TemporaryDirectory();
  const kit = new RedriveKit();
  await kit.bury({ a: {}, b: {} });
  const selection = { filter: {} };
  const request = { kind, queue: QUEUE, author: "ann", selection, ...REASON[kind] };
  const begun = await beginSelected(kit.engine, request);
  const surroundings = { engine: kit.engine, home: home.path };
  const stopped = await finishOperation(surroundings, await pauseOperation(kit.engine, begun));
  expect(stopped).toMatchObject({ status: "paused", done: 0 });
  const ended = await finishOperation(surroundings, await reopen(kit.engine, stopped));
  expect(ended).toMatchObject({ status: "ended", done: 2 });
  expect(await kit.engine.count(QUEUE)).toMatchObject(counts);
  home.remove();
});

it("an ended operation is neither paused nor opened again", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  const operation = await kit.engine.changeOperation((await kit.begin()).id, { status: "cancelled" });
  await expect(pauseOperation(kit.engine, operation)).rejects.toMatchObject({
    code: "illegal_move",
    message: `${operation.id} was already cancelled.`,
  });
  expect((await reopen(kit.engine, operation)).status).toBe("cancelled");
});
