/** What steps that handle a failure see of it, as `${error.…}`. Every field is there, whatever kind of failure it was. */
import type { Failure } from "../item/failure.ts";
import type { Json } from "../kit/json.ts";
import type { ERROR_FIELDS } from "./known-variables.ts";

/** The value of `error`. */
export function errorVariable(failure: Failure): Record<(typeof ERROR_FIELDS)[number], Json> {
  return {
    type: failure.errorType.name,
    message: failure.errorMessage,
    step: failure.stepFailed,
    exit_code: failure.exitCode ?? null,
    stderr: failure.stderrTail ?? "",
    stdout: failure.stdoutTail ?? "",
  };
}
