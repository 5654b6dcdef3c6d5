/** The bell of one process: who waits under a name is rung after the step, once for many reasons. */
import { expect, it } from "vitest";
import { Bell } from "../../src/kit/bell.ts";

const aMoment = () => new Promise((resolve) => setImmediate(resolve));

it("rings after the step that is the reason, once for all that happened in it", async () => {
  const bell = new Bell();
  const rung: string[] = [];
  bell.on("a", () => rung.push("a"));
  bell.on("b", () => rung.push("b"));
  bell.ring("a");
  bell.ring("a");
  bell.ring("nobody");
  expect(rung).toEqual([]);
  await aMoment();
  expect(rung).toEqual(["a"]);
});

it("rings each of those who wait, also the same function twice, until they end it", async () => {
  const bell = new Bell();
  let rings = 0;
  const count = () => {
    rings += 1;
  };
  const [first, second] = [bell.on("a", count), bell.on("a", count)];
  bell.ring("a");
  await aMoment();
  expect(rings).toBe(2);
  first();
  first();
  bell.ring("a");
  await aMoment();
  expect(rings).toBe(3);
  bell.ring("a");
  second();
  await aMoment();
  expect(rings).toBe(3);
});

it("rings again when something happens while it rings", async () => {
  const bell = new Bell();
  let rings = 0;
  bell.on("a", () => {
    rings += 1;
    if (rings === 1) bell.ring("a");
  });
  bell.ring("a");
  await aMoment();
  await aMoment();
  expect(rings).toBe(2);
});
