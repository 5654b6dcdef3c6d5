import { expect, it } from "vitest";
import { OpenAttempt, perform } from "../../src/attempt/handler.ts";
import type { LeasedItem } from "../../src/item/item.ts";

it("an attempt during which the clock was set back has no negative duration", async () => {
  const item = {
    ref: 1,
    queue: "q",
    itemId: "a",
    data: 1,
    attempt: 1,
    startedAt: 5000,
  } as unknown as LeasedItem;
  const times = [5000, 1000];
  const now = () => times.shift() ?? 1000;
  const handler = async () => {
    throw new Error("no luck");
  };
  const { signal } = new AbortController();
  const attempt = new OpenAttempt({
    attempt: 1,
    slot: 1,
    agentId: "a/1",
    stop: signal,
    mayStart: () => true,
    author: "a",
  });
  expect(await perform(item, handler, attempt, { now, evidenceFolder: undefined })).toMatchObject({
    kind: "failed",
    failure: { durationMs: 0 },
  });
});
