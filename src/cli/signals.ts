/** Ctrl-C and other stop signals: the first one ends the run in order, the next one ends the process at once. */
import { systemClock } from "../std/clock.ts";

/** By convention 128 and the number of the signal. */
const SIGNAL_CODE = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof SIGNAL_CODE;

interface Listener {
  /** The exit code when a signal came; null when none did. */
  readonly exitCode: number | null;
  dispose(): void;
}

function listen(onSignal: (exitCode: number) => void): Listener {
  let first: number | null = null;
  const heard = (name: StopSignal) => {
    if (first !== null && name === "SIGHUP") return; // a closing terminal sends it twice, by the kernel and by the shell
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

/** `onSecond` is called right before the process ends and cannot wait for anything. */
export function listenForInterrupts(onFirst?: () => void, onSecond?: () => void): Interrupt {
  const controller = new AbortController();
  const listener = listen((code) => {
    // Launchers end the children of a process that is gone, and the next runner takes back its leases.
    if (controller.signal.aborted) {
      onSecond?.();
      return process.exit(code);
    }
    onFirst?.();
    controller.abort();
  });
  return Object.assign(listener, { signal: controller.signal });
}

/** Work that a signal ends. */
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
  /** Stops all queues, as when one of several cannot be processed. */
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
