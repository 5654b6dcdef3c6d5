/** Tells a person who waits for an operation that somebody paused it, opened it again or cancelled it. */
import type { Engine } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { Operation, OperationStatus } from "../item/operation.ts";
import type { Clock } from "../kit/clock.ts";

export interface WatchOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Aborted to end. */
  readonly signal: AbortSignal;
  readonly onNotice?: (notice: string) => void;
}

const LOOK_MS = 500;

/** Looks now and then, until the signal. A store in trouble is the runner's business. */
export async function watchPause(operation: Operation, options: WatchOptions): Promise<void> {
  const { engine, clock, signal, onNotice } = options;
  let status: OperationStatus = "open";
  while (!signal.aborted) {
    const now = await lookAt(engine, operation);
    if (now !== status && now !== null) {
      const notice = NOTICES[now]?.(operation.id);
      if (notice !== undefined) onNotice?.(notice);
      status = now;
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

const NOTICES: Readonly<Partial<Record<OperationStatus, (id: string) => string>>> = {
  paused: (id) =>
    `${id} is paused: nothing more is begun. \`redrive ops resume ${id}\` goes on; Ctrl-C leaves it so.`,
  open: (id) => `${id} goes on.`,
  cancelled: (id) => `${id} was cancelled: what was not begun stays a letter.`,
};

async function lookAt(engine: Engine, { id }: Operation): Promise<OperationStatus | null> {
  try {
    return (await engine.findOperation(id))?.status ?? null;
  } catch (error) {
    if (!isStoreTrouble(error)) throw error;
    return null;
  }
}
