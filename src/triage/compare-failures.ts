/** Compares two failed attempts: the facts that changed, and the output lines that only one of them printed. Pure. */
import type { Failure } from "../item/failure.ts";
import { normalise } from "./normalise.ts";

/** A fact that changed; an empty text means that the fact is absent. */
export type ChangedFact = { readonly name: string; readonly before: string; readonly after: string };

/** The facts in which two failures differ. */
export interface FailureDifference {
  readonly facts: readonly ChangedFact[];
  /** Output lines that only one attempt printed. Lines that differ only in numbers and times are equal. */
  readonly goneLines: readonly string[];
  readonly newLines: readonly string[];
}

/** Lists the facts in which two failures differ. */
export function compareFailures(before: Failure, after: Failure): FailureDifference {
  const facts = FACTS.map(([name, read]) => ({ name, before: read(before), after: read(after) }));
  const [old, now] = [linesOf(before), linesOf(after)];
  return {
    facts: facts.filter(isOther),
    goneLines: onlyIn(old, now),
    newLines: onlyIn(now, old),
  };
}

/** Whether the fact changed. Messages that differ only in numbers and times are equal; other facts must be identical. */
function isOther({ name, before, after }: ChangedFact): boolean {
  return name === "message" ? normalise(before) !== normalise(after) : before !== after;
}

const FACTS: readonly (readonly [name: string, read: (failure: Failure) => string])[] = [
  ["type", ({ errorType }) => errorType.name],
  ["class", ({ errorClass }) => errorClass],
  ["exit code", ({ exitCode }) => String(exitCode ?? "")],
  ["signal", ({ signal }) => signal ?? ""],
  ["step", ({ stepFailed }) => stepFailed],
  ["message", ({ errorMessage }) => errorMessage],
];

function linesOf({ stdoutTail = "", stderrTail = "" }: Failure): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const line of `${stdoutTail}\n${stderrTail}`.split("\n")) {
    if (line.trim() === "") continue;
    const pattern = normalise(line);
    if (!lines.has(pattern)) lines.set(pattern, line);
  }
  return lines;
}

function onlyIn(lines: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): readonly string[] {
  return [...lines].filter(([pattern]) => !others.has(pattern)).map(([, line]) => line);
}
