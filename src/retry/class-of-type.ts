/** What a failure's type says about trying again, where nothing more is known about it. One table. */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";

/** The class of each type. */
export const CLASS_OF_TYPE: Readonly<Record<ErrorTypeName, ErrorClass>> = {
  Timeout: "transient",
  CommandFailed: "unknown",
  WorktreeError: "transient",
  MergeConflict: "unknown",
  ValidationFailed: "unknown", // an agent may do better in its next attempt
  CommitValidationFailed: "unknown", // an agent may well commit the next time
  PermissionError: "permanent",
  ResourceExhausted: "transient",
  WorkerLost: "transient", // it may be the machine's fault; `decide` counts how often
  ClientError: "permanent",
  RateLimited: "throttled",
  ServerError: "transient",
  TransportError: "transient",
  BusinessException: "permanent",
  ITException: "transient",
  GenericException: "unknown",
  Unknown: "unknown",
};
