/**
 * Tests the options of a call. The type of the cases lists every option, so that a new option does not compile without a test
 * that sees its effect and without values that it refuses. Effects are tested in memory with a clock to move, refusals on
 * every store.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTest, type TestStore as TestingStore } from "../../../src/exports/testing.ts";
import { type Redrive, RedriveError } from "../../../src/index.ts";
import { STORES, type StoreKind, TestStore } from "../stores.ts";

/** One store of each kind for all calls of a file: refused calls change nothing. */
const shared = new Map<StoreKind, { readonly store: TestStore; readonly redrive: Promise<Redrive> }>();

function sharedStore(kind: StoreKind): Promise<Redrive> {
  const found = shared.get(kind);
  if (found !== undefined) return found.redrive;
  const store = new TestStore(kind);
  store.begin();
  const redrive = store.open();
  shared.set(kind, { store, redrive });
  return redrive;
}

afterAll(async () => {
  for (const { store } of shared.values()) {
    await store.end();
    await store.remove();
  }
});

export interface OptionCase {
  /** Values that are refused. */
  readonly refuses: readonly unknown[];
  /** Fails if the option is ignored. */
  readonly effect: (test: TestingStore) => Promise<void>;
}

export type OptionCases<Options> = { readonly [Name in keyof Required<Options>]: OptionCase };

export interface OptionCall<Options> {
  /** The call with invalid options. */
  readonly call: (redrive: Redrive, options: never) => unknown;
  /** Options that the call needs. */
  readonly base?: object;
  /** Runs before the invalid calls. Calls of the same file share a store. */
  readonly prepare?: (redrive: Redrive) => Promise<unknown>;
  readonly options: OptionCases<Options>;
}

export function describeOptions<Options>(what: string, given: OptionCall<Options>): void {
  const { call, base = {}, prepare, options } = given;
  const cases = Object.entries<OptionCase>(options);

  it.each(cases)(`${what}: %s has its effect`, async (_, { effect }) => {
    const test = await openTest({ start: "2026-03-01T00:00:00Z" });
    try {
      await effect(test);
    } finally {
      await test.close();
    }
  });

  describe.each(STORES)(`${what} on %s`, (kind) => {
    let redrive: Redrive;
    beforeAll(async () => {
      redrive = await sharedStore(kind);
      await prepare?.(redrive);
    });

    const refusal = async (invalid: object, field: string) => {
      const error = await refusalOf(() => call(redrive, { ...base, ...invalid } as never));
      expect(error.code).toBe("usage");
      expect(error.field?.split(/[.[]/)[0]).toBe(field);
      return error;
    };
    const nothingIsWritten = async (calls: () => Promise<void>) => {
      const before = await contentOf(redrive);
      await calls();
      expect(await contentOf(redrive)).toEqual(before);
    };

    it.each(cases)("%s refuses other values and writes nothing", (name, { refuses }) =>
      nothingIsWritten(async () => {
        for (const value of refuses) await refusal({ [name]: value }, name);
      }),
    );

    it("misspelt options are refused with a suggestion, and nothing is written", () =>
      nothingIsWritten(async () => {
        for (const [name] of cases) {
          const { hint } = await refusal({ [`${name}z`]: 1 }, `${name}z`);
          expect(hint).toMatch(/^(Did you mean|Known options:)/);
          expect(hint).toContain(name);
        }
      }));
  });
}

/** The error of a call that must be refused: thrown, rejected, or thrown by the first step of an iteration. */
async function refusalOf(call: () => unknown): Promise<RedriveError> {
  try {
    const answer = await call();
    if (typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer)
      for await (const _ of answer as AsyncIterable<unknown>) break;
  } catch (error) {
    expect(error).toBeInstanceOf(RedriveError);
    return error as RedriveError;
  }
  throw new Error("The call was not refused.");
}

/** Whatever a refused call could have changed. */
async function contentOf({ engine, schedules }: Redrive): Promise<object> {
  const jobs = await engine.listJobs({ limit: 1000 });
  return {
    event: await engine.newestEvent(),
    holders: (await engine.listHolders()).length,
    jobs,
    operations: await engine.listOperations({}),
    schedules: await schedules.list(),
    items: await Promise.all(jobs.map(({ id }) => engine.count(id))),
  };
}

export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

export async function idsOf(source: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  return (await all(source)).map(({ id }) => id).sort();
}

/** Values that no option accepts as a duration, a text, a number, a flag or a function. */
export const NOT = {
  duration: ["soon", "30", -1, Number.NaN, true, null],
  text: [7, "", {}, null],
  count: [-1, 1.5, "3", Number.NaN, null],
  flag: [1, "true", null],
  function: ["x", {}, null],
  signal: [{}, "x", null],
} as const;

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
