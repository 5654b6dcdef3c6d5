/** The whole public surface of Redrive. */

export type { AttemptContext, Handler } from "./attempt/handler.ts";
// Dead letters
export { type AgentResult, agentResultToDlqItem } from "./dead-letter/agent-result.ts";
export { type Capsule, readCapsule, writeCapsule } from "./dead-letter/capsule.ts";
export { writeDirectory } from "./dead-letter/directory.ts";
export { readDirectory } from "./dead-letter/directory-reader.ts";
export {
  /** Where letters are written and how. */
  type ExportOptions,
  exportLetters,
} from "./dead-letter/exchange/export.ts";
export {
  EXPORT_FORMATS,
  type ExportFormat,
  IMPORT_FORMATS,
  type ImportFormat,
} from "./dead-letter/exchange/format.ts";
export {
  type Imported,
  /** Which job they go to and how they are read. */
  type ImportOptions,
  importLetters,
} from "./dead-letter/exchange/import.ts";
export type { FailureReport } from "./dead-letter/extend-letter.ts";
export { type LetterStats, letterStatsToJson, readLetterStats } from "./dead-letter/stats.ts";
export type {
  AddReport,
  Engine,
  EventQuery,
  Exchange,
  Exchanged,
  Holder,
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
export {
  type Correction,
  GROUP_STATES,
  type GroupFix,
  type GroupMark,
  type GroupState,
  groupMarkToJson,
} from "./item/group.ts";
export type { Attempt, Item, LeasedItem, NewItem, Settlement, Verdict } from "./item/item.ts";
export type { Job, JobStatus } from "./item/job.ts";
export {
  type Amendment,
  type Evidence,
  type Letter,
  type LetterNote,
  letterFromJson,
  letterToJson,
  RESOLUTION_KINDS,
  /** How a letter's story ended. */
  type Resolution,
  type ResolutionKind,
  type WorktreeArtifacts,
} from "./item/letter.ts";
export type { LetterFilter } from "./item/letter-filter.ts";
export {
  type Arrival,
  type ImportReport,
  LETTER_ORDERS,
  type LetterGroup,
  /** One of `LETTER_ORDERS`. */
  type LetterOrder,
  type LetterPage,
  type LetterQuery,
  type StoredLetter,
} from "./item/letter-query.ts";
export {
  OPERATION_KINDS,
  OPERATION_STATUSES,
  type Operation,
  type OperationKind,
  type OperationStatus,
  operationToJson,
} from "./item/operation.ts";
export type { Outcome } from "./item/outcome.ts";
export { ITEM_STATES, type ItemState, MOVES } from "./item/state.ts";
export {
  /** Which variables go into a capsule. */
  type CapsuleOptions,
  makeCapsule,
} from "./job/capsule.ts";
export {
  DlqManager,
  type DlqManagerOptions,
  type ListRequest,
  type ReprocessRequest,
} from "./job/dlq-manager.ts";
export { requireJob } from "./job/find-job.ts";
export { homeOf, jobLogs, storeUrlOf } from "./job/home.ts";
export type { DirectoryPlace } from "./job/letter-directory.ts";
export { type MapOptions, type MapResult, startMap } from "./job/map.ts";
export { DEFAULT_GRACE_MS, type MapInput, type MapSpec } from "./job/map-spec.ts";
export { mirrorAll, mirrorJob, refreshDirectory } from "./job/mirror.ts";
export { mirroring } from "./job/mirroring.ts";
export { type ResumeOptions, resumeJob } from "./job/resume.ts";
export { continueRedrive, detachLetters, type RetryOptions, retryLetters } from "./job/retry.ts";
export type { RunDeps } from "./job/run-job.ts";
export { type JobSummary, statusOf, summarise, summaryToJson } from "./job/summary.ts";
// Operations on many letters
export {
  continueEdit,
  /** Which letters are edited and how. */
  type EditRequest,
  editLetters,
} from "./redrive/amend.ts";
export { analyseSelected } from "./redrive/analyse-selected.ts";
export { mergeGroups, splitGroup } from "./redrive/correct-groups.ts";
export {
  continueDiscard,
  /** Which letters are given up and why. */
  type DiscardRequest,
  discardLetters,
  restoreLetters,
} from "./redrive/discard.ts";
export { explainGroup, explainLetter, explanationToJson } from "./redrive/explain-group.ts";
export { requireGroup } from "./redrive/find-group.ts";
export { type GroupSummary, groupToJson, listGroups } from "./redrive/groups.ts";
export type {
  /** How a redrive sends its letters. */
  RedrivePlan,
} from "./redrive/plan.ts";
export {
  archiveOf,
  continuePurge,
  /** Which letters are deleted and where they are archived. */
  type PurgeRequest,
  purgeLetters,
} from "./redrive/purge.ts";
export { rebuildGroups } from "./redrive/rebuild-groups.ts";
export type {
  /** How data is changed. */
  Recipe,
} from "./redrive/recipe.ts";
export { countSelected, type Selection, selectLetters } from "./redrive/select.ts";
export { undoOperation } from "./redrive/undo.ts";
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
export {
  /** Why letters died as numbers. */
  type Analysis,
  analysisToJson,
  type PatternGroup,
} from "./triage/analyse.ts";
export type { GroupRule } from "./triage/group-rule.ts";
export { type Signature, signatureOf } from "./triage/signature.ts";
