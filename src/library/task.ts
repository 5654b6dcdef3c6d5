/** The attempt that a handler receives, and the adapter from typed handlers to the runner's handlers. */
import type { AttemptContext, Handler } from "../attempt/handler.ts";
import type { LeasedItem } from "../item/item.ts";
import { itemHandler } from "../queue/queue.ts";
import { ValidationFailed } from "../retry/thrown.ts";
import type { Json, JsonObject } from "../std/json.ts";
import { type Middleware, throughMiddleware } from "./middleware.ts";
import { type StandardSchemaV1, validate } from "./standard-schema.ts";

/** One attempt at an item. All functions can be destructured. */
export interface Task<Data> {
  /** The key that the item was added with, or its generated id. */
  readonly id: string;
  readonly queue: string;
  /** The display name of the item. */
  readonly name?: string;
  readonly data: Data;
  /** The number of this attempt, from 1, counted over all redrives of the item. */
  readonly attempt: number;
  /** How often the item was redriven from the dead letter queue. */
  readonly redrives: number;
  /** Entries that middleware stored when the item was added, for example a trace context. */
  readonly context: JsonObject;
  /** When the item expires. */
  readonly expiresAt?: Date;
  /** Aborted when the worker stops, the attempt takes too long, or the lease is lost. */
  readonly signal: AbortSignal;
  /** Adds a note to the item, whatever the outcome is. */
  readonly note: (text: string) => void;
  /** Reports the progress of the attempt, a small JSON value. Listeners of `progress` get it, and the last one is stored. */
  readonly progress: (value: unknown) => void;
  /** Names a file as evidence. If the attempt fails, the failure records its digest, size and type. */
  readonly evidence: (path: string) => void;
}

/** Processes one item. Its return value becomes the result; if it throws, the attempt fails. */
export type TaskHandler<Data, Result> = (task: Task<Data>) => Result | Promise<Result>;

export interface HandlerPlan {
  readonly handler: (task: Task<unknown>) => unknown;
  readonly schema?: StandardSchemaV1 | undefined;
  readonly result?: StandardSchemaV1 | undefined;
  readonly use: readonly Middleware[];
  readonly timeoutMs?: number | undefined;
  readonly now: () => number;
  readonly onProgress: (item: LeasedItem, value: unknown) => void;
}

/** Adapts a typed handler: validates the data, runs the middleware and the handler, and validates the result. */
export function taskHandler(plan: HandlerPlan): Handler {
  const { handler, schema, result, use, timeoutMs, now, onProgress } = plan;
  const work = async (item: LeasedItem, context: AttemptContext) => {
    const data = await valid(schema, item.data, "The data does not match the schema");
    const progress = (value: unknown) => {
      context.progress(value as Json); // rejects values that cannot be stored
      onProgress(item, value);
    };
    const task = taskOf(item, context, { data, progress });
    const value = await throughMiddleware(use, task, () => handler(task));
    return valid(result, value, "The result does not match its schema");
  };
  return itemHandler(work, { timeoutMs, now });
}

async function valid(schema: StandardSchemaV1 | undefined, value: unknown, what: string): Promise<unknown> {
  if (schema === undefined) return value;
  const checked = await validate(schema, value);
  if (checked.ok) return checked.value;
  throw new ValidationFailed(`${what}: ${checked.problem}`);
}

export function taskOf(
  item: LeasedItem,
  context: AttemptContext,
  { data, progress }: Pick<Task<unknown>, "data" | "progress">,
): Task<unknown> {
  const { note, evidence } = context;
  return {
    id: item.itemId,
    queue: item.queue,
    ...(item.name !== undefined && { name: item.name }),
    data,
    attempt: item.attempt,
    redrives: item.redriveCount,
    context: item.context ?? {},
    ...(item.expiresAt !== undefined && { expiresAt: new Date(item.expiresAt) }),
    /** Creating a signal costs more than a short attempt, so it is created for those who read it. */
    get signal() {
      return context.signal;
    },
    note,
    progress,
    evidence,
  };
}
