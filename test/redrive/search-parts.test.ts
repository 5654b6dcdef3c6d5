/**
 * A search by an expression reads no more of each letter than it looks at, and no more letters than it may mean. What it
 * finds is what asking every whole letter finds.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine, LetterFilter, LetterQuery } from "../../src/engine.ts";
import { openMemoryEngine, openSqliteEngine } from "../../src/engines/sqlite/open.ts";
import { compiledWhere, compileMatcher } from "../../src/redrive/matcher.ts";
import { narrowedBy } from "../../src/redrive/push-down.ts";
import { countSelected, selectLetters, selectPage } from "../../src/redrive/select.ts";
import { AUTHOR, QUEUE } from "../conformance/workbench.ts";
import { buried, failureOf, retried } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const OTHER = "job-2";
const SIGNATURE = "00000000000000cc";

/** Each looks at letters in another way; some as a whole, under other names, or field by field. */
const EXPRESSIONS = [
  "true",
  "[letter].exists(l, l.reason != '')",
  "[letter].exists(l, l.failure_count > 1)",
  "[letter].exists(l, has(l.notes))",
  "[letter].all(l, !has(l.notes) && size(l.failure_history) == 1)",
  "cel.bind(l, letter, l.item_data.n > 2 || l.state == 'discarded')",
  "dyn(letter).exists(key, key == 'amendments')",
  "dyn(letter) == dyn(letter) && item.n % 2 == 0",
  "item.word == 'letter' || item.n == 1",
  "[letter].exists(l, l.queue == 'job-2') || failure.exit_code == 3",
  "[failure].exists(f, f.error_message.contains('7')) && [letter].exists(l, l.redrive_count == 0)",
  "letter.queue == 'job-2'",
  "'job-2' == letter.job_id && item.n > 1",
  "letter.queue == 'job-1' && letter.queue == 'job-2'",
  "letter.queue in ['job-1', 'job-2'] && item.n < 3",
  "letter.item_id in ['a-1', 'a-2', 'b-1', 'gone']",
  "letter['item_id'] == 'a-2' || letter.item_id == 'a-3'",
  `letter.error_signature == '${SIGNATURE}' && !letter.reprocess_eligible`,
  "letter.reprocess_eligible && item.n != 2",
  "letter.reprocess_eligible == false",
  "letter.state == 'dead' && letter.failure_count == 2",
  "letter.state == 'discarded'",
  "letter.state in ['dead', 'done'] && letter.item_id in []",
  "letter.state == 'Failed'",
  "!(letter.queue == 'job-2') && letter.state != 'ready'",
];

const FILTERS: readonly LetterFilter[] = [
  {},
  { queue: QUEUE },
  { states: ["dead", "discarded", "done"] },
  { states: ["discarded"] },
  { eligible: true, itemIds: ["a-1", "a-2", "b-0", "b-3"] },
  { signatures: [SIGNATURE], states: ["dead"] },
];

describe.each([
  ["memory", async () => openMemoryEngine()],
  ["SQLite", () => openSqliteEngine({ path: join(directory.path, "parts.db") })],
] as const)("in a store of the %s engine", (_name, open) => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await open();
    await fill(engine);
  });

  afterAll(() => engine.close());

  it.each(EXPRESSIONS)("%s finds what a check of every letter finds", async (where) => {
    const matches = compileMatcher(where);
    for (const filter of FILTERS) {
      const all = (await engine.listLetters({ ...filter, limit: 100 })).letters.filter(matches);
      const found: unknown[] = [];
      for await (const letter of selectLetters(engine, { filter, where })) found.push(letter);
      expect(found).toEqual(all);
      expect(await countSelected(engine, { filter, where })).toBe(all.length);
      expect(await pagesOf(engine, { filter, where }, true)).toEqual(all);
      expect(await pagesOf(engine, { filter, where }, false)).toEqual(all);
    }
  });

  it("a page without a count is found without reading the rest", async () => {
    const asked: LetterQuery[] = [];
    const watched: Engine = {
      ...engine,
      listLetters: (query) => {
        asked.push(query);
        return engine.listLetters({ ...query, limit: Math.min(query.limit, 2) });
      },
    };
    const page = await selectPage(
      watched,
      { filter: {}, where: "[item].exists(i, i.n >= 0)" },
      { limit: 1, counted: false },
    );
    expect(page.letters).toHaveLength(1);
    expect(page.next).not.toBeNull();
    expect(asked.filter(({ limit }) => limit > 2)).toHaveLength(1);
  });

  it("a page of an expression that the store can decide is one query of that size", async () => {
    const asked: LetterQuery[] = [];
    const watched: Engine = {
      ...engine,
      listLetters: (query) => {
        asked.push(query);
        return engine.listLetters(query);
      },
    };
    const selection = { filter: {}, where: "item.n % 2 == 0 && failure.error_message.contains('failed')" };
    const page = await selectPage(watched, selection, { limit: 1 });
    expect([page.letters.length, page.total > 1, page.next === null]).toEqual([1, true, false]);
    expect(asked.map(({ limit }) => limit)).toEqual([1]);
  });
});

