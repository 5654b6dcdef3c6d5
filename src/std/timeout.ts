/** Runs a function with a time limit. A function that ignores its signal is abandoned. */
import { formatDuration } from "./duration.ts";

/** Returns the action's result, or `late`. The action's signal aborts with the given one or at the time limit. */
export async function withTimeout<T>(
  action: (signal: AbortSignal) => Promise<T>,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<T | "late"> {
  const controller = new AbortController();
  const onStop = () => controller.abort(signal.reason);
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => {
      resolve("late");
      controller.abort(new Error(`it took longer than ${formatDuration(timeoutMs)}`));
    }, timeoutMs);
  });
  const acting = action(controller.signal);
  try {
    return await Promise.race([acting, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onStop);
    acting.catch(() => undefined); // ignores an error after the time limit
  }
}
