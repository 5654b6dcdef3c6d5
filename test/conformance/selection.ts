/** The contract of selections: which letters an operation processes, and what is recorded of each. */
import { expect } from "vitest";
import { REFUSAL } from "../../src/item/operation.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function selectionTests(test: Declare): void {
  kinds(test);
  enlisting(test);
  undoing(test);
  looking(test);
}

/** The item ids that the operation selected, in the order of its selection. */
async function selectedIds(bench: Workbench, operation: string): Promise<readonly string[]> {
  return (await bench.engine.listSelected(operation, { limit: 1000 })).map(({ itemId }) => itemId);
}

/** One letter in each possible state. */
async function oneOfEach(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  await bench.bury(["resolved", "discarded", "leased", "dead"]);
  await bench.settle(succeeded(await bench.redriveOne("op-a", "resolved")));
  await bench.operate("discard", ["discarded"]);
  await bench.redriveOne("op-b", "leased");
}

function kinds(test: Declare): void {
  test("each kind selects the letters in its first state unless the filter names others", async (bench) => {
    await oneOfEach(bench);
    for (const kind of ["redrive", "edit", "discard", "purge", "evict"] as const) {
      await bench.begin(kind, { kind });
      expect([kind, await selectedIds(bench, kind)]).toEqual([kind, ["dead"]]);
    }
    await bench.begin("restore", { kind: "restore" });
    expect(await selectedIds(bench, "restore")).toEqual(["discarded"]);
    await bench.begin("clear", { kind: "clear" });
    expect(await selectedIds(bench, "clear")).toEqual(["resolved"]);
    await bench.begin("both", { kind: "clear", filter: { states: ["done", "discarded"] } });
    expect(await selectedIds(bench, "both")).toEqual(["resolved", "discarded"]);
  });

  test("a state that the kind does not accept is refused, whatever the filter", async (bench) => {
    await oneOfEach(bench);
    const filter = { states: ["dead", "leased", "discarded", "done"] } as const;
    for (const kind of ["restore", "redrive"] as const) await bench.begin(kind, { kind, filter });
    for (const [kind, itemId] of [
      ["restore", "discarded"],
      ["redrive", "dead"],
    ] as const) {
      const books = await bench.engine.advance(kind, { max: 10 });
      expect(books).toMatchObject({ selected: 4, done: 1, refused: 3 });
      const done = await bench.engine.listSelected(kind, { status: "done", limit: 10 });
      expect(done).toMatchObject([{ itemId }]);
    }
    expect(await bench.item("leased")).toMatchObject({ state: "leased" });
  });

  test("an operation stores its request", async (bench) => {
    const plan = { patch: { a: [1, null, "ü"] } };
    const filter = { signatures: ["s1"], text: "it's", attemptsMin: 2 } as const;
    const asked = { kind: "discard", filter, force: true, author: "bob", reason: "not ours", plan } as const;
    await bench.begin("op-1", asked);
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ ...asked, queue: QUEUE, bound: 0 });
  });
}

function enlisting(test: Declare): void {
  const selecting = (bench: Workbench) => bench.begin("op-1", { selection: "enlisted" });

  test("an operation whose letters are enlisted starts empty in the status selecting", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    expect(await selecting(bench)).toMatchObject({ status: "selecting", selected: 0, selection: "enlisted" });
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 0, refused: 0 });
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "selecting" });
    expect(await bench.item("a")).toMatchObject({ state: "dead" });
  });

  test("letters are enlisted page by page, each once, and the last page opens the operation", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await selecting(bench);
    const [a, b, c] = [
      await bench.letterSequence("a"),
      await bench.letterSequence("b"),
      await bench.letterSequence("c"),
    ];
    const first = await bench.engine.enlist("op-1", { letterSequences: [c, a, c], cursor: "place-1" });
    expect(first).toMatchObject({ status: "selecting", selected: 2, cursor: "place-1" });
    const last = await bench.engine.enlist("op-1", { letterSequences: [a, b], cursor: null });
    expect(last).toMatchObject({ status: "open", selected: 3 });
    expect(last).not.toHaveProperty("cursor");
    expect(await selectedIds(bench, "op-1")).toEqual(["a", "b", "c"]);
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 3 });
  });

  test("letters that are deleted, in another queue or buried later are not enlisted", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["gone", "again", "stays"]);
    await bench.engine.add("job-2", [{ itemId: "other", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2")));
    const other =
      (await bench.engine.listLetters({ queue: "job-2", limit: 1 })).letters[0]?.letterSequence ?? 0;
    await selecting(bench);
    const letterSequences = [
      await bench.letterSequence("gone"),
      await bench.letterSequence("again"),
      await bench.letterSequence("stays"),
    ];
    await bench.operate("purge", ["gone"]);
    await bench.settle(buried(await bench.redriveOne("op-2", "again")));
    await bench.bury(["late"]);
    const late = [await bench.letterSequence("late"), await bench.letterSequence("again")];
    const found = { letterSequences: [...letterSequences, other, ...late, 9999], cursor: null };
    expect(await bench.engine.enlist("op-1", found)).toMatchObject({ selected: 1, status: "open" });
    expect(await selectedIds(bench, "op-1")).toEqual(["stays"]);
  });

  test("nothing is enlisted once the selection is complete", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await selecting(bench);
    await bench.engine.enlist("op-1", { letterSequences: [await bench.letterSequence("a")], cursor: null });
    const more = { letterSequences: [await bench.letterSequence("b")], cursor: "on" };
    expect(await bench.engine.enlist("op-1", more)).toMatchObject({ status: "open", selected: 1 });
  });

  test("an operation that was paused while it was selecting continues selecting", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await selecting(bench);
    const letterSequences = [await bench.letterSequence("a")];
    await bench.engine.enlist("op-1", { letterSequences: [], cursor: "place-1" });
    await bench.engine.changeOperation("op-1", { status: "paused" });
    expect(await bench.engine.enlist("op-1", { letterSequences, cursor: null })).toMatchObject({
      status: "paused",
      selected: 0,
    });
    const opened = await bench.engine.changeOperation("op-1", { status: "open" });
    expect(opened).toMatchObject({ status: "selecting", cursor: "place-1" });
    expect(await bench.engine.enlist("op-1", { letterSequences, cursor: null })).toMatchObject({
      status: "open",
      selected: 1,
    });
  });

  test("an unknown operation cannot have letters", async (bench) => {
    const code = "item_not_found";
    await expect(bench.engine.enlist("op-9", { letterSequences: [], cursor: null })).rejects.toMatchObject({
      code,
    });
    await expect(bench.engine.listSelected("op-9", { limit: 1 })).rejects.toMatchObject({ code });
    await expect(bench.engine.listRefusals("op-9")).rejects.toMatchObject({ code });
    await expect(bench.begin("op-1", { undoes: "op-9" })).rejects.toMatchObject({ code });
    await expect(bench.engine.changeOperation("op-9", {})).rejects.toMatchObject({ code });
  });
}

