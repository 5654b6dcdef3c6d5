/** Redrives letters of a resumed job: first its unfinished redrives, then its eligible letters. */
import type { Engine } from "../engine.ts";
import { beginSelected, completeSelection } from "./operation.ts";
import { type SendOptions, sendLetters } from "./send.ts";

export interface RedriveOnResume extends Omit<SendOptions, "engine" | "wake" | "whenPaused"> {
  readonly withLetters: boolean;
  readonly author: string;
}

/** Skips paused redrives, and operations of other kinds, which `ops resume` continues. */
export async function* redriveOnResume(
  engine: Engine,
  queue: string,
  { withLetters, author, ...rest }: RedriveOnResume,
): AsyncGenerator<number> {
  const { storeRetry } = rest;
  const options = { engine, ...rest, whenPaused: "leave" } as const;
  for (const operation of await storeRetry.run(() => engine.listOperations({ queue, open: true }))) {
    if (operation.kind !== "redrive" || operation.status === "paused") continue;
    const complete = await storeRetry.run(() => completeSelection(engine, operation));
    yield* sendLetters(complete, options);
  }
  if (!withLetters) return;
  const selection = { filter: { eligible: true } };
  const request = { kind: "redrive", queue, selection, author } as const;
  yield* sendLetters(await storeRetry.run(() => beginSelected(engine, request)), options);
}
