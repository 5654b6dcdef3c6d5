/** Operations: tracked changes of many letters. They survive the process that began them. */
import * as z from "zod";
import { RedriveError } from "../errors.ts";
import {
  leftOf,
  type OperationKind,
  type OperationStatus,
  type Operation as StoredOperation,
} from "../item/operation.ts";
import { returnedOf } from "../redrive/canary.ts";
import { cancelOperation, finishOperation, pauseOperation, reopen } from "../redrive/change-operation.ts";
import { listStarted, readOperation, requireOperation } from "../redrive/operation.ts";
import { planOf } from "../redrive/plan.ts";
import { archiveOf } from "../redrive/purge.ts";
import { sendAhead } from "../redrive/send.ts";
import { undoOperation } from "../redrive/undo.ts";
import { continueRedrive } from "../run/retry.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import type { Context } from "./context.ts";
import { type Duration, duration, type Shape, signal } from "./values.ts";

/** A change of many letters. `selected` is always the sum of done, refused and remaining letters. */
export interface Operation {
  readonly id: string;
  readonly kind: OperationKind;
  readonly queue: string;
  readonly status: OperationStatus;
  readonly selected: number;
  /** Changed letters. For a redrive: letters that were sent back, regardless of the outcome. */
  readonly done: number;
  /** Letters that were not changed. `operations.refusals(id)` returns the reasons. */
  readonly refused: number;
  /** For a redrive: letters whose new attempts succeeded or failed. */
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
  readonly createdAt: Date;
  readonly endedAt?: Date;
  readonly author: string;
  readonly reason?: string;
  /** The operation that this one undoes. */
  readonly undoes?: string;
  /** The letter that failed again and stopped the canary. */
  readonly stoppedBy?: { readonly id: string; readonly signature: string };
  /** The file to which a purge has archived its letters. */
  readonly archive?: string;
}

export function operationOf(operation: StoredOperation): Operation {
  const { id, kind, queue, status, selected, done, refused, succeeded, failed, author } = operation;
  const returned = returnedOf(operation);
  return {
    ...{ id, kind, queue, status, selected, done, refused, succeeded, failed, author },
    remaining: leftOf(operation),
    createdAt: new Date(operation.createdAt),
    ...compact({
      endedAt: operation.endedAt === undefined ? undefined : new Date(operation.endedAt),
      reason: operation.reason,
      undoes: operation.undoes,
      stoppedBy: returned ? { id: returned.itemId, signature: returned.signature } : undefined,
      archive: archiveOf(operation)?.path,
    }),
  };
}

/** How long to wait for the end of an operation. */
export interface OperationWait {
  /** Rejects with `wait_timeout` after this time. Default: no limit. */
  readonly timeout?: Duration;
  /** Rejects with `interrupted` when it is aborted. */
  readonly signal?: AbortSignal;
}

const listOptions = z.strictObject({ queue: t.name.optional(), open: t.flag.optional() });
const waitOptions = z.strictObject({
  timeout: duration.optional(),
  signal: signal.optional(),
} satisfies Shape<OperationWait>);

const POLL_MS_MAX = 1000;

/** The operations of a store. */
export class Operations {
  readonly #context: Context;

  /** @internal */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Finds an operation by its id or a prefix of it. Throws `operation_not_found`. */
  async get(id: string): Promise<Operation> {
    return operationOf(await this.#require(id, "operations.get"));
  }

  /**
   * Lists operations, oldest first. `open` selects those that have not ended (true) or have ended (false).
   */
  async list(
    options: { readonly queue?: string; readonly open?: boolean } = {},
  ): Promise<readonly Operation[]> {
    const given = t.parseInput(listOptions, options, { caller: "operations.list", name: "options" });
    return (await listStarted(this.#context.engine, compact(given))).map(operationOf);
  }

  /** Why letters were refused, most frequent first. */
  async refusals(id: string): Promise<readonly { readonly reason: string; readonly count: number }[]> {
    const operation = await this.#require(id, "operations.refusals");
    return this.#context.engine.listRefusals(operation.id);
  }

  /** Pauses an operation: it takes no more letters. Running items finish. */
  async pause(id: string): Promise<Operation> {
    const operation = await this.#require(id, "operations.pause");
    return operationOf(await pauseOperation(this.#context.engine, operation));
  }

  /**
   * Resumes an operation and finishes it, even if another process started it. A redrive sends all its
   * letters; with a canary it sends the next stage and waits for its outcome.
   */
  async resume(id: string): Promise<Operation> {
    const { engine, home, clock, author } = this.#context;
    const operation = await reopen(engine, await this.#require(id, "operations.resume"));
    if (operation.endedAt !== undefined) return operationOf(operation);
    if (operation.kind === "redrive" && planOf(operation).canary) {
      const stop = new AbortController().signal;
      return operationOf(await continueRedrive({ engine, home, clock, author, stop }, operation));
    }
    if (operation.kind === "redrive")
      return operationOf(await sendAhead(operation, engine, new StoreRetry(STORE_WAIT_MS, clock)));
    return operationOf(await finishOperation({ engine, home }, operation));
  }

  /** Cancels an operation. Letters that it has not processed stay unchanged. */
  async cancel(id: string): Promise<Operation> {
    const operation = await this.#require(id, "operations.cancel");
    return operationOf(await cancelOperation(this.#context.engine, operation));
  }

  /**
   * Undoes an edit, a discard, a restore or an archived purge. Returns the number of letters that were
   * restored.
   */
  async undo(id: string): Promise<number> {
    const { engine, author } = this.#context;
    const undone = await undoOperation(engine, await this.#require(id, "operations.undo"), { author });
    if (undone.by === "operation") return undone.operation.done;
    return undone.report.imported + undone.report.extended;
  }

  /** Waits until the operation has ended. */
  async wait(id: string, options: OperationWait = {}): Promise<Operation> {
    const given = t.parseInput(waitOptions, options, { caller: "operations.wait", name: "options" });
    const operation = await this.#require(id, "operations.wait");
    const abort = given.signal as AbortSignal | undefined;
    return untilEnded(this.#context, operation.id, { timeoutMs: given.timeout, signal: abort });
  }

  async #require(id: string, caller: string): Promise<StoredOperation> {
    t.checkInput(t.name, id, { caller, name: "id" });
    return requireOperation(this.#context.engine, id);
  }
}

const STORE_WAIT_MS = 30_000;

/** Polls until the operation has ended. */
export async function untilEnded(
  { engine, clock }: Context,
  id: string,
  wait: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<Operation> {
  const endsAt = clock.now() + (wait.timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let pollMs = 20; ; pollMs = Math.min(POLL_MS_MAX, pollMs * 2)) {
    const operation = await readOperation(engine, id);
    if (operation.endedAt !== undefined) return operationOf(operation);
    if (wait.signal?.aborted)
      throw new RedriveError("interrupted", `The wait for ${id} was aborted. The operation continues.`);
    const leftMs = endsAt - clock.now();
    if (leftMs <= 0)
      throw new RedriveError("wait_timeout", `The operation ${id} did not end within the given time.`, {
        hint: "The operation continues. Check that a worker of its queue is running.",
      });
    await clock.sleep(Math.min(pollMs, leftMs), wait.signal);
  }
}
