/**
 * The words of starting a command: what is asked for, and what is known when it has ended. Both launchers
 * (native and spawn) speak them; nothing here runs anything.
 */

export interface LaunchSpec {
  /** The command and its arguments, never seen by a shell. The first is looked up in PATH. */
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Added to the runner's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Uint8Array;
  /** Absolute, in a folder that is there. What an earlier launch left at the path is removed first. */
  readonly stdoutPath: string;
  /** Another path than `stdoutPath`. */
  readonly stderrPath: string;
  /**
   * Leaves an output file that stayed empty at its path, for the next launch with the same paths, unless a process
   * still writes to it. Saves a tenth of a short command's time when each slot has its own pair of paths. Default false.
   */
  readonly keepEmptyFiles?: boolean;
}

export interface Captured {
  readonly bytes: number;
  /** The whole content when it was small; its file is gone then, as that of empty output is. */
  readonly inline?: Buffer;
}

/**
 * What stood in the way when a command did not start: the command or what it was given (a NUL in an argument, too
 * much input), its folder, or the runner's own means (files, processes, memory), which is never the item's fault.
 */
export type StartStage = "command" | "cwd" | "runner";

export interface Ended {
  /** Null when a signal ended it or it never started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | string | null;
  /** The errno's name when the command could not be started: ENOENT, EACCES, E2BIG, ENOEXEC, ENOTDIR… */
  readonly startError?: string;
  /** Set with `startError`. */
  readonly startStage?: StartStage;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
}

export interface Launched {
  /** Never rejects. */
  readonly ended: Promise<Ended>;
  /** TERM to the whole tree, KILL after `graceMs`. Resolves when nothing of it is left. */
  end(graceMs: number): Promise<void>;
}

export interface Launcher {
  readonly kind: "native" | "spawn";
  launch(spec: LaunchSpec): Launched;
  /** Ends whatever still runs, also what commands left behind, and resolves when it is gone. */
  close(): Promise<void>;
}

/** Set in the environment of every launch, so that a process which left its group and session is still found. */
export const LAUNCH_ID_VARIABLE = "REDRIVE_LAUNCH_ID";

/** Output up to this size is handed over in memory. */
export const INLINE_BYTES_MAX = 8192;

/** How long processes may take to heed TERM when their launcher closes. */
export const CLOSE_GRACE_MS = 2000;

/** The launcher process died under its launches: the runner's own fault, not the item's. */
export const LAUNCHER_LOST = "ELAUNCHER";

const NOTHING: Captured = { bytes: 0 };

export function notStarted(startError: string, startStage: StartStage): Ended {
  return {
    exitCode: null,
    signal: null,
    startError,
    startStage,
    stdout: NOTHING,
    stderr: NOTHING,
    durationMs: 0,
  };
}
