/** The whole public surface of Redrive. */

export type { AttemptContext, Handler } from "./attempt/handler.ts";
// Dead letters
export { type AgentResult, agentResultToDlqItem } from "./dead-letter/agent-result.ts";
export type {
  AddReport,
  Engine,
  EventQuery,
  Exchange,
  Exchanged,
  Holder,
  LetterFilter,
  LetterGroup,
  LetterPage,
  LetterQuery,
  Operation,
  Problem,
  QueueCounts,
  StoreInfo,
} from "./engine.ts";
export { openStore } from "./engines/open.ts";
export { ERROR_CODES, type ErrorCode, WorkError } from "./errors.ts";
// Running
export { INPUT_FORMATS, type InputFormat } from "./intake/format.ts";
export { type InputSource, readItems } from "./intake/read-items.ts";
// The nouns
export {
  ERROR_CLASSES,
  ERROR_TYPE_NAMES,
  type ErrorClass,
  type ErrorType,
  type ErrorTypeName,
} from "./item/error-type.ts";
export { EVENT_TYPES, type Event, type EventType, eventToJson } from "./item/event.ts";
export { type Failure, failureFromJson, failureToJson } from "./item/failure.ts";
export type { Attempt, Item, LeasedItem, NewItem, Settlement, Verdict } from "./item/item.ts";
export type { Job, JobStatus } from "./item/job.ts";
export {
  type Evidence,
  type Letter,
  letterFromJson,
  letterToJson,
  type WorktreeArtifacts,
} from "./item/letter.ts";
export type { Outcome } from "./item/outcome.ts";
export { ITEM_STATES, type ItemState, MOVES } from "./item/state.ts";
export { requireJob } from "./job/find-job.ts";
export { homeOf, jobLogs, storeUrlOf } from "./job/home.ts";
export { type MapOptions, type MapResult, startMap } from "./job/map.ts";
export { DEFAULT_GRACE_MS, type MapInput, type MapSpec } from "./job/map-spec.ts";
export { type ResumeOptions, resumeJob } from "./job/resume.ts";
export { type RetryOptions, retryLetters } from "./job/retry.ts";
export type { RunDeps } from "./job/run-job.ts";
export { type JobSummary, statusOf, summarise, summaryToJson } from "./job/summary.ts";
export { operationToJson } from "./redrive/operation.ts";
export { parseBackoff } from "./retry/backoff.ts";
export { decide } from "./retry/decide.ts";
export {
  type Backoff,
  type BreakerPolicy,
  DEFAULT_BREAKER,
  DEFAULT_POLICY,
  type OnItemFailure,
  type Policy,
} from "./retry/policy.ts";
export {
  type Feed,
  type RunObserver,
  /** What is worked and how. */
  type RunOptions,
  /** How a run ended. */
  type RunResult,
  runQueue,
} from "./runner/runner.ts";
export { type Signature, signatureOf } from "./triage/signature.ts";
