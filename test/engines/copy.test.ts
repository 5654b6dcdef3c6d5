/**
 * Stores that move from one engine to another. A store that is copied in the middle of its life must go on as if nothing had
 * happened: leases, letters, operations and ordering keys. The copying itself is tested in test/store/.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Engine, RowPage } from "../../src/engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/open.ts";
import { TABLES } from "../../src/item/tables.ts";
import { assert } from "../../src/std/assert.ts";
import type { Clock } from "../../src/std/clock.ts";
import type { Json } from "../../src/std/json.ts";
import { copyStore } from "../../src/store/copy.ts";
import { differences, sumsOf } from "../../src/store/digest.ts";
import type { EngineUnderTest } from "../conformance/suite.ts";
import { simulate } from "../simulation/simulate.ts";
import { askPostgres, postgresStores } from "../support/postgres-stores.ts";
import { seeds } from "../support/seeds.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { sqliteStores } from "../support/sqlite-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
const postgres = postgresStores();
afterAll(async () => {
  directory.remove();
  await postgres.remove();
});

/** All rows as they are, whoever is at work: in these tests nobody changes anything meanwhile. */
async function moveRows(from: Engine, to: Engine): Promise<void> {
  for (const { name } of TABLES) {
    let after: Json = null;
    do {
      const page: RowPage = await from.readRows(name, { after, limit: 50 });
      await to.writeRows(name, page.rows);
      await to.writeRows(name, page.rows); // what is there is left alone
      after = page.next;
    } while (after !== null);
  }
}

/** Wherever the process would die, the store moves to the other engine. */
function movingStores(): EngineUnderTest & { moves: number } {
  const sqlite = sqliteStores(directory);
  let clock: Clock;
  const moving = {
    moves: 0,
    open: (given: Clock) => {
      clock = given;
      return sqlite.open(given);
    },
    reopen: async (from: Engine) => {
      moving.moves += 1;
      const to = await (moving.moves % 2 === 1 ? postgres : sqlite).open(clock);
      await moveRows(from, to);
      expect(differences(await sumsOf(from), await sumsOf(to))).toEqual([]);
      await from.close();
      return to;
    },
  };
  return moving;
}

describe("a store that moves between SQLite and PostgreSQL", () => {
  let moves = 0;

  it.each(seeds(3, 4))("continues like the model, seed %i", async (seed) => {
    const stores = movingStores();
    await simulate(stores, { seed, steps: 250 });
    moves += stores.moves;
  });

  it.skipIf(process.env.REDRIVE_SEED !== undefined)("has moved on the way", () => {
    expect(moves).toBeGreaterThan(1);
  });
});

/** Everything that a person would ask. */
async function answersOf(engine: Engine): Promise<unknown> {
  const items = await engine.listItems({ queue: "job-1", limit: 1000 });
  const operations = await engine.listOperations({});
  return {
    jobs: await engine.listJobs({ limit: 10 }),
    counts: await engine.count("job-1"),
    items,
    attempts: await Promise.all(items.map(({ ref }) => engine.listAttempts(ref))),
    notes: await Promise.all(items.map(({ ref }) => engine.listNotes(ref))),
    amendments: await Promise.all(items.map(({ ref }) => engine.listAmendments(ref))),
    letters: await engine.listLetters({ limit: 1000, states: ["dead", "ready", "discarded", "done"] }),
    found: await engine.listLetters({ text: "EXIT CODE 101", limit: 1000 }),
    old: await engine.listLetters({ olderThanMs: 0, limit: 0 }),
    groups: await engine.listGroups({}),
    records: await engine.listGroupRecords({}),
    arrivals: await engine.listArrivals({ bucketMs: 60_000 }),
    operations,
    selections: await Promise.all(operations.map(({ id }) => engine.listSelected(id, { limit: 1000 }))),
    events: await engine.listEvents({ after: 0, limit: 1000 }),
    counters: await engine.listCounters(),
    document: await engine.readDocument("watch/state"),
  };
}

