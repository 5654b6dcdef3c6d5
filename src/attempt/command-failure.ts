/** What is written down when a command failed: the signs are classified, the tails and the log are named. */
import { compact, type Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import { classify } from "../retry/classify.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import type { KeptOutput } from "./capture.ts";
import type { AttemptContext } from "./handler.ts";
import type { Ended } from "./launch.ts";

/** Why the attempt was ended before its command ended by itself. */
export type Cut = "timeout" | "stopped" | null;

/** What of the job a failure has to do with. */
export interface CommandFacts {
  readonly command: readonly string[];
  readonly timeoutMs?: number;
  readonly now: () => number;
}

/** Everything that is known when a command has ended. */
export interface CommandCase {
  readonly item: LeasedItem;
  readonly context: AttemptContext;
  readonly worker: CommandFacts;
  readonly ended: Ended;
  readonly kept: KeptOutput;
  readonly reported: ReportedFailure | undefined;
  readonly cut: Cut;
  readonly argv: readonly string[];
}

/** The record of a failed run of a command. */
export function commandFailure({
  item,
  context,
  worker,
  ended,
  kept,
  reported,
  cut,
  argv,
}: CommandCase): Failure {
  const step = commandLine(argv);
  const signs = compact({
    timedOutMs: cut === "timeout" ? worker.timeoutMs : undefined,
    exitCode: ended.exitCode ?? undefined,
    signal: ended.signal ?? undefined,
    startError: ended.startError,
    reported,
    stdoutTail: kept.stdoutTail,
    stderrTail: kept.stderrTail,
    command: commandName(worker.command),
  });
  const { errorType, errorClass, message } = classify(signs);
  return compact({
    attemptNumber: item.attempt,
    timestamp: worker.now(),
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: trailOf(reported, kept),
    stackTrace: reported?.stackTrace,
    agentId: context.agentId,
    stepFailed: `command: ${step}`,
    durationMs: Math.round(ended.durationMs),
    exitCode: ended.exitCode ?? undefined,
    signal: ended.signal ?? undefined,
    stdoutTail: kept.stdoutTail,
    stderrTail: kept.stderrTail,
    log: kept.log,
    evidence: reported?.evidence,
  });
}

function trailOf(reported: ReportedFailure | undefined, kept: KeptOutput): readonly string[] | undefined {
  const trail = [
    ...(reported?.context ?? []),
    ...(reported?.problem === undefined ? [] : [reported.problem]),
    ...(kept.logTrouble === undefined ? [] : [`the log could not be written: ${kept.logTrouble}`]),
  ];
  return trail.length === 0 ? undefined : trail;
}

/** A variable of the command that this item cannot fill: trying again would not help. */
export function unfillable(
  item: LeasedItem,
  context: AttemptContext,
  message: string,
  worker: CommandFacts,
): Failure {
  return {
    attemptNumber: item.attempt,
    timestamp: worker.now(),
    errorType: { name: "ValidationFailed" },
    errorClass: "permanent",
    errorMessage: message,
    agentId: context.agentId,
    stepFailed: `command: ${commandLine(worker.command)}`,
    durationMs: 0,
  };
}

const LINE_CHARS_MAX = 500;

/** The command as it could be typed, for people to read. */
function commandLine(argv: readonly string[]): string {
  const line = argv
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
  return line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line;
}

/** What a failure is called after: the program, and its first plain argument when it has a subcommand. */
function commandName(argv: readonly string[]): string {
  const [program = "", first] = argv;
  const name = program.split("/").at(-1) ?? program;
  return first !== undefined && /^[a-z][a-z-]*$/.test(first) ? `${name} ${first}` : name;
}
