/**
 * An expression that the store evaluates finds the letters that evaluating it for every letter finds, or the same error. Data
 * and expressions are random, with the values that databases and JavaScript read differently.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { isDecidable } from "../../src/item/letter-condition.ts";
import { compiledWhere, compileMatcher } from "../../src/redrive/matcher.ts";
import { countSelected, selectLetters, selectPage } from "../../src/redrive/select.ts";
import { storeCondition } from "../../src/redrive/store-condition.ts";
import { messageOf } from "../../src/std/thrown.ts";
import { storedLetters } from "../item/arbitraries.ts";
import { postgresStores } from "../support/postgres-stores.ts";
import { fc } from "../support/properties.ts";

const QUEUE = "job-1";
const LETTERS = 150;
const stores = postgresStores();
afterAll(() => stores.remove());

/** Texts with escapes, halves of pairs, and characters that UTF-8 and UTF-16 order differently. */
const TEXTS = [
  "",
  "a",
  "ab",
  "A",
  "é",
  "\uffff",
  "😀",
  "a\nb",
  '"',
  "\\u0041",
  "\u0000b",
  "\ud800",
  "1",
  "true",
];
/** PostgreSQL also stores messages as text, which cannot contain the others. */
const MESSAGES = TEXTS.filter((one) => !/\p{Surrogate}|\0/u.test(one));
const NUMBERS = [0, 1, 2, -3, 7, 1.5, 0.1, 0.1 + 0.2, -0.1, 1e21, 1e-7, 1e300, 2 ** 53 - 1, 2 ** 53];
const BIGINTS = [9007199254740993n, -9223372036854775808n, 12345678901234567890n];

const scalar = fc.constantFrom(...TEXTS, ...NUMBERS, ...BIGINTS, true, false, null);
const value = fc.oneof(
  { weight: 5, arbitrary: scalar },
  fc.constantFrom<unknown[]>([], ["a"], { k: 1 }, { k: "a" }, { k: null }, {}),
);
const nested = fc
  .integer({ min: 900, max: 1100 })
  .map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth)));
const itemData = fc.oneof(
  { weight: 12, arbitrary: fc.record({ n: value, s: value, o: value }, { requiredKeys: [] }) },
  { weight: 2, arbitrary: fc.record({ n: fc.constantFrom(...NUMBERS), s: fc.constantFrom(...TEXTS) }) },
  scalar,
  fc.record({ n: scalar, deep: nested }),
);

const text = fc.constantFrom(...TEXTS).map((one) => JSON.stringify(one).replaceAll("\\u0000", "\\x00"));
const number = fc.oneof(
  fc.constantFrom(...NUMBERS.filter((one) => Math.abs(one) < 1e15)).map(String),
  fc.constantFrom("1.0", "0.3", "3u", "9007199254740993"),
);
const time = fc.constantFrom('"2000"', '"2026-01-01T00:00:00.000Z"', '"2050-06"', '"x"', '""');
const dataField = fc.constantFrom(
  "item.n",
  "item.s",
  "item.o.k",
  'item["n"]',
  "letter.item_data.n",
  "item.deep",
);
const textField = fc.oneof(
  dataField,
  fc.constantFrom(
    ...["letter.item_id", "letter.queue", "letter.state", "letter.reason", "letter.error_signature"],
    ...["failure.error_message", "failure.step_failed", "failure.error_class", "failure.stderr_tail"],
    ...["failure.error_type", "failure.signal", "letter.error_pattern"],
  ),
);
const numberField = fc.oneof(
  dataField,
  fc.constantFrom(
    ...["letter.failure_count", "letter.revision", "letter.redrive_count", "failure.exit_code"],
    ...["failure.attempt_number", "failure.duration_ms"],
  ),
);
const order = fc.constantFrom("==", "!=", "<", "<=", ">", ">=");
const equality = fc.constantFrom("==", "!=");
const comparison = (
  left: fc.Arbitrary<string>,
  operator: fc.Arbitrary<string>,
  right: fc.Arbitrary<string>,
) =>
  fc
    .tuple(left, operator, right, fc.boolean())
    .map(([a, between, b, isTurned]) => (isTurned ? `${b} ${between} ${a}` : `${a} ${between} ${b}`));
const computed = fc
  .tuple(numberField, fc.constantFrom("+", "-", "*", "%", "/"), fc.oneof(number, numberField))
  .map(([a, operator, b]) => `(${a} ${operator} ${b})`);