async function fill(engine: Engine): Promise<void> {
  await engine.createJob({
    id: "job-1",
    name: "job 1",
    kind: "map",
    spec: { command: ["true", "a b", "\u0000é"] },
  });
  const items = Array.from({ length: 40 }, (_, place) => ({
    itemId: `item-${place}`,
    data: { text: `é \u{1f600} "quoted" \\ \u0000 ${place}`, number: place / 3 },
    name: `name ${place}`,
    ...(place % 5 === 0 && { orderingKey: `key ${place % 10}` }),
    ...(place % 7 === 0 && { priority: "high" as const, expiresAt: 9e12 }),
  }));
  await engine.add("job-1", items);
  await work(engine, 20);
  const by = { queue: "job-1", force: false, author: "ada", plan: { pace: 1 } };
  const two = (await engine.listLetters({ limit: 2 })).letters;
  await engine.beginOperation({ ...by, id: "edit-1", kind: "edit", filter: {} });
  await engine.advance("edit-1", {
    letters: two.map(({ letterSequence }) => ({ letterSequence, data: { fixed: letterSequence } })),
  });
  await engine.beginOperation({ ...by, id: "redrive-1", kind: "redrive", filter: {} });
  await engine.advance("redrive-1", { max: 3 });
  await engine.beginOperation({ ...by, id: "discard-1", kind: "discard", filter: {}, reason: "no use" });
  await engine.advance("discard-1", { max: 2 });
  await engine.addNote(1, { author: "ada", text: "looked at" });
  await engine.hold("job-1", ["item-39"], { author: "ada" });
  await engine.changeJob("job-1", { pause: { author: "ada", reason: "lunch" } });
  await engine.writeDocument("watch/state", { seen: 0, body: { rules: [1, "two"] } });
}

async function work(engine: Engine, max: number): Promise<void> {
  const id = `holder ${await engine.newestEvent()}`;
  await engine.registerHolder({
    id,
    queue: "job-1",
    host: "host-1",
    pid: 1,
    processStart: "1",
    ttlMs: 60_000,
  });
  const { leased } = await engine.settleAndLease(id, { settle: [], lease: { queue: "job-1", max } });
  assert(leased.length > 0, "there was something to do");
  const [first = { ref: 0, attempt: 0 }] = leased;
  const lease = { ref: first.ref, attempt: first.attempt };
  const usage = { costUsd: 0.123456789, turns: 2 };
  const times = { startedAt: 1, updatedAt: 2 };
  await engine.writeAgentRuns("job-1", [
    { id: `${id} run`, lease, step: "step 1", agent: "codex", usage, isFinal: true, ...times },
  ]);
  const settle = leased.map((lease, place) => (place % 2 === 0 ? succeeded(lease) : buried(lease)));
  await engine.settleAndLease(id, { settle });
  expect(await engine.unregisterHolder(id)).toBe(true);
}

async function sqliteStore(): Promise<Engine> {
  const engine = await openSqliteEngine({ path: directory.file("store.db") });
  onTestFinished(() => engine.close());
  return engine;
}

async function postgresStore(): Promise<Engine> {
  const engine = await postgres.open();
  onTestFinished(() => engine.close());
  return engine;
}

describe("a copy from SQLite to PostgreSQL and back", () => {
  it("gives the same results in all three, and the same digests", async () => {
    const [first, second, third] = [await sqliteStore(), await postgresStore(), await sqliteStore()];
    await fill(first);
    const there = await copyStore({ from: first, to: second });
    const back = await copyStore({ from: second, to: third });
    expect(back.tables).toEqual(there.tables);
    const answers = await answersOf(first);
    expect(await answersOf(second)).toEqual(answers);
    expect(await answersOf(third)).toEqual(answers);
    const empty = there.tables.filter(({ rows }) => rows === 0).map(({ table }) => table);
    expect(empty).toEqual(["progress", "late_results", "group_notes", "group_fixes", "corrections"]);
  });

  it("is sound, and work continues with new numbers", async () => {
    const [from, to] = [await sqliteStore(), await postgresStore()];
    await fill(from);
    await copyStore({ from, to });
    expect(await to.check()).toEqual([]);
    const [refs, event] = [
      (await to.listItems({ queue: "job-1", limit: 1000 })).map(({ ref }) => ref),
      await to.newestEvent(),
    ];
    const [newest] = (await to.listLetters({ limit: 1 })).letters;
    await to.changeJob("job-1", { pause: null });
    await to.add("job-1", [{ itemId: "new", data: 1 }]);
    await work(to, 8);
    const [added] = await to.findItems("new", { queue: "job-1", limit: 1 });
    expect(added?.ref).toBeGreaterThan(Math.max(...refs));
    expect(await to.newestEvent()).toBeGreaterThan(event);
    const [buriedLast] = (await to.listLetters({ limit: 1 })).letters;
    expect(buriedLast?.letterSequence).toBeGreaterThan(newest?.letterSequence ?? 0);
    await to.createJob({ id: "job-2", name: "job 2", kind: "map", spec: {} });
    await to.addNote(1, { author: "ada", text: "in the copy" });
    await to.beginOperation({
      id: "op",
      kind: "discard",
      queue: "job-1",
      filter: {},
      force: false,
      author: "a",
      plan: {},
    });
    expect(await to.check()).toEqual([]);
  });

  it("starts again in PostgreSQL too if the source has changed", async () => {
    const [from, to] = [await sqliteStore(), await postgresStore()];
    await fill(from);
    await copyStore({ from, to });
    await from.changeJob("job-1", { pause: null });
    await work(from, 6);
    expect((await copyStore({ from, to })).how).toBe("anew");
    expect(await to.check()).toEqual([]);
    await to.createJob({ id: "job-2", name: "job 2", kind: "map", spec: {} });
  });

  it("is an error in PostgreSQL too if a row does not fit the existing ones", async () => {
    const to = await postgresStore();
    const job = {
      no: 1,
      id: "nowhere",
      name: "nowhere",
      kind: "map",
      spec: "{}",
      progress: "{}",
      status: "running",
    };
    const times = { intake_complete: 0, created_at: 1, started_at: 1 };
    await expect(to.writeRows("jobs", [{ ...job, ...times }])).rejects.toMatchObject({
      code: "copy_differs",
    });
  });
});

