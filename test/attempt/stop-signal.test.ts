import { expect, it } from "vitest";
import { AttemptStop, abortSignalOf } from "../../src/attempt/stop-signal.ts";

it("calls each listener once, and those that were removed never", () => {
  const stop = new AttemptStop();
  const called: string[] = [];
  const removed = () => called.push("removed");
  stop.addEventListener("abort", () => called.push("first"));
  stop.addEventListener("abort", removed);
  stop.addEventListener("abort", () => called.push("second"));
  stop.removeEventListener("abort", removed);
  expect(stop.aborted).toBe(false);
  stop.abort();
  stop.abort();
  expect(called).toEqual(["first", "second"]);
  expect(stop.aborted).toBe(true);
});

it.each(["before", "after"])("has a signal that is aborted if it was read %s the stop", (when) => {
  const stop = new AttemptStop();
  const early = when === "before" ? stop.signal : undefined;
  expect(early?.aborted ?? false).toBe(false);
  stop.abort();
  expect(stop.signal.aborted).toBe(true);
  expect(abortSignalOf(stop)).toBe(early ?? stop.signal);
});

it("is an abort signal already if it is one", () => {
  const { signal } = new AbortController();
  expect(abortSignalOf(signal)).toBe(signal);
});
