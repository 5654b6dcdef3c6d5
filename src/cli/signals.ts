/** Ctrl-C and its relatives: the first asks the run to end and give back what it holds, the second ends it at once. */
import { systemClock } from "../std/clock.ts";

/** What a process that a signal ended answers, by convention 128 and its number. */
const SIGNAL_CODE = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof SIGNAL_CODE;

export interface Interrupt {
  readonly signal: AbortSignal;
  /** The exit code when a signal came; null when none did. */
  readonly exitCode: number | null;
  dispose(): void;
}

/** `onSecond` is called right before the process ends, and cannot wait for anything. */
export function listenForInterrupts(onFirst: () => void, onSecond: () => void = () => undefined): Interrupt {
  const controller = new AbortController();
  let exitCode: number | null = null;
  const heard = (name: StopSignal) => {
    // A terminal that closes sends its signal twice, by the kernel and by the shell: nobody asked again.
    if (exitCode !== null && name === "SIGHUP") return;
    // Children are ended by their launcher when this process is gone; leases come back by the next runner.
    if (exitCode !== null) {
      onSecond();
      return process.exit(SIGNAL_CODE[name]);
    }
    exitCode = SIGNAL_CODE[name];
    onFirst();
    controller.abort();
  };
  const names = Object.keys(SIGNAL_CODE) as StopSignal[];
  for (const name of names) process.on(name, heard);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    dispose: () => {
      for (const name of names) process.off(name, heard);
    },
  };
}

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
  const heard = (name: StopSignal) => {
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
  const names = Object.keys(SIGNAL_CODE) as StopSignal[];
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
