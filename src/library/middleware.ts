/** Middleware: functions around each attempt of a handler, for logging, tracing and context. */
import type { Task } from "./task.ts";

/** Runs around each attempt. Calls `next` to continue, and returns or replaces the result. */
export type HandlerMiddleware = (task: Task<unknown>, next: () => Promise<unknown>) => unknown;

/** A middleware: a function around each attempt, or an object with that function. */
export type Middleware = HandlerMiddleware | { readonly handle?: HandlerMiddleware };

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
