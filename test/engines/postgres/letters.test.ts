/**
 * What only PostgreSQL can get wrong about letters: several connections that bury, redrive and regroup at once, groups
 * that lie far apart, and texts that its own `lower` would fold in another way.
 */
import { afterAll, describe, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import type { LeasedItem, Settlement } from "../../../src/item/item.ts";
import { postgresStores } from "../../support/postgres-stores.ts";
import { buried, failureOf, retried, succeeded } from "../../support/settlements.ts";
import { TestClock } from "../../support/test-clock.ts";

const QUEUE = "job-1";
const stores = postgresStores();
const opened: Engine[] = [];

afterAll(async () => {
  for (const engine of opened) await engine.close();
  await stores.remove();
});

/** So many connections to one new store with an empty queue, each with a holder of its own. */
async function openMany(count: number): Promise<readonly [Engine, ...Engine[]]> {
  const first = await stores.open(new TestClock());
  const others = await Promise.all(Array.from({ length: count - 1 }, () => stores.join(first)));
  opened.push(first, ...others);
  await first.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  for (const [place, engine] of [first, ...others].entries())
    await engine.registerHolder({ ...holder(place), queue: QUEUE });
  return [first, ...others];
}

function holder(place: number) {
  return { id: `holder-${place}`, host: "host-1", pid: 100 + place, processStart: "1", ttlMs: 60_000 };
}

async function addItems(engine: Engine, count: number): Promise<void> {
  await engine.add(
    QUEUE,
    Array.from({ length: count }, (_, n) => ({ itemId: `item-${String(n).padStart(4, "0")}`, data: n })),
  );
}

/** Leases and settles until nothing is due. */
async function work(engine: Engine, place: number, settle: (item: LeasedItem) => Settlement): Promise<void> {
  let done: Settlement[] = [];
  for (;;) {
    const { leased } = await engine.settleAndLease(`holder-${place}`, {
      settle: done,
      lease: { queue: QUEUE, max: 7 },
    });
    if (leased.length === 0) return;
    done = leased.map(settle);
  }
}

describe("letters in PostgreSQL", () => {
  it("concurrent burials of several connections are counted exactly and numbered without a gap", async () => {
    const engines = await openMany(4);
    const [first] = engines;
    await addItems(first, 200);
    const settle = (item: LeasedItem) => buried(item, { signature: `s${item.ref % 3}` });
    await Promise.all(engines.map((engine, place) => work(engine, place, settle)));
    const { letters, total } = await first.listLetters({ queue: QUEUE, order: "oldest", limit: 200 });
    expect(total).toBe(200);
    expect(letters.map(({ letterSequence }) => letterSequence)).toEqual(
      Array.from({ length: 200 }, (_, n) => n + 1),
    );
    const groups = await first.listGroups({ queue: QUEUE });
    expect(groups.map(({ signature, count }) => [signature, count]).sort()).toEqual([
      ["s0", 66],
      ["s1", 67],
      ["s2", 67],
    ]);
    const told = await first.listEvents({ types: ["dlq_item_added"], after: 0, limit: 1000 });
    expect(told.map(({ itemId }) => itemId)).toEqual(letters.map(({ itemId }) => itemId));
    const openings = await first.listEvents({ types: ["group_opened"], after: 0, limit: 1000 });
    expect(openings).toHaveLength(3);
    expect(await first.check()).toEqual([]);
  });

  it("concurrent burials, redrives, discards, regroupings and resolutions end with exact totals", async () => {
    const engines = await openMany(4);
    const [first, second, third, fourth] = engines as readonly [Engine, Engine, Engine, Engine];
    await addItems(first, 120);
    const settle = (item: LeasedItem) => {
      if (item.redriveCount === 0) return buried(item, { signature: `s${item.ref % 4}` });
      return item.ref % 3 === 0 ? buried(item, { signature: "again" }) : succeeded(item);
    };
    const workAll = () => Promise.all(engines.map((engine, place) => work(engine, place, settle)));
    await workAll();
    await Promise.all([
      workAll(),
      operate(second, "redrive", 6),
      operate(third, "discard", 3),
      operate(fourth, "redrive", 6),
      regroupAll(first, 6),
    ]);
    await workAll();
    for (const { id } of await first.listOperations({ open: true })) await first.closeOperation(id);
    const [counts, groups] = await Promise.all([first.count(QUEUE), first.listGroups({ queue: QUEUE })]);
    expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(counts.letters);
    expect(counts).toMatchObject({ total: 120, ready: 0, leased: 0 });
    expect(counts.dead + counts.done + counts.discarded).toBe(120);
    expect(await first.listOperations({ open: true })).toEqual([]);
    expect(await first.check()).toEqual([]);
  });

  it("a note on a letter that is purged at the same time is written before it, or not at all", async () => {
    const [first, second] = (await openMany(2)) as readonly [Engine, Engine];
    await addItems(first, 30);
    await work(first, 0, (item) => buried(item));
    const refs = (await first.listLetters({ limit: 30 })).letters.map(({ ref }) => ref);
    await Promise.all([
      operate(second, "purge", 30),
      ...refs.map((ref) => first.addNote(ref, { author: "ada", text: "seen" })),
    ]);
    expect(await first.count(QUEUE)).toMatchObject({ purged: 30, letters: 0 });
    expect((await Promise.all(refs.map((ref) => first.listNotes(ref)))).flat()).toEqual([]);
    expect(await first.check()).toEqual([]);
  });

  it("pages of many groups are found where their letters are far behind those of others", async () => {
    const [engine] = await openMany(1);
    await addItems(engine, 4500);
    const timeout = (n: number) => ({ errorType: "Timeout", signature: `t${n}` }) as const;
    const far = await settleNext(engine, 150, (item, n) => buried(item, timeout(n % 75)));
    await settleNext(engine, 4350, (item, n) => buried(item, { signature: `c${n % 10}` }));
    const query = { types: ["Timeout"], limit: 60 } as const;
    const page = await engine.listLetters(query);
    expect(page.total).toBe(150);
    expect(page.letters.map(({ itemId }) => itemId)).toEqual(far.toReversed().slice(0, 60));
    const next = await engine.listLetters({ ...query, cursor: page.next ?? "" });
    expect(next.letters.map(({ itemId }) => itemId)).toEqual(far.toReversed().slice(60, 120));
    const oldest = await engine.listLetters({ ...query, order: "oldest" });
    expect(oldest.letters.map(({ itemId }) => itemId)).toEqual(far.slice(0, 60));
  });

  it("a redrive of many sends those that are still dead, and records the outcome of each letter", async () => {
    const [engine] = await openMany(1);
    await addItems(engine, 9);
    await settleNext(engine, 9, (item, n) => buried(item, { signature: n % 3 === 0 ? "s1" : "s2" }));
    const operation = { queue: QUEUE, filter: {}, force: false, author: "ada", plan: {} };
    await engine.beginOperation({ ...operation, id: "again", kind: "redrive" });
    await operate(engine, "discard", 1); // those of s1, which were selected
    expect(await engine.advance("again", { max: 4 })).toMatchObject({ done: 2, refused: 2, selected: 9 });
    const statuses = async () =>
      (await engine.listSelected("again", { limit: 9 })).map(({ status }) => status);
    const [refused, done, pending] = ["refused", "done", "pending"];
    const worked = [refused, done, done, refused];
    expect(await statuses()).toEqual([...worked, pending, pending, pending, pending, pending]);
    expect(await engine.listSelected("again", { status: "pending", limit: 9 })).toHaveLength(5);
    expect(await engine.listSelected("again", { status: "done", limit: 9 })).toHaveLength(2);
    expect(await engine.check()).toEqual([]);
    await settleNext(engine, 1, (item) => succeeded(item));
    await engine.changeOperation("again", { status: "cancelled" });
    const recalled = [refused, done, refused, refused];
    expect(await statuses()).toEqual([...recalled, refused, refused, refused, refused, refused]);
    expect(await engine.findOperation("again")).toMatchObject({ done: 1, refused: 8, succeeded: 1 });
    expect(await engine.check()).toEqual([]);
  });

  it("a redrive of many selects dead letters even if others of the group are in retry", async () => {
    const [engine] = await openMany(1);
    await addItems(engine, 6);
    await settleNext(engine, 6, (item) => buried(item));
    const operation = { queue: QUEUE, filter: {}, force: true, author: "ada", plan: {} } as const;
    await engine.beginOperation({ ...operation, id: "first", kind: "redrive" });
    await engine.advance("first", { max: 2 });
    const second = await engine.beginOperation({ ...operation, id: "second", kind: "redrive" });
    expect(second).toMatchObject({ selected: 4 });
    expect(await engine.advance("second", { max: 10 })).toMatchObject({ done: 4, refused: 0 });
    expect(await engine.advance("first", { max: 10 })).toMatchObject({ done: 2, refused: 4 });
    expect(await engine.check()).toEqual([]);
  });

  it("a failed query leaves its connection unchanged", async () => {
    const [engine] = await openMany(1);
    await expect(engine.count("nowhere")).rejects.toMatchObject({ code: "job_not_found" });
    await expect(engine.listAttempts(Number.MAX_VALUE)).rejects.toThrow();
    expect(await engine.count(QUEUE)).toMatchObject({ total: 0 });
  });

  it("texts are folded as JavaScript does it, whatever the server's locale", async () => {
    const [engine] = await openMany(1);
    await addItems(engine, 4);
    const messages = ["ΟΔΟΣ closed", "İstanbul", "5 \u212A above zero", "NUL \0 inside"];
    await settleNext(engine, 4, (item, n) => ({
      ...buried(item),
      failure: failureOf(item, { errorMessage: messages[n] ?? "" }),
    }));
    const found = async (text: string) => (await engine.listLetters({ text, limit: 10 })).letters[0]?.itemId;
    expect(await found("οδος")).toBe("item-0000");
    expect(await found("İSTAN")).toBe("item-0001");
    expect(await found("5 k above")).toBe("item-0002");
    expect(await found("nul \0 INSIDE")).toBe("item-0003");
    expect(await found("istanbul")).toBeUndefined();
  });

  it("a letter that failed again during a retry is regrouped by its last message", async () => {
    const [engine] = await openMany(1);
    await addItems(engine, 1);
    await work(engine, 0, (item) => buried(item, { signature: "s1", pattern: "p1" }));
    await engine.correct({ from: "s1", text: "No Network", to: "s2", pattern: "p2", author: "ada" });
    await operate(engine, "redrive", 1);
    await settleNext(engine, 1, (item) => ({
      ...retried(item, 1000),
      failure: failureOf(item, { errorMessage: "there is NO network" }),
    }));
    const regrouped = { letterSequence: 1, signature: "s1", pattern: "p1", algorithm: "redrive-1" };
    expect(await engine.regroup([regrouped])).toBe(1);
    expect(await engine.listGroups({})).toMatchObject([{ signature: "s2", pattern: "p2", count: 1 }]);
    expect(await engine.check()).toEqual([]);
  });
});

/** Leases so many items in one step and settles them in another. Gives their ids in that order. */
async function settleNext(
  engine: Engine,
  max: number,
  settle: (item: LeasedItem, place: number) => Settlement,
): Promise<string[]> {
  const { leased } = await engine.settleAndLease("holder-0", { settle: [], lease: { queue: QUEUE, max } });
  expect(leased).toHaveLength(max);
  await engine.settleAndLease(null, { settle: leased.map(settle) });
  return leased.map(({ itemId }) => itemId);
}

let operations = 0;

/** Works through all letters that are dead now, a few at a time, so that others come between. */
async function operate(engine: Engine, kind: "redrive" | "discard" | "purge", steps: number): Promise<void> {
  operations += 1;
  const id = `${kind}-${operations}`;
  const filter = kind === "discard" ? { signatures: ["s1"] } : {};
  await engine.beginOperation({ id, kind, queue: QUEUE, filter, force: true, author: "ada", plan: {} });
  for (let step = 0; step < steps; step += 1) await engine.advance(id, { max: 20 });
  await engine.changeOperation(id, { refuseRest: "the test is over" });
  await engine.closeOperation(id);
}

/** Moves letters to and fro between two groups. */
async function regroupAll(engine: Engine, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const { letters } = await engine.listLetters({ limit: 20, states: ["dead", "ready", "leased", "done"] });
    const signature = round % 2 === 0 ? "moved" : "back";
    await engine.regroup(
      letters.map(({ letterSequence }) => ({
        letterSequence,
        signature,
        pattern: signature,
        algorithm: "redrive-2",
      })),
    );
  }
}
