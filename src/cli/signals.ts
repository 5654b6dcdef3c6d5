/** Handles Ctrl-C and other stop signals: the first one stops gracefully, the next one ends the process immediately. */
import { systemClock } from "../std/clock.ts";

/** Exit codes: by convention, 128 plus the signal number. */
const SIGNAL_CODE = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof SIGNAL_CODE;

interface Listener {
  /** The exit code of the first signal; null before that. */
  readonly exitCode: number | null;
  dispose(): void;
}

function listen(onSignal: (exitCode: number) => void): Listener {
  let first: number | null = null;
  const heard = (name: StopSignal) => {
    if (first !== null && name === "SIGHUP") return; // sent twice when a terminal closes: by the kernel and the shell
    const code = SIGNAL_CODE[name];
    first ??= code;
    onSignal(code);
  };
  const names = Object.keys(SIGNAL_CODE) as StopSignal[];
  for (const name of names) process.on(name, heard);
  return {
    get exitCode() {
      return first;
    },
    dispose: () => {
      for (const name of names) process.off(name, heard);
    },
  };
}

export interface Interrupt extends Listener {
  readonly signal: AbortSignal;
}

/** Listens for signals. `onSecond` runs right before the process exits and must be synchronous. */
export function listenForInterrupts(onFirst?: () => void, onSecond?: () => void): Interrupt {
  const controller = new AbortController();
  const listener = listen((code) => {
    // Exiting is safe: launchers end the children of a dead process, and the next runner takes back its leases.
    if (controller.signal.aborted) {
      onSecond?.();
      return process.exit(code);
    }
    onFirst?.();
    controller.abort();
  });
  return Object.assign(listener, { signal: controller.signal });
}

export async function untilInterrupted<T>(
  work: (interrupt: Interrupt) => Promise<T>,
  onFirst?: () => void,
  onSecond?: () => void,
): Promise<T> {
  const interrupt = listenForInterrupts(onFirst, onSecond);
  try {
    return await work(interrupt);
  } finally {
    interrupt.dispose();
  }
}

export interface WorkerInterrupt extends Listener {
  readonly drain: AbortSignal;
  readonly stop: AbortSignal;
  /** Stops all queues, for example if one of several failed. */
  end(): void;
}

export function listenForWorker(
  drainMs: number,
  onSignal: (step: "drain" | "stop" | "leave") => void,
): WorkerInterrupt {
  const [drain, stop] = [new AbortController(), new AbortController()];
  let cancel: (() => void) | undefined;
  const listener = listen((code) => {
    if (stop.signal.aborted) {
      onSignal("leave");
      return process.exit(code);
    }
    const step = drain.signal.aborted ? "stop" : "drain";
    onSignal(step);
    if (step === "stop") return stop.abort();
    cancel = systemClock.after(drainMs, () => stop.abort());
    drain.abort();
  });
  const dispose = () => {
    cancel?.();
    listener.dispose();
  };
  return {
    get exitCode() {
      return listener.exitCode;
    },
    drain: drain.signal,
    stop: stop.signal,
    end: () => stop.abort(),
    dispose,
  };
}
