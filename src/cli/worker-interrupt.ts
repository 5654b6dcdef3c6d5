/**
 * How a worker is told to end: the first signal drains it, within a time; the second ends what runs and gives it back; the
 * third leaves at once, and what it held comes back by other workers.
 */
import { systemClock } from "../kit/clock.ts";

const SIGNAL_CODE = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type EndSignal = keyof typeof SIGNAL_CODE;

export interface WorkerInterrupt {
  readonly drain: AbortSignal;
  readonly stop: AbortSignal;
  /** The exit code when a signal came; null when none did. */
  readonly exitCode: number | null;
  /** Ends the others too, as when one of several queues cannot be worked. */
  end(): void;
  dispose(): void;
}

export function listenForWorker(
  drainMs: number,
  onSignal: (step: "drain" | "stop" | "leave") => void,
): WorkerInterrupt {
  const [drain, stop] = [new AbortController(), new AbortController()];
  let exitCode: number | null = null;
  let cancel: (() => void) | undefined;
  const heard = (name: EndSignal) => {
    if (exitCode !== null && name === "SIGHUP") return; // a terminal that closes sends it twice: nobody asked again
    if (stop.signal.aborted) {
      onSignal("leave");
      return process.exit(SIGNAL_CODE[name]);
    }
    exitCode ??= SIGNAL_CODE[name];
    const step = drain.signal.aborted ? "stop" : "drain";
    onSignal(step);
    if (step === "stop") return stop.abort();
    cancel = systemClock.after(drainMs, () => stop.abort());
    drain.abort();
  };
  const names = Object.keys(SIGNAL_CODE) as EndSignal[];
  for (const name of names) process.on(name, heard);
  return {
    drain: drain.signal,
    stop: stop.signal,
    get exitCode() {
      return exitCode;
    },
    end: () => stop.abort(),
    dispose: () => {
      cancel?.();
      for (const name of names) process.off(name, heard);
    },
  };
}
