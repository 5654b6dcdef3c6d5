/** The search of texts among thousands of letters finds what a look at every message finds, whatever was read when. */
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Engine, LetterFilter, StoredLetter } from "../../../src/engine.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, QUEUE } from "../../conformance/workbench.ts";
import { Chance } from "../../simulation/chance.ts";
import { buried, failureOf, retried, succeeded } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const LETTERS = 4000;
const HOLDER = "holder-1";

/** Few templates have most letters, many have one; some are long, in other letters, or hard to write down. */
function messageOf(chance: Chance, n: number): string {
  return chance.pick([
    `The socket of worker-${n} was closed by 10.0.0.${n % 256}`,
    `The socket of worker-${n} was closed by 10.0.0.${n % 256}`,
    `exit code ${n % 3} of item-${n}`,
    `exit code ${n % 3} of item-${n}`,
    `no such file: src/${word(n)}/${word(n * 31)}.ts`,
    `no such file: src/${word(n)}/${word(n * 31)}.ts`,
    `GRÖSSE ${n % 5} falsch \\ "%_${n}"`,
    `\u212Aelvin 😀 ${n % 2 === 0 ? "Σ" : "facade"}`,
    `${"long ".repeat(300)}tail-${n}`,
    `odd \u0001 ${n}`,
    "failed",
  ]);
}

function word(n: number): string {
  return [...`${n}`].map((digit) => "ghijklmnop"[Number(digit)]).join("");
}

const TEXTS = [
  ...["socket", "SOCKET OF", "worker-12", "worker-1999 was", "closed by 10.0.0.7", "10.0.0.", "e", "7", "12"],
  ...[
    "123",
    "code 1 of",
    "code 1",
    "1 of item-77",
    "item-3",
    "de 2 o",
    "src/h",
    "hh/",
    ".ts",
    "grösse",
    "größe",
    "ö",
  ],
  ...[
    "grösse 3 f",
    '"%_1',
    "\\",
    "kelvin",
    "😀",
    "σ",
    "facade",
    "face",
    "fa",
    "tail-12",
    "long long",
    "odd",
    "\u0001",
  ],
  ...["failed", "ed", "", "nowhere", "999999", "o", "  "],
];

async function lease(engine: Engine, max: number) {
  return (await engine.settleAndLease(HOLDER, { settle: [], lease: { queue: QUEUE, max } })).leased;
}

it("finds the same letters and totals while letters arrive, change and leave", async () => {
  const chance = new Chance(7);
  const engine = await openSqliteEngine({ path: join(directory.path, "texts.db") });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder(HOLDER));
  let made = 0;
  const bury = async (count: number) => {
    const items = Array.from({ length: count }, (_, n) => ({
      itemId: `n-${made + n}`,
      data: { n: made + n },
    }));
    await engine.add(QUEUE, items);
    await settleAs(await lease(engine, count));
    made += count;
  };
  const settleAs = async (leased: Awaited<ReturnType<typeof lease>>) => {
    const settle = leased.map((one) => ({
      ...buried(one, chance.happens(0.3) ? { signature: "00000000000000cc", pattern: "c" } : {}),
      failure: failureOf(one, { errorMessage: messageOf(chance, chance.below(LETTERS)) }),
    }));
    await engine.settleAndLease(null, { settle });
  };
  const operate = async (kind: "redrive" | "discard" | "restore" | "purge", filter: LetterFilter) => {
    const id = `op-${made}-${kind}-${chance.below(1e9)}`;
    await engine.beginOperation({ id, kind, queue: QUEUE, filter, force: true, author: "ada", plan: {} });
    await engine.advance(id, { max: LETTERS });
    return id;
  };

  await bury(LETTERS / 2);
  expect(await engine.catchUp({ forMs: 60_000 })).toBe(false);
  await expectAlike(engine);
  await bury(LETTERS / 2);
  await engine.catchUp({ forMs: 60_000 });
  await bury(300);
  await expectAlike(engine);

  await operate("discard", { text: "code 2" });
  await operate("purge", { text: "worker-1" });
  await operate("restore", { text: "item-1", states: ["discarded"] });
  await expectAlike(engine);
  const redrive = await operate("redrive", { text: "grösse" });
  const again = await lease(engine, 150);
  await engine.settleAndLease(null, {
    settle: again.slice(0, 100).map((one, n) => ({
      ...(n % 3 === 0 ? succeeded(one) : retried(one)),
      ...(n % 3 !== 0 && { failure: failureOf(one, { errorMessage: `socket ${n} again` }) }),
    })),
  });
  await settleAs(again.slice(100));
  await expectAlike(engine);
  await engine.changeOperation(redrive, { status: "cancelled" });
  await expectAlike(engine);
  const { letters } = await engine.listLetters({ text: "socket", limit: 400 });
  const moved = { signature: "00000000000000dd", pattern: "d", algorithm: "redrive-1" };
  await engine.regroup(letters.map(({ letterSequence }) => ({ letterSequence, ...moved })));
  await expectAlike(engine);
  await engine.catchUp({ forMs: 60_000 });
  await expectAlike(engine);
  expect(await engine.check()).toEqual([]);
  await operate("purge", { states: ["dead"] });
  await engine.catchUp({ forMs: 60_000 });
  await expectAlike(engine);
  expect(await engine.check()).toEqual([]);
  await engine.close();
}, 120_000);

const FILTERS: readonly LetterFilter[] = [
  {},
  { signatures: ["00000000000000cc"] },
  { states: ["dead"] },
  { states: ["ready", "leased", "discarded"] },
  { attemptsMin: 2 },
];

/** A short page, a long one that goes on from there, and the total of every question. */
async function expectAlike(engine: Engine): Promise<void> {
  for (const filter of FILTERS) {
    const all = await everyLetter(engine, filter);
    for (const [n, text] of TEXTS.entries()) {
      const order = n % 2 === 0 ? "newest" : "oldest";
      const expected = all
        .filter((letter) => lastMessage(letter).includes(text.toLowerCase()))
        .map(({ letterSequence }) => letterSequence)
        .sort((a, b) => (order === "newest" ? b - a : a - b));
      const query = { ...filter, text, order, parts: [] } as const;
      const { letters, total, next } = await engine.listLetters({ ...query, limit: 20 });
      const rest = { ...query, counted: false, limit: 1500 };
      const others = next === null ? [] : (await engine.listLetters({ ...rest, cursor: next })).letters;
      const found = [...letters, ...others].map(({ letterSequence }) => letterSequence);
      expect({ text, total, found }).toEqual({
        text,
        total: expected.length,
        found: expected.slice(0, 1520),
      });
    }
  }
}

async function everyLetter(engine: Engine, filter: LetterFilter): Promise<readonly StoredLetter[]> {
  return (await engine.listLetters({ ...filter, limit: 2 * LETTERS, parts: ["last_failure"] })).letters;
}

function lastMessage({ failureHistory }: StoredLetter): string {
  return failureHistory.at(-1)?.errorMessage.toLowerCase() ?? "";
}
