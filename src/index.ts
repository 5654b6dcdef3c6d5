/** The public API of Redrive: `open` and what it returns. `redrive/engine` and `redrive/triage` have the low-level parts. */

export { type ErrorCode, RedriveError } from "./errors.ts";
export type { Added, AddOptions, NewItem, Refused, ResultOptions } from "./library/add.ts";
export type { Letter, LetterFailure, LetterGroup } from "./library/letter.ts";
export type { LetterFilter } from "./library/letter-filter.ts";
export type { ChangeOptions, EditFunction, EditRecipe, LetterPage, Letters } from "./library/letters.ts";
export type { MapHandler, MapOptions, MapResult } from "./library/map.ts";
export type { HandlerMiddleware, Middleware } from "./library/middleware.ts";
export { type OpenOptions, open } from "./library/open.ts";
export type { Operation, Operations } from "./library/operations.ts";
export type { Queue } from "./library/queue.ts";
export type { BreakerOptions, QueueOptions } from "./library/queue-options.ts";
export type { Redrive } from "./library/redrive.ts";
export type { WorkedItem, WorkerEvents } from "./library/reporter.ts";
export type { RetryOptions } from "./library/retry-letters.ts";
export type { StandardSchemaV1 } from "./library/standard-schema.ts";
export type { Task, TaskHandler } from "./library/task.ts";
export type { Backoff, Duration, Rate, Time } from "./library/values.ts";
export type { BatchOptions, WorkOptions } from "./library/work-options.ts";
export type { Worker, WorkSummary } from "./library/worker.ts";
export { BusinessException, GenericException, ITException, PermanentError } from "./retry/thrown.ts";
export type { Json } from "./std/json.ts";
