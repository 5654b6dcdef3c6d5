/** Deleting letters: archived first, counted, and nothing lost or doubled when it is killed in between. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { archiveFolder, archivePath, readArchive } from "../../src/dead-letter/archive.ts";
import type { Engine } from "../../src/engine.ts";
import type { Letter } from "../../src/item/letter.ts";
import type { Operation } from "../../src/item/operation.ts";
import type { ItemState } from "../../src/item/state.ts";
import { editLetters } from "../../src/redrive/amend.ts";
import { discardLetters, restoreLetters } from "../../src/redrive/discard.ts";
import { enforceLimits } from "../../src/redrive/enforce-limits.ts";
import { DEFAULT_LIMITS, limitsOf } from "../../src/redrive/limits.ts";
import { survey } from "../../src/redrive/preview.ts";
import {
  archiveOf,
  continuePurge,
  finishAbandoned,
  type PurgeRequest,
  purgeLetters,
} from "../../src/redrive/purge.ts";
import { selectionFor } from "../../src/redrive/select.ts";
import { undoOperation } from "../../src/redrive/undo.ts";
import { takeLock } from "../../src/std/file-lock.ts";
import { thisHost } from "../../src/std/process-identity.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { AUTHOR, dataOf, QUEUE, sampleLetter, storeWithLetters } from "./sample-letters.ts";

const folder = new TemporaryDirectory();
afterAll(() => folder.remove());

const ALL = { filter: { queue: QUEUE } };
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

function purge(engine: Engine, home: string, more: Partial<PurgeRequest> = {}): Promise<Operation> {
  return purgeLetters(engine, { kind: "purge", queue: QUEUE, selection: ALL, author: AUTHOR, home, ...more });
}

async function archived(operation: Operation): Promise<Letter[]> {
  const archive = archiveOf(operation);
  const letters: Letter[] = [];
  if (archive) for await (const letter of readArchive(archive.path)) letters.push(letter);
  return letters;
}

async function idsIn(engine: Engine, ...states: ItemState[]): Promise<string[]> {
  const { letters } = await engine.listLetters({ queue: QUEUE, states, limit: 5000, order: "oldest" });
  return letters.map(({ itemId }) => itemId);
}

/** The engine, dying at the nth step: before the store has it, or right after. */
function dying(engine: Engine, at: number, when: "before" | "after"): Engine {
  let steps = 0;
  return Object.create(engine, {
    advance: {
      value: async (...args: Parameters<Engine["advance"]>) => {
        steps += 1;
        if (steps === at && when === "before") throw new Error("killed");
        const operation = await engine.advance(...args);
        if (steps === at) throw new Error("killed");
        return operation;
      },
    },
  });
}

describe("a purge whose process was killed", () => {
  const dead = { host: thisHost(), pid: 2 ** 22 + 1, processStart: "0", by: "x" };
  const locksIn = (home: string) =>
    readdirSync(archiveFolder(home, QUEUE)).filter((name) => name.endsWith(".lock"));

  it.each(["purge", "limits"])("is finished by the next one, and leaves no lock: %s", async (next) => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(500));
    await expect(purge(dying(engine, 2, "after"), home)).rejects.toThrow("killed");
    const [left] = await engine.listOperations({ open: true });
    const path = archivePath(home, QUEUE, left?.id ?? "");
    writeFileSync(`${path}.lock`, JSON.stringify(dead));
    if (next === "purge") await purge(engine, home);
    else {
      const limits = { ...limitsOf(DEFAULT_LIMITS), retentionMs: null };
      await enforceLimits(engine, { queue: QUEUE, home, author: AUTHOR, limits });
    }
    expect(await engine.findOperation(left?.id ?? "")).toMatchObject({ status: "ended", done: 500 });
    expect(locksIn(home)).toEqual([]);
    expect(await idsIn(engine, "dead")).toEqual([]);
  });

  it("stays open if a person interrupted it", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(500));
    await expect(purge(dying(engine, 2, "after"), home)).rejects.toThrow("killed");
    const [left] = await engine.listOperations({ open: true });
    await finishAbandoned(engine, { queue: QUEUE, home });
    expect(await engine.findOperation(left?.id ?? "")).toMatchObject({ status: "open" });
  });
});

