/**
 * Two engines with the same calls and the same clock: the model, and the one under test. Every call must have the
 * same result, apart from numbers that a store assigns itself.
 */
import { expect } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { RedriveError } from "../../src/errors.ts";
import type { EngineUnderTest } from "../conformance/suite.ts";
import { TestClock } from "../support/test-clock.ts";
import { openModel, type Simulated } from "./model/open.ts";

export type Side = "oracle" | "subject";
/** The same object in each of the two. */
export type Both<T> = Readonly<Record<Side, T>>;

export class Twins {
  readonly clock: TestClock;
  readonly #oracle: Simulated;
  readonly #under: EngineUnderTest;
  #subject: Engine;

  private constructor(under: EngineUnderTest, clock: TestClock, subject: Engine) {
    this.#under = under;
    this.clock = clock;
    this.#oracle = openModel(clock);
    this.#subject = subject;
  }

  static async open(under: EngineUnderTest): Promise<Twins> {
    const clock = new TestClock();
    return new Twins(under, clock, await under.open(clock));
  }

  /** Makes the same call on both and expects the same result; null if both refuse, with the same code. */
  async same<T>(call: (engine: Simulated, side: Side) => Promise<T>): Promise<Both<T> | null> {
    const oracle = await answerOf(call(this.#oracle, "oracle"));
    const subject = await answerOf(call(this.#subject, "subject"));
    expect(neutral(subject)).toEqual(neutral(oracle));
    return "code" in oracle || "code" in subject ? null : { oracle: oracle.value, subject: subject.value };
  }

  /** The process dies between two calls: everything acknowledged must be there for the next one. */
  async crash(): Promise<void> {
    if (this.#under.reopen) this.#subject = await this.#under.reopen(this.#subject);
  }

  async close(): Promise<void> {
    await this.#oracle.close();
    await this.#subject.close();
  }
}

/** The lists of both engines, paired; both must be equal, in the same order. */
export function pairsOf<T>(lists: Both<readonly T[]> | null): readonly Both<T>[] {
  return (lists?.oracle ?? []).flatMap((oracle, place) => {
    const subject = lists?.subject[place];
    return subject === undefined ? [] : [{ oracle, subject }];
  });
}

type Answer<T> = { readonly value: T } | { readonly code: string };

/** An operating error is a result like others. Anything else is a bug and ends the simulation. */
async function answerOf<T>(call: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await call };
  } catch (error) {
    if (error instanceof RedriveError) return { code: error.code };
    throw error;
  }
}

/** Without the numbers of items, burials and events; of a cursor only whether there is one. */
function neutral(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(neutral);
  const fields = Object.entries(value).filter(([key, field]) => !isOwnNumber(key, field));
  return Object.fromEntries(
    fields.map(([key, field]) => [key, key === "next" ? field !== null : neutral(field)]),
  );
}

const OWN_NUMBERS: ReadonlySet<string> = new Set(["ref", "id", "letterSequence", "bound"]);

function isOwnNumber(key: string, field: unknown): boolean {
  return typeof field === "number" && OWN_NUMBERS.has(key);
}
