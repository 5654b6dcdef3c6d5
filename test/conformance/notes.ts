/** The contract of notes on items, by people and by workers. */
import { expect } from "vitest";
import { buried, retried, succeeded } from "../support/settlements.ts";
import type { Declare } from "./workbench.ts";

export function noteTests(test: Declare): void {
  test("any item can have notes, oldest first, whatever its state", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const { ref } = await bench.item("a");
    const at = bench.clock.now();
    expect(await bench.engine.listNotes(ref)).toEqual([]);
    expect(await bench.engine.addNote(ref, { author: "ada", text: "wait" })).toBe(true);
    bench.clock.advance(1000);
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.engine.addNote(ref, { author: "bob", text: "it went" })).toBe(true);
    expect(await bench.engine.listNotes(ref)).toEqual([
      { at, author: "ada", text: "wait" },
      { at: at + 1000, author: "bob", text: "it went" },
    ]);
  });

  test("an unknown item has no notes and cannot get any", async ({ engine }) => {
    expect(await engine.addNote(9999, { author: "ada", text: "why" })).toBe(false);
    expect(await engine.listNotes(9999)).toEqual([]);
  });

  test("a worker's notes are kept in order, whatever the outcome", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const { ref } = await bench.item("a");
    const say = (...texts: readonly string[]) => texts.map((text) => ({ author: "robot", text }));
    await bench.settle({ ...retried(await bench.leaseOne(), 0), notes: say("one", "two") });
    await bench.settle({ ...buried(await bench.leaseOne()), notes: say("three") });
    expect((await bench.engine.listNotes(ref)).map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect((await bench.letter("a"))?.notes).toEqual(await bench.engine.listNotes(ref));
  });

  test("a worker that lost its lease writes no notes", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.settle(succeeded(lease));
    const late = { ...succeeded(lease), notes: [{ author: "robot", text: "late" }] };
    await bench.engine.settleAndLease(null, { settle: [late] });
    expect(await bench.engine.listNotes(lease.ref)).toEqual([]);
  });

  test("a purged item loses its notes and gets no new ones; a resolved letter's item keeps them", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    const [a, b] = [(await bench.item("a")).ref, (await bench.item("b")).ref];
    for (const ref of [a, b]) await bench.engine.addNote(ref, { author: "ada", text: "why" });
    await bench.settle(succeeded(await bench.redriveOne("op-1", "b")));
    await bench.operate("purge", undefined, { filter: { states: ["dead", "done"] } });
    expect(await bench.engine.listNotes(a)).toEqual([]);
    expect(await bench.engine.addNote(a, { author: "ada", text: "more" })).toBe(false);
    expect(await bench.engine.listNotes(b)).toHaveLength(1);
  });
}
