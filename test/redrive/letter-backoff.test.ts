import { expect, it } from "vitest";
import { SINCE_BURIAL_MS } from "../../src/redrive/send.ts";
import { RedriveKit } from "./redrive-kit.ts";

it("the first redrive does not wait, each later one waits twice as long, at most five minutes", () => {
  expect(SINCE_BURIAL_MS.map((ms) => ms / 1000)).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
});

it("a letter that failed again waits before its next attempt; a forced one does not", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  const failAgain = async (force = false) => {
    for await (const _ of kit.send(await kit.begin({}, { force })));
    return kit.work(() => true);
  };
  expect(await failAgain()).toEqual(["a"]);
  expect(await failAgain()).toEqual([]);
  kit.clock.advance(999);
  expect(await kit.work()).toEqual([]);
  kit.clock.advance(1);
  expect(await kit.work(() => true)).toEqual(["a"]);
  expect(await failAgain()).toEqual([]);
  kit.clock.advance(2000);
  expect(await kit.work(() => true)).toEqual(["a"]);
  expect(await failAgain(true)).toEqual(["a"]);
});

it("the wait counts from the burial, not from the redrive", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  for await (const _ of kit.send(await kit.begin()));
  await kit.work(() => true);
  kit.clock.advance(60_000);
  for await (const _ of kit.send(await kit.begin()));
  expect(await kit.work()).toEqual(["a"]);
});
