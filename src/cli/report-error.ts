/** What a person or a script gets when a command fails: a sentence and a hint, or one JSON document, and the exit code. */
import { CommanderError } from "commander";
import { WorkError } from "../errors.ts";
import type { Terminal } from "./context.ts";
import { EXIT, EXIT_CODE } from "./exit-code.ts";

/** Prints one error in the form that was asked for, and returns its exit code. */
export function reportError(error: unknown, { stdout, stderr }: Terminal, isJson: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done; // help and version were printed
  if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage; // help was printed instead
  const failure = asWorkError(error);
  const { code, message, hint } = failure;
  if (isJson)
    stdout.write(`${JSON.stringify({ error: { code, message, ...(hint && { hint }) } }, null, 2)}\n`);
  else stderr.write(`redrive: ${message}\n${hint ? `  ${hint}\n` : ""}`);
  return EXIT_CODE[code];
}

function asWorkError(error: unknown): WorkError {
  if (error instanceof WorkError) return error;
  if (error instanceof CommanderError) {
    const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
    return new WorkError("usage", message, { hint: more.join(" ") || usageHint(error.code) });
  }
  if (isSqliteError(error)) {
    return new WorkError("store_corrupt", `The store does not keep its own rules: ${error.message}.`, {
      hint: "Run `redrive store check`: it lists what is wrong.",
      cause: error,
    });
  }
  throw error; // a bug of ours: let it crash with its stack
}

/** What the engine has no meaning for, such as a rule of the schema that damaged rows break. */
function isSqliteError(error: unknown): error is Error {
  return error instanceof Error && Reflect.get(error, "code") === "ERR_SQLITE_ERROR";
}

function usageHint(code: string): string {
  if (code === "commander.unknownOption") {
    return "Options come after the command they belong to: `redrive COMMAND --help` shows them.";
  }
  if (code === "commander.excessArguments") {
    return "There is no command of that name, or it takes fewer words: `redrive COMMAND --help` shows both.";
  }
  return "`redrive --help` shows every command, `redrive COMMAND --help` its options.";
}
