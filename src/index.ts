/**
 * The public API of Redrive: `open` and the types that it returns. `redrive/engine` and `redrive/triage`
 * export the low-level parts.
 */

export { type ErrorCode, RedriveError } from "./errors.ts";
export type { AgentUsage } from "./item/agent-usage.ts";
export type { Added, AddOptions, NewItem, Refused } from "./library/add.ts";
export type { BatchTask } from "./library/batch.ts";
export type { Group } from "./library/groups.ts";
export type { ErrorEntry, Event, EventQuery } from "./library/history.ts";
export type { Item } from "./library/item.ts";
export type { Job } from "./library/jobs.ts";
export type { Letter, LetterFailure } from "./library/letter.ts";
export type { LetterFilter } from "./library/letter-filter.ts";
export type { Letters } from "./library/letters.ts";
export type { MapOptions, MapResult } from "./library/map.ts";
export type { Middleware } from "./library/middleware.ts";
export { type OpenOptions, open } from "./library/open.ts";
export type { Operation } from "./library/operations.ts";
export type { Queue } from "./library/queue.ts";
export type { QueueOptions } from "./library/queue-options.ts";
export type { Redrive } from "./library/redrive.ts";
export type { WorkedItem, WorkerEvents } from "./library/reporter.ts";
export type { RetryOptions } from "./library/retry-letters.ts";
export type { StandardSchemaV1 } from "./library/standard-schema.ts";
export type { Task } from "./library/task.ts";
export type { Duration, Time } from "./library/values.ts";
export type { BatchOptions, WorkOptions } from "./library/work-options.ts";
export type { Worker, WorkSummary } from "./library/worker.ts";
export { BusinessException, GenericException, ITException, PermanentError } from "./retry/thrown.ts";
export type { Json } from "./std/json.ts";
