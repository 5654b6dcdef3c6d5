/** The notifier of one process: who waits under a name is notified after the step, once for many reasons. */
import { expect, it } from "vitest";
import { Notifier } from "../../src/std/notifier.ts";

const aMoment = () => new Promise((resolve) => setImmediate(resolve));

it("notifies after the step that causes it, once for everything that happened in it", async () => {
  const notifier = new Notifier();
  const notified: string[] = [];
  notifier.on("a", () => notified.push("a"));
  notifier.on("b", () => notified.push("b"));
  notifier.notify("a");
  notifier.notify("a");
  notifier.notify("nobody");
  expect(notified).toEqual([]);
  await aMoment();
  expect(notified).toEqual(["a"]);
});

it("notifies every watcher, even the same function twice, until it unsubscribes", async () => {
  const notifier = new Notifier();
  let notifications = 0;
  const count = () => {
    notifications += 1;
  };
  const [first, second] = [notifier.on("a", count), notifier.on("a", count)];
  notifier.notify("a");
  await aMoment();
  expect(notifications).toBe(2);
  first();
  first();
  notifier.notify("a");
  await aMoment();
  expect(notifications).toBe(3);
  notifier.notify("a");
  second();
  await aMoment();
  expect(notifications).toBe(3);
});

it("notifies again if something happens while it notifies", async () => {
  const notifier = new Notifier();
  let notifications = 0;
  notifier.on("a", () => {
    notifications += 1;
    if (notifications === 1) notifier.notify("a");
  });
  notifier.notify("a");
  await aMoment();
  await aMoment();
  expect(notifications).toBe(2);
});