function undoing(test: Declare): void {
  test("an undo selects exactly the letters that the other operation changed, whatever the filter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d"]);
    await bench.begin("op-1", { kind: "discard", filter: { itemIds: ["a", "b", "c"] } });
    const refused = { letterSequence: await bench.letterSequence("b"), refuse: "no" };
    await bench.engine.advance("op-1", {
      letters: [{ letterSequence: await bench.letterSequence("a") }, refused],
    });
    await bench.engine.changeOperation("op-1", { refuseRest: "enough" });
    await bench.operate("discard", ["d"]);
    const begun = await bench.begin("op-2", { kind: "restore", undoes: "op-1", filter: { itemIds: ["d"] } });
    expect(begun).toMatchObject({ selected: 1, undoes: "op-1", status: "open" });
    expect(await bench.engine.advance("op-2", { max: 10 })).toMatchObject({ done: 1, refused: 0 });
    expect(await bench.letterIds()).toEqual(["c", "b", "a"]);
    expect(await bench.letterIds({ states: ["discarded"] })).toEqual(["d"]);
  });

  test("an undo selects and refuses letters that have changed since", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    const { id: undoes } = await bench.operate("discard");
    await bench.operate("purge", ["a"], { filter: { states: ["discarded"] } });
    await bench.operate("restore", ["b"]);
    expect(await bench.begin("op-2", { kind: "restore", undoes })).toMatchObject({ selected: 3 });
    expect(await bench.engine.advance("op-2", { max: 10 })).toMatchObject({ done: 1, refused: 2 });
    expect(await bench.letterIds()).toEqual(["c", "b"]);
  });
}

function looking(test: Declare): void {
  test("a selection is read in parts, oldest burial first, by the outcome of each letter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["b", "a"], { signature: "s1" });
    await bench.bury(["c"], { reprocessEligible: false, signature: "s2" });
    await bench.bury(["d"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 3 });
    const [b, a, c, d] = await bench.engine.listSelected("op-1", { limit: 10 });
    const ref = async (itemId: string) => (await bench.item(itemId)).ref;
    expect(b).toEqual({
      letterSequence: await bench.letterSequence("b"),
      ref: await ref("b"),
      itemId: "b",
      signature: "s1",
      status: "done",
    });
    expect(a).toMatchObject({ itemId: "a", status: "done" });
    expect(c).toMatchObject({ itemId: "c", signature: "s2", status: "refused", reason: REFUSAL.ineligible });
    expect(d).toMatchObject({ itemId: "d", status: "pending" });
    expect(await bench.engine.listSelected("op-1", { status: "done", limit: 1 })).toEqual([b]);
    expect(
      await bench.engine.listSelected("op-1", { status: "done", after: b?.letterSequence ?? 0, limit: 9 }),
    ).toEqual([a]);
    expect(await bench.engine.listSelected("op-1", { status: "refused", limit: 9 })).toEqual([c]);
    expect(await bench.engine.listSelected("op-1", { after: a?.letterSequence ?? 0, limit: 9 })).toEqual([
      c,
      d,
    ]);
  });

  test("a selected letter keeps the signature that it was selected with", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { signature: "s1" });
    await bench.begin("op-1");
    await bench.settle(buried(await bench.redriveOne("op-2", "a"), { signature: "s2" }));
    expect(await bench.engine.listSelected("op-1", { limit: 9 })).toMatchObject([{ signature: "s1" }]);
  });

  test("refusals are counted by reason, most frequent first", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d", "e"]);
    await bench.begin("op-1", { kind: "discard" });
    const step = async (itemId: string, refuse: string) => ({
      letterSequence: await bench.letterSequence(itemId),
      refuse,
    });
    await bench.engine.advance("op-1", {
      letters: [await step("a", "rare"), await step("b", "often"), await step("c", "also rare")],
    });
    await bench.engine.advance("op-1", { letters: [await step("d", "often")] });
    expect(await bench.engine.listRefusals("op-1")).toEqual([
      { reason: "often", count: 2 },
      { reason: "also rare", count: 1 },
      { reason: "rare", count: 1 },
    ]);
  });
}
