/** What a job that goes on sends back to work: redrives that were begun and not finished, then the letters themselves. */
import type { Engine } from "../engine.ts";
import type { Clock } from "../kit/clock.ts";
import type { Patience } from "../runner/patience.ts";
import { beginSelected, completeSelection } from "./operation.ts";
import { sendLetters } from "./send.ts";

export interface RedriveOnResume {
  /** All letters that are worth another try, too. */
  readonly withLetters: boolean;
  readonly author: string;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNotice?: (notice: string) => void;
}

/** What is paused stays paused, and what is no redrive is none of a job's business. */
export async function* redriveOnResume(
  engine: Engine,
  queue: string,
  { withLetters, author, ...rest }: RedriveOnResume,
): AsyncGenerator<number> {
  const { patience } = rest;
  const options = { engine, ...rest, whenPaused: "leave" } as const;
  for (const operation of await patience.through(() => engine.listOperations({ queue, open: true }))) {
    if (operation.kind !== "redrive" || operation.status === "paused") continue;
    const complete = await patience.through(() => completeSelection(engine, operation));
    yield* sendLetters(complete, options);
  }
  if (!withLetters) return;
  const selection = { filter: { eligible: true } };
  const request = { kind: "redrive", queue, selection, author } as const;
  yield* sendLetters(await patience.through(() => beginSelected(engine, request)), options);
}
