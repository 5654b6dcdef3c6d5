/** The contract of launchers: how to start a command, and the result when it has ended. */

export interface LaunchSpec {
  /** The command and its arguments, run without a shell. The program is looked up in PATH. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Uint8Array;
  /**
   * Absolute path in an existing folder, for output that is large or that arrives long before the end. A file
   * of an earlier launch is removed first.
   */
  readonly stdoutPath: string;
  /** Must differ from `stdoutPath`. */
  readonly stderrPath: string;
  /** Also keeps the files of small outputs, so that they can be read if this process is killed. The caller removes them. */
  readonly keepFiles?: boolean;
  /** Only for a launcher with `canQueue`. Default: the command starts immediately. */
  readonly queued?: QueuedLaunch | undefined;
}

/** A command that waits in the launcher until fewer than `limit` commands of this kind run. */
export interface QueuedLaunch {
  readonly limit: number;
  /** The number of the record in the marks file that is written before the command starts. */
  readonly mark: number;
  readonly ref: number;
  readonly attempt: number;
  /** The command does not start after this time, because the lease may have expired by then. */
  readonly startWithinMs: number;
  /** Called when the command has started. */
  readonly onStarted: () => void;
}

export interface Captured {
  readonly bytes: number;
  /** The whole content when it is small. The files of small and empty outputs are removed. */
  readonly inline?: Buffer;
}

/**
 * Why a command could not start. `runner` means a shortage of files, processes or memory, never a fault of
 * the item. It is also set for a command that started but failed because its output could not be written.
 */
export type StartStage = "command" | "cwd" | "runner";

export interface Ended {
  /** Null when the process was killed by a signal or never started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | string | null;
  /** The errno when the command could not be started: ENOENT, EACCES, E2BIG, ENOEXEC, ENOTDIR… */
  readonly startError?: string;
  readonly startStage?: StartStage;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
  /** Whether the command wrote its result, notes or a failure report. Absent: unknown. */
  readonly hasReports?: boolean;
}

export interface Launched {
  /** Never rejects. */
  readonly ended: Promise<Ended>;
  /** Sends TERM to the whole tree, and KILL after `graceMs`. Resolves when all processes have ended. */
  end(graceMs: number): Promise<void>;
}

export interface Launcher {
  readonly kind: "native" | "spawn";
  /** Whether commands can wait in the launcher. */
  readonly canQueue: boolean;
  launch(spec: LaunchSpec): Launched;
  /** The existing file in which the launcher marks queued commands as started. */
  setMarksFile(path: string): void;
  /** Recalls all queued commands that have not started. They end with `NOT_STARTED`. */
  recall(): void;
  /** Ends all running commands and their remaining processes, and resolves when that is done. */
  close(): Promise<void>;
}

/** Set in the environment of every launch, to find processes that left its process group and session. */
export const LAUNCH_ID_VARIABLE = "REDRIVE_LAUNCH_ID";

export const INLINE_BYTES_MAX = 8192;

/** The time between TERM and KILL when a launcher closes. */
export const CLOSE_GRACE_MS = 2000;

/** The launcher process died while commands were running: a fault of the runner, not of the item. */
export const LAUNCHER_LOST = "ELAUNCHER";

/** The start error of a queued command that was recalled before it started. */
export const NOT_STARTED = "ECANCELED";

export function notStarted(startError: string, startStage: StartStage): Ended {
  const nothing = { stdout: { bytes: 0 }, stderr: { bytes: 0 }, durationMs: 0 };
  return { exitCode: null, signal: null, startError, startStage, ...nothing };
}
