/** Middleware: functions around each attempt of a handler and each addition of items, for logging, tracing and context. */
import type { Json, JsonObject } from "../std/json.ts";
import type { Task } from "./task.ts";

/** Runs around each attempt. Calls `next` to continue, and returns or replaces the result. */
export type HandlerMiddleware = (task: Task<unknown>, next: () => Promise<unknown>) => unknown;

/** Runs around each call of `add` and `addMany`. Calls `next` to continue. */
export type AddMiddleware = (addition: Addition, next: () => Promise<void>) => Promise<void>;

/** The items of one call of `add` or `addMany`. */
export interface Addition {
  readonly queue: string;
  /** The valid items, with their keys if they have one. */
  readonly items: readonly { readonly key?: string; readonly data: Json }[];
  /**
   * Entries that a middleware sets are stored with each item, separately from its data. Handlers get them as
   * `task.context`.
   */
  readonly context: Record<string, Json>;
}

/** A middleware: a function around each attempt, or an object with functions around attempts and additions. */
export type Middleware =
  | HandlerMiddleware
  | { readonly handle?: HandlerMiddleware; readonly add?: AddMiddleware };

/** Runs the handler inside the middleware, outermost first. */
export async function throughMiddleware(
  all: readonly Middleware[],
  task: Task<unknown>,
  handler: () => unknown,
): Promise<unknown> {
  const layers = all.flatMap((one) => (typeof one === "function" ? one : (one.handle ?? [])));
  const run = async (index: number): Promise<unknown> => {
    const layer = layers[index];
    return layer === undefined ? handler() : layer(task, () => run(index + 1));
  };
  return run(0);
}

/** Adds items inside the middleware. `add` gets the context that the middleware has set, if any. */
export async function addThroughMiddleware<Added>(
  all: readonly Middleware[],
  { queue, items }: Pick<Addition, "queue" | "items">,
  add: (context: JsonObject | undefined) => Promise<Added>,
): Promise<Added> {
  const layers = all.flatMap((one) => (typeof one === "function" ? [] : (one.add ?? [])));
  if (layers.length === 0) return add(undefined);
  const context: Record<string, Json> = {};
  let adding: Promise<Added> | undefined;
  const run = async (index: number): Promise<void> => {
    const layer = layers[index];
    if (layer !== undefined) return layer({ queue, items, context }, () => run(index + 1));
    adding ??= add(Object.keys(context).length === 0 ? undefined : { ...context });
    await adding;
  };
  await run(0);
  if (adding === undefined)
    throw new Error(`A middleware of ${queue} did not call next, so nothing was added.`);
  return adding;
}
