/**
 * The log of an attempt, to which each of its steps adds a section in turn:
 *
 *   == step 2: shell: cargo test (exit 101, 1.2 s) ==
 *   == stdout (12 bytes) ==
 *   …
 */
import { type KeepOutputOptions, type KeptOutput, keepOrExplain } from "../attempt/capture.ts";
import type { Ended } from "../attempt/launch.ts";
import { writeLog } from "../attempt/output.ts";
import { formatDuration } from "../std/duration.ts";
import type { At } from "./step-context.ts";

export function logProcess(
  at: At,
  output: Pick<KeepOutputOptions, "ended" | "cuts" | "stdoutPath" | "stderrPath">,
  titles: readonly string[],
): Promise<KeptOutput> {
  const { run } = at;
  const { logPath } = run.context;
  return run.inTurn(async () => {
    const kept = await keepOrExplain({ ...output, logPath, titles, mask: run.maskChunk, keepFiles: true });
    run.hasLog ||= kept.log !== undefined;
    return kept;
  });
}

/** Adds a line about a step that has no process. A log that cannot be written is no reason to fail. */
export function logLine(at: At, what: string): Promise<void> {
  const { run } = at;
  return run.inTurn(async () => {
    try {
      await writeLog(run.context.logPath, [], { titles: [titleOf(at, what)] });
      run.hasLog = true;
    } catch {
      // The failure of the step, if it fails, says what is needed without it.
    }
  });
}

/** `step 2: shell: cargo test (exit 101, 1.2 s)`; while it runs, without the end. */
export function titleOf(at: At, what?: string): string {
  const title = `${at.path.join(" > ")}: ${at.label}`;
  return what === undefined ? title : `${title} (${what})`;
}

export function endText({ exitCode, signal, startError, durationMs }: Ended): string {
  const ended = signal ? `killed by ${signal}` : `exit ${exitCode}`;
  return `${startError === undefined ? ended : `not started: ${startError}`}, ${formatDuration(durationMs)}`;
}
