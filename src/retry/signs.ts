/** What `classify` looks at, and what it answers. Nouns only. */
import type { ErrorClass, ErrorType, ErrorTypeName } from "../item/error-type.ts";
import type { JsonObject } from "../kit/json.ts";
import type { ReportedFailure } from "./reported-failure.ts";

/** Everything that is known about a failed try. All of it is optional; more is better. */
export interface Signs {
  /** The time limit that was exceeded. */
  readonly timedOutMs?: number;
  readonly exitCode?: number;
  /** The signal that ended the command, e.g. `SIGKILL`. */
  readonly signal?: string;
  /** The errno name with which the command could not be started, e.g. `ENOENT`. */
  readonly startError?: string;
  /** The errno name of an error that a function threw, e.g. `ECONNRESET`. */
  readonly errno?: string;
  /** What the command wrote into the file that REDRIVE_FAILURE_FILE names. */
  readonly reported?: ReportedFailure;
  readonly httpStatus?: number;
  readonly jsonRpcCode?: number;
  readonly stderrTail?: string;
  readonly stdoutTail?: string;
  /** How the command is shown to people, e.g. `cargo test`. */
  readonly command?: string;
  /** A message that is there already, such as that of a thrown error. */
  readonly message?: string;
}

/** What `classify` answers. */
export interface Classified {
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  /** One readable line. */
  readonly message: string;
}

/** What a sign says. The class is absent where the type's own class holds. */
export interface Kind {
  readonly name: ErrorTypeName;
  readonly errorClass?: ErrorClass;
  readonly fields?: JsonObject;
}
