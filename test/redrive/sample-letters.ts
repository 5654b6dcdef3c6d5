/** A store with letters to decide about, made by importing them: no work has to be run for them. */
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { Letter } from "../../src/item/letter.ts";
import type { Json, JsonObject } from "../../src/std/json.ts";
import { TestClock } from "../support/test-clock.ts";

export const QUEUE = "orders";
export const AUTHOR = "ada@lovelace";

export interface SampleStore {
  readonly engine: Engine;
  readonly clock: TestClock;
}

/** `o1` to `on`, each with its own data. */
export async function storeWithLetters(data: readonly Json[], spec: JsonObject = {}): Promise<SampleStore> {
  const clock = new TestClock();
  const engine = await openStore("memory:", { clock });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "imported", spec });
  await engine.importLetters(
    QUEUE,
    data.map((itemData, index) => sampleLetter({ itemId: `o${index + 1}`, itemData })),
  );
  return { engine, clock };
}

/** A letter with two failures. */
export function sampleLetter(given: Partial<Letter> = {}): Letter {
  const at = Date.UTC(2025, 11, 1);
  const failure = {
    timestamp: at,
    errorType: { name: "CommandFailed" as const, fields: { exit_code: 7 } },
    errorClass: "unknown" as const,
    errorMessage: "cannot ship",
    agentId: "a",
    stepFailed: "ship",
    durationMs: 5,
    exitCode: 7,
  };
  return {
    itemId: "o1",
    itemData: { n: 1 },
    firstAttempt: at,
    lastAttempt: at,
    failureCount: 2,
    failureHistory: [
      { ...failure, attemptNumber: 1 },
      { ...failure, attemptNumber: 2 },
    ],
    errorSignature: "00000000000000aa",
    errorPattern: "CommandFailed::cannot ship",
    reprocessEligible: true,
    manualReviewRequired: false,
    jobId: QUEUE,
    queue: QUEUE,
    state: "dead",
    reason: "out of retries (2 of 2 attempts used)",
    revision: 1,
    redriveCount: 0,
    ...given,
  };
}

/** The data of every letter that waits or is closed, by item. */
export async function dataOf(engine: Engine): Promise<Record<string, Json>> {
  const { letters } = await engine.listLetters({
    queue: QUEUE,
    states: ["dead", "discarded", "done"],
    limit: 5000,
    order: "oldest",
  });
  return Object.fromEntries(letters.map(({ itemId, itemData }) => [itemId, itemData]));
}