describe("purge", () => {
  it("archives letters with all their data, deletes them, and reports the archive", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 2 }]);
    await engine.addNote(1, { author: AUTHOR, text: "look at this" });
    const [before] = (await engine.listLetters({ itemIds: ["o1"], limit: 1 })).letters;
    const operation = await purge(engine, home);
    expect(operation).toMatchObject({ status: "ended", selected: 2, done: 2, refused: 0 });
    expect(archiveOf(operation)?.path).toBe(archivePath(home, QUEUE, operation.id));
    const [first, second] = await archived(operation);
    const { ref: _ref, letterSequence: _burial, ...letter } = before ?? { ref: 0, letterSequence: 0 };
    expect(first).toEqual(letter);
    expect(second?.itemData).toEqual({ n: 2 });
    expect(await dataOf(engine)).toEqual({});
    expect(await engine.count(QUEUE)).toMatchObject({ letters: 0, purged: 2 });
    expect(existsSync(`${archivePath(home, QUEUE, operation.id)}.lock`)).toBe(false);
  });

  it("of nothing ends at once, and creates no folder", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters([]);
    expect(await purge(engine, home)).toMatchObject({ selected: 0, status: "ended" });
    expect(existsSync(home)).toBe(false);
  });

  it("keeps no copy if that is not wanted, and creates no file", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(3));
    const operation = await purge(engine, home, { archive: false });
    expect([operation.done, archiveOf(operation), existsSync(home)]).toEqual([3, null, false]);
  });

  it.each([
    ["before the store has the step", 2, "before"],
    ["after the store has the step", 2, "after"],
    ["before the first step", 1, "before"],
  ] as const)("killed %s, it goes on: nothing is archived twice, nothing is lost", async (_, at, when) => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(450));
    await expect(purge(dying(engine, at, when), home)).rejects.toThrow("killed");
    const [left] = (await engine.listOperations({ open: true })) as [Operation];
    expect(left.done).toBe((at - (when === "before" ? 1 : 0)) * 200);
    const still = await idsIn(engine, "dead");
    expect(still).toHaveLength(450 - left.done);
    const ended = await continuePurge(engine, left, { home });
    expect(ended).toMatchObject({ status: "ended", selected: 450, done: 450 });
    const ids = (await archived(ended)).map(({ itemId }) => itemId);
    expect(ids).toEqual(many(450).map(({ n }) => `o${n + 1}`));
  });

  it("refuses and keeps a letter that changes while it is archived", async () => {
    const { engine } = await storeWithLetters(many(3));
    const racing: Engine = Object.create(engine, {
      advance: {
        value: async (...args: Parameters<Engine["advance"]>) => {
          const [operation] = await engine.listOperations({});
          if (operation?.id === args[0])
            await editLetters(engine, {
              ...{ queue: QUEUE, author: "bob", recipe: { patch: { new: true } } },
              selection: { filter: { itemIds: ["o2"] } },
            });
          return engine.advance(...args);
        },
      },
    });
    const operation = await purge(racing, folder.file("home"));
    expect(operation).toMatchObject({ selected: 3, done: 2, refused: 1, status: "ended" });
    expect(await dataOf(engine)).toEqual({ o2: { n: 1, new: true } });
  });

  it("removes the logs of what it deletes, even those that a killed process left, and no others", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(4));
    const log = (item: string) => join(home, "logs", QUEUE, item, "1.log");
    for (const item of ["o1", "o2", "o3", "o4"]) {
      mkdirSync(join(home, "logs", QUEUE, item), { recursive: true });
      writeFileSync(log(item), "output");
    }
    const selection = { filter: { itemIds: ["o1", "o2"] } };
    await expect(purge(dying(engine, 1, "after"), home, { selection })).rejects.toThrow("killed");
    expect(existsSync(log("o1"))).toBe(true);
    const [left] = (await engine.listOperations({ open: true })) as [Operation];
    await continuePurge(engine, left, { home });
    await purge(engine, home, { selection: { filter: { itemIds: ["o3"] } } });
    expect(["o1", "o2", "o3", "o4"].map((item) => existsSync(log(item)))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it("of two processes never writes one archive at the same time", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(3));
    await expect(purge(dying(engine, 1, "before"), home)).rejects.toThrow("killed");
    const [left] = (await engine.listOperations({ open: true })) as [Operation];
    const giveBack = takeLock(`${archivePath(home, QUEUE, left.id)}.lock`);
    await expect(continuePurge(engine, left, { home })).rejects.toMatchObject({ code: "job_running" });
    expect(await idsIn(engine, "dead")).toHaveLength(3);
    giveBack?.();
    expect(await continuePurge(engine, left, { home })).toMatchObject({ done: 3 });
  });

  it("stops before anything is deleted if its archive was removed meanwhile", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(450));
    await expect(purge(dying(engine, 2, "before"), home)).rejects.toThrow("killed");
    const [left] = (await engine.listOperations({ open: true })) as [Operation];
    writeFileSync(archivePath(home, QUEUE, left.id), "");
    await expect(continuePurge(engine, left, { home })).rejects.toThrow("is shorter");
    expect(await idsIn(engine, "dead")).toHaveLength(250);
  });
});

