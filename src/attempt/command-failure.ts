/** How the command of a map is named in its failures, and the one failure that it has without running. */
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { AttemptContext } from "./handler.ts";

/** A variable of the command that this item cannot fill: trying again would not help. */
export function unfillable(
  item: LeasedItem,
  context: AttemptContext,
  message: string,
  { command, now }: { readonly command: readonly string[]; readonly now: () => number },
): Failure {
  return {
    attemptNumber: item.attempt,
    timestamp: now(),
    errorType: { name: "ValidationFailed" },
    errorClass: "permanent",
    errorMessage: message,
    agentId: context.agentId,
    stepFailed: commandStep(command),
    durationMs: 0,
  };
}

const LINE_CHARS_MAX = 500;

/** The command as it could be typed, for people to read. */
export function commandStep(argv: readonly string[]): string {
  const line = argv
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
  return `command: ${line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line}`;
}

/** What a failure is called after: the program, and its first plain argument when it has a subcommand. */
export function commandName(argv: readonly string[]): string {
  const [program = "", first] = argv;
  const name = program.split("/").at(-1) ?? program;
  return first !== undefined && /^[a-z][a-z-]*$/.test(first) ? `${name} ${first}` : name;
}