/** The tables by which SQLite finds texts, and those that its own search makes beside them. */
const TEXT_INDEX = [
  ...["message_templates", "indexed_messages", "indexed_to", "unindexed_letters"],
  ...["template_texts", "parameter_texts"].flatMap((name) => [
    name,
    ...["config", "content", "data", "docsize", "idx"].map((part) => `${name}_${part}`),
  ]),
];

describe("the tables of a copy", () => {
  /** What follows from other rows, or is kept in another form. */
  const OWN = {
    sqlite: [
      "letters_by_age",
      "letters_by_age_of_all",
      "letters_by_attempts",
      "items.waits",
      "items.started_at",
      ...TEXT_INDEX,
    ],
    postgres: [
      "store",
      "queue_counts",
      "queue_totals",
      "ready_items",
      "ordered_items",
      "ordering_heads",
      "selected",
      "leases",
      "holders.turn",
      "items.started_at",
      "letter_numbers",
      "counters.shard",
    ],
  };
  const LETTER_TEXT = ["letters.message", "resolved_letters.message"];
  const wanted = TABLES.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`));

  it("have every column that SQLite keeps", async () => {
    const path = directory.file("store.db");
    await (await openSqliteEngine({ path })).close();
    const database = new DatabaseSync(path, { readOnly: true });
    const rows = database
      .prepare(
        `SELECT t.name AS table_name, c.name AS column_name FROM sqlite_master t JOIN pragma_table_info(t.name) c
          WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .all() as { table_name: string; column_name: string }[];
    database.close();
    const kept = columnsOf(rows, OWN.sqlite);
    const numbered = ["late_results.no", "notes.no", "group_notes.no"]; // SQLite's own numbers of rows
    const sequences = ["sequences.last", "sequences.name"];
    expect([...kept, ...numbered, ...sequences].sort()).toEqual([...wanted].sort());
  });

  it("have every column that PostgreSQL keeps", async () => {
    const engine = await postgresStore();
    const rows = await askPostgres<{ table_name: string; column_name: string }>(
      "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1",
      postgres.schemaOf(engine),
    );
    const kept = columnsOf(rows, [...OWN.postgres, ...LETTER_TEXT]);
    const counters = wanted.filter((name) => /^queues\.(?!no|name|spent_until)/.test(name)); // in shards
    const sequences = ["sequences.last", "sequences.name"];
    expect([...kept, ...counters, ...sequences].sort()).toEqual([...wanted].sort());
  });

  function columnsOf(
    rows: readonly { readonly table_name: string; readonly column_name: string }[],
    without: readonly string[],
  ): string[] {
    return rows
      .filter(({ table_name: table }) => !without.includes(table))
      .map(({ table_name: table, column_name: column }) => `${table}.${column}`)
      .filter((name) => !without.includes(name));
  }
});
