/** Runs a function that may ignore its signal: when the time is over, it is abandoned. */
import { formatDuration } from "./duration.ts";

/** Ends as the action does, or with `late`. Its signal is aborted with the given one, and when the time is over. */
export async function withTimeout<T>(
  action: (signal: AbortSignal) => Promise<T>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
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
    acting.catch(() => undefined); // a late error is ignored
  }
}
