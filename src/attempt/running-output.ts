/**
 * Where the output of a running process is, for `redrive logs` in another process: a small file beside the output files.
 * It is written for processes that run for longer than a moment and removed when they end.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** One running process of an attempt or of a phase. */
export interface RunningOutput {
  /** The log that its output is moved to when it ends. It identifies the attempt. */
  readonly log: string;
  readonly stdout: string;
  readonly stderr: string;
  /** The beginning of the title that the log gives it; absent for the command of a map. */
  readonly title?: string;
  /** Its standard output is an agent's stream of JSON, and the log has another text. */
  readonly isStream?: boolean;
}

const SUFFIX = ".running.json";

/** Writes the record. The disk may refuse it: then the output is seen when the attempt has ended. */
export function publish(output: RunningOutput): boolean {
  try {
    writeFileSync(`${output.stdout}${SUFFIX}`, JSON.stringify(output), { mode: 0o600 });
    return true;
  } catch {
    return false; // tried again at the next tick
  }
}

export function withdraw({ stdout }: RunningOutput): void {
  rmSync(`${stdout}${SUFFIX}`, { force: true });
}

/** The records below a job's folder of running attempts; killed runners may have left some of attempts that ended. */
export function readRunning(runningFolder: string): RunningOutput[] {
  return namesIn(runningFolder).flatMap((run) =>
    namesIn(join(runningFolder, run))
      .filter((name) => name.endsWith(SUFFIX))
      .flatMap((name) => readRecord(join(runningFolder, run, name))),
  );
}

/** Whether the process still runs: what was read from its files before was its own output. */
export function isPublished(output: RunningOutput): boolean {
  return readRecord(`${output.stdout}${SUFFIX}`).some(({ log }) => log === output.log);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return []; // nothing has run yet, or the run has just ended
  }
}

function readRecord(path: string): RunningOutput[] {
  try {
    return [JSON.parse(readFileSync(path, "utf8")) as RunningOutput];
  } catch {
    return []; // removed meanwhile, or not yet written to its end
  }
}