const leaf = fc.oneof(
  comparison(textField, order, text),
  comparison(numberField, order, number),
  comparison(computed, order, number),
  comparison(dataField, order, dataField),
  comparison(dataField, equality, fc.constantFrom("true", "false", "null")),
  comparison(fc.constantFrom("letter.first_attempt", "letter.last_attempt"), order, time),
  fc
    .tuple(textField, fc.constantFrom("contains", "startsWith", "endsWith"), text)
    .map(([field, test, part]) => `${field}.${test}(${part})`),
  fc
    .tuple(fc.oneof(textField, numberField), fc.array(fc.oneof(text, number), { maxLength: 3 }))
    .map(([field, list]) => `${field} in [${list.join(", ")}]`),
  fc.constantFrom("has(item.n)", "has(item.o)", "has(item.o.k)", "has(letter.reason)", "has(letter.poison)"),
  fc.constantFrom("has(failure.exit_code)", "letter.reprocess_eligible", "letter.poison", "item.n", "true"),
  fc.constantFrom(
    "item.?n.orValue(1) == 1",
    "size(letter.failure_history) > 1",
    "failure.timestamp > '2020'",
  ),
);
const expression = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie("any"), fc.constantFrom("&&", "||"), tie("any"))
        .map((of) => `(${of.join(" ")})`),
    },
    { weight: 1, arbitrary: tie("any").map((of) => `!(${of})`) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("any"), tie("any"), tie("any")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    },
  ),
})).any;

describe.each([
  ["memory", async () => openMemoryEngine()],
  ["PostgreSQL", () => stores.open()],
] as const)("in a store of the %s engine", (_name, open) => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await open();
    await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
    const letters = fc.sample(fc.tuple(storedLetters, itemData, fc.constantFrom(...MESSAGES)), LETTERS);
    await engine.importLetters(
      QUEUE,
      letters.map(([letter, data, message], n) => ({
        ...letter,
        itemId: `${[...letter.itemId].slice(0, 2).join("")}${n}`,
        itemData: data as never,
        failureHistory:
          n % 9 === 0 ? [] : letter.failureHistory.map((one) => ({ ...one, errorMessage: message })),
      })),
    );
  });

  afterAll(() => engine.close());

  it("random expressions have the results of JavaScript", async () => {
    const filter = { states: ["dead", "done", "discarded"] } as const;
    const all = (await engine.listLetters({ ...filter, limit: LETTERS })).letters;
    expect(all).toHaveLength(LETTERS);
    await fc.assert(
      fc.asyncProperty(expression.filter(compiles), fc.integer({ min: 1, max: 40 }), async (where, limit) => {
        const matches = compileMatcher(where);
        const expected = await answer(() => all.filter(matches).map(({ itemId }) => itemId));
        const selection = { filter, where };
        expect(await answer(() => idsOf(engine, selection))).toEqual(expected);
        const count = Array.isArray(expected) ? expected.length : expected;
        expect(await answer(() => countSelected(engine, selection))).toEqual(count);
        const page = await answer(async () => {
          const { letters, total } = await selectPage(engine, selection, { limit });
          return { ids: letters.map(({ itemId }) => itemId), total };
        });
        expect(page).toEqual(
          Array.isArray(expected) ? { ids: expected.slice(0, limit), total: expected.length } : expected,
        );
      }),
      { numRuns: 200 },
    );
  });
});

it("expressions of common shapes are evaluated by the store", () => {
  for (const where of [
    "item.number % 7 == 3 && item.kind in ['a', 'b']",
    "has(item.n) && item.n > 3 || letter.reason.startsWith('out')",
    "letter.failure_count > 1 || letter.first_attempt < '2000-01-01'",
    "failure.error_message != '' && !letter.poison",
  ])
    expect(isDecidable(storeCondition(compiledWhere(where).tree)), where).toBe(true);
  expect(isDecidable(storeCondition(compiledWhere("item.tags.exists(tag, tag == 'a')").tree))).toBe(false);
});

function compiles(where: string): boolean {
  try {
    compileMatcher(where);
    return true;
  } catch {
    return false;
  }
}

async function answer<T>(ask: () => T | Promise<T>): Promise<T | string> {
  try {
    return await ask();
  } catch (error) {
    return messageOf(error);
  }
}

async function idsOf(engine: Engine, selection: Parameters<typeof selectLetters>[1]): Promise<string[]> {
  const ids: string[] = [];
  for await (const { itemId } of selectLetters(engine, selection)) ids.push(itemId);
  return ids;
}