describe("clear", () => {
  it("deletes discarded and resolved letters, and never a waiting one", async () => {
    const { engine } = await storeWithLetters(many(3));
    await discardLetters(engine, {
      queue: QUEUE,
      author: AUTHOR,
      reason: "r",
      selection: { filter: { itemIds: ["o2"] } },
    });
    const resolution = { kind: "requeue" as const, at: 1 };
    await engine.importLetters(QUEUE, [sampleLetter({ itemId: "o4", state: "done", resolution })]);
    const home = folder.file("home");
    const log = (item: string) => join(home, "logs", QUEUE, item, "1.log");
    for (const item of ["o2", "o4"]) {
      mkdirSync(join(home, "logs", QUEUE, item), { recursive: true });
      writeFileSync(log(item), "output");
    }
    const operation = await purge(engine, home, { kind: "clear" });
    expect(operation).toMatchObject({ selected: 2, done: 2 });
    expect(await idsIn(engine, "dead", "discarded", "done")).toEqual(["o1", "o3"]);
    // The item of a resolved letter is still there, and so are its logs.
    expect([existsSync(log("o2")), existsSync(log("o4"))]).toEqual([false, true]);
  });

  it("is refused for states that it must not touch", () => {
    expect(() => selectionFor("clear", { filter: { states: ["dead"] } })).toThrow(
      expect.objectContaining({ code: "filter_invalid" }),
    );
    expect(selectionFor("clear", { filter: { states: ["dead", "done"] } }).filter.states).toEqual(["done"]);
    expect(selectionFor("purge", { filter: {} }).filter.states).toEqual(["dead"]);
    expect(selectionFor("restore", { filter: {} }).filter.states).toEqual(["discarded"]);
  });
});

describe("discard and restore", () => {
  it("resolve letters with a reason and open them again, in one operation for any number", async () => {
    const { engine } = await storeWithLetters(many(2500));
    const discarded = await discardLetters(engine, {
      queue: QUEUE,
      selection: ALL,
      author: AUTHOR,
      reason: "obsolete",
    });
    expect(discarded).toMatchObject({ kind: "discard", selected: 2500, done: 2500, reason: "obsolete" });
    const [one] = (await engine.listLetters({ states: ["discarded"], limit: 1 })).letters;
    expect(one?.resolution).toMatchObject({
      kind: "discard",
      author: AUTHOR,
      reason: "obsolete",
      operationId: discarded.id,
    });
    const restored = await restoreLetters(engine, { queue: QUEUE, selection: ALL, author: AUTHOR });
    expect(restored).toMatchObject({ kind: "restore", selected: 2500, done: 2500 });
    expect(await idsIn(engine, "dead")).toHaveLength(2500);
  });
});

describe("survey", () => {
  it.each([
    ["by the store's counters", ALL.filter, undefined],
    ["letter by letter", ALL.filter, "true"],
  ])("counts a selection, by group and age, %s", async (_, filter, where) => {
    const { engine } = await storeWithLetters(many(2));
    const later = Date.UTC(2025, 11, 24);
    const other = { errorSignature: "00000000000000bb", errorPattern: "Timeout::slow", lastAttempt: later };
    await engine.importLetters(QUEUE, [sampleLetter({ itemId: "p1", ...other })]);
    const found = await survey(engine, {
      filter: { ...filter, states: ["dead"] },
      ...(where !== undefined && { where }),
    });
    expect(found).toEqual({
      total: 3,
      groups: [
        { signature: "00000000000000aa", pattern: "CommandFailed::cannot ship", count: 2 },
        { signature: "00000000000000bb", pattern: "Timeout::slow", count: 1 },
      ],
      oldestAt: Date.UTC(2025, 11, 1),
      newestAt: later,
    });
  });
});

describe("undo", () => {
  const undo = (engine: Engine, operation: Operation) => undoOperation(engine, operation, { author: "bob" });

  it("restores what a purge deleted from its archive, once", async () => {
    const home = folder.file("home");
    const { engine } = await storeWithLetters(many(250));
    const before = await dataOf(engine);
    const operation = await purge(engine, home);
    expect(await undo(engine, operation)).toMatchObject({
      by: "import",
      report: { imported: 250, existing: 0 },
    });
    expect(await dataOf(engine)).toEqual(before);
    expect(await undo(engine, operation)).toMatchObject({ report: { imported: 0, existing: 250 } });
  });

  it("undoes a discard by a restore, and that by a discard with the original reason", async () => {
    const { engine } = await storeWithLetters(many(2));
    const first = await discardLetters(engine, {
      queue: QUEUE,
      selection: ALL,
      author: AUTHOR,
      reason: "too old",
    });
    const back = await undo(engine, first);
    expect(back).toMatchObject({ operation: { kind: "restore", undoes: first.id, done: 2 } });
    expect(await idsIn(engine, "dead")).toHaveLength(2);
    if (back.by !== "operation") throw new Error("no operation");
    expect(await undo(engine, back.operation)).toMatchObject({
      operation: { kind: "discard", reason: "too old", done: 2 },
    });
    expect(await idsIn(engine, "discarded")).toHaveLength(2);
  });

  it("is refused for a redrive, for an open operation, and without an archive", async () => {
    const { engine } = await storeWithLetters(many(2));
    const base = { queue: QUEUE, author: AUTHOR, force: false, filter: { queue: QUEUE }, plan: {} };
    const redrive = await engine.beginOperation({ ...base, id: "op-r", kind: "redrive" });
    await expect(undo(engine, redrive)).rejects.toThrow("cannot be undone");
    const discard = await engine.beginOperation({ ...base, id: "op-d", kind: "discard" });
    await expect(undo(engine, discard)).rejects.toThrow("has not ended");
    const gone = await purge(engine, folder.file("home"), { archive: false });
    await expect(undo(engine, gone)).rejects.toMatchObject({ code: "illegal_move" });
  });
});
