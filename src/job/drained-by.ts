/** A worker that ends when a signal says so: it takes nothing more, and what runs comes to its own end. */
import type { Worker } from "../queue/worker.ts";
import type { RunResult } from "../runner/runner.ts";

/** Resolves with how the worker ended. */
export async function drainedBy(signal: AbortSignal | undefined, worker: Worker): Promise<RunResult> {
  const onDrain = () => void worker.drain().catch(() => undefined); // `ended` is where it is heard
  if (signal?.aborted) onDrain();
  signal?.addEventListener("abort", onDrain, { once: true });
  return worker.ended.finally(() => signal?.removeEventListener("abort", onDrain));
}