async function pagesOf(
  engine: Engine,
  selection: { readonly filter: LetterFilter; readonly where: string },
  counted: boolean,
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await selectPage(engine, selection, { limit: 2, counted, ...(cursor && { cursor }) });
    found.push(...page.letters);
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

/** Letters of two queues: some tried twice, poison, amended, noted, discarded, on their way. */
async function fill(engine: Engine): Promise<void> {
  for (const [queue, prefix] of [
    [QUEUE, "a"],
    [OTHER, "b"],
  ] as const) {
    await engine.createJob({ id: queue, name: queue, kind: "map", spec: {} });
    const holder = `holder-${queue}`;
    const machine = { host: "host-1", pid: 1, processStart: "1", ttlMs: 10_000_000 };
    await engine.registerHolder({ id: holder, queue, ...machine });
    const items = Array.from({ length: 5 }, (_, n) => ({
      itemId: `${prefix}-${n}`,
      data: { n, word: n === 4 ? "letter" : "none" },
    }));
    await engine.add(queue, items);
    const lease = async () =>
      (await engine.settleAndLease(holder, { settle: [], lease: { queue, max: 10 } })).leased;
    const [first, ...others] = await lease();
    const bury = others.map((one, n) => ({
      ...buried(one, {
        reprocessEligible: n % 2 === 0,
        ...(n === 1 && { signature: SIGNATURE, poison: true }),
      }),
      failure: failureOf(one, { exitCode: n, errorMessage: `failed with ${n * 7}` }),
    }));
    await engine.settleAndLease(null, { settle: [...(first ? [retried(first)] : []), ...bury] });
    await engine.settleAndLease(null, { settle: (await lease()).map((one) => buried(one)) });
    const { letters } = await engine.listLetters({ queue, limit: 10, order: "oldest" });
    await engine.addNote(letters[0]?.ref ?? 0, { author: AUTHOR, text: "seen" });
    await operate(engine, queue, "discard", `${prefix}-3`);
    await operate(engine, queue, "edit", `${prefix}-2`);
    await operate(engine, queue, "redrive", `${prefix}-1`);
  }
}

async function operate(
  engine: Engine,
  queue: string,
  kind: "discard" | "edit" | "redrive",
  itemId: string,
): Promise<void> {
  const id = `op-${queue}-${kind}`;
  const filter = { itemIds: [itemId] };
  await engine.beginOperation({ id, kind, queue, filter, force: true, author: AUTHOR, plan: {} });
  const [selected] = await engine.listSelected(id, { limit: 1 });
  const letterSequences = [{ letterSequence: selected?.letterSequence ?? 0, data: { n: 2, word: "edited" } }];
  await engine.advance(id, kind === "edit" ? { letters: letterSequences } : { max: 1 });
}

it.each<[where: string, filter: LetterFilter, narrowed: LetterFilter]>([
  ["item.n > 3", {}, {}],
  ["letter.queue == 'q' && item.n > 3", {}, { queue: "q" }],
  ["letter.queue == 'q' || item.n > 3", {}, {}],
  ["item.n > 3 && (letter.job_id == 'q' && failure.exit_code == 1)", {}, { queue: "q" }],
  ["letter.queue == 'q'", { queue: "p" }, { queue: "p", itemIds: [] }],
  ["letter.queue in ['p', 'q']", {}, {}],
  ["letter.queue in ['p', 'q']", { queue: "q" }, { queue: "q" }],
  ["'s' == letter.error_signature", {}, { signatures: ["s"] }],
  ["letter['item_id'] in ['a', 'b']", { itemIds: ["b", "c"] }, { itemIds: ["b"] }],
  ["letter.state == 'done'", {}, { states: [] }],
  ["letter.state == 'done'", { states: ["dead", "done"] }, { states: ["done"] }],
  ["!letter.reprocess_eligible", {}, { eligible: false }],
  ["letter.reprocess_eligible", { eligible: false }, { eligible: false, itemIds: [] }],
  ["letter.queue == item.queue", {}, {}],
  ["letter.queue == dyn(5)", {}, {}],
  ["letter.queue != 'q'", {}, {}],
])("%s with the filter %j is searched for with %j", (where, filter, narrowed) => {
  expect(narrowedBy(compiledWhere(where).tree, filter)).toEqual(narrowed);
});
