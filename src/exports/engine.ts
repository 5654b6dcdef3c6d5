/** `redrive/engine`: the storage contract and the low-level functions, with argument checks. */

export type { AttemptContext, Handler } from "../attempt/handler.ts";
export type { Capsule } from "../dead-letter/capsule.ts";
export type { ExportOptions } from "../dead-letter/import-export/export.ts";
export type {
  Imported,
  ImportOptions,
} from "../dead-letter/import-export/import.ts";
export {
  EXPORT_FORMATS,
  type ExportFormat,
  IMPORT_FORMATS,
  type ImportFormat,
} from "../dead-letter/import-export/reading.ts";
export type { CapsuleOptions } from "../dead-letter/make-capsule.ts";
export type { AgentResult, FailureReport } from "../dead-letter/reported-letter.ts";
export { type LetterStats, letterStatsToJson } from "../dead-letter/stats.ts";
export type { DeliverFunction } from "../delivery/function.ts";
export type { DeliveryOutcome, NotDelivered } from "../delivery/outcome.ts";
export {
  DELIVERY_PROTOCOLS,
  type DeliveryCall,
  type DeliveryProtocol,
  type Protocol,
  type Reachability,
} from "../delivery/protocol.ts";
export type { DrainReport, KeptReceipt, Receipt, SendOptions } from "../delivery/target.ts";
export type {
  DeliverySettings,
  DeliverySpec,
  TargetSettings,
  TargetSpec,
  TokenSource,
} from "../delivery/target-settings.ts";
export type { Engine } from "../engine.ts";
export { ERROR_CODES, type ErrorCode, RedriveError } from "../errors.ts";
export { INPUT_FORMATS, type InputFormat } from "../intake/input.ts";
export type { InputSource } from "../intake/read-items.ts";
export type { Backoff } from "../item/backoff.ts";
export { ERROR_ORIGINS, type ErrorEntry, type ErrorOrigin } from "../item/error-log.ts";
export {
  ERROR_CLASSES,
  ERROR_TYPE_NAMES,
  type ErrorClass,
  type ErrorType,
  type ErrorTypeName,
} from "../item/error-type.ts";
export { EVENT_TYPES, type Event, type EventType, eventToJson } from "../item/event.ts";
export type { EvidenceFile, FailureSource } from "../item/failure.ts";
export { type Failure, failureFromJson, failureToJson } from "../item/failure.ts";
export {
  type Correction,
  GROUP_STATES,
  type GroupFix,
  type GroupRecord,
  type GroupState,
  groupRecordToJson,
} from "../item/group.ts";
export type { AddReport, Attempt, Item, LeasedItem, NewItem, Settlement, Verdict } from "../item/item.ts";
export type { ItemOptions } from "../item/item-options.ts";
export type { Job, JobStatus } from "../item/job.ts";
export {
  type Amendment,
  type LateResult,
  type Letter,
  type LetterNote,
  letterFromJson,
  letterToJson,
  RESOLUTION_KINDS,
  type Resolution,
  type ResolutionKind,
  type WorktreeArtifacts,
} from "../item/letter.ts";
export type { LetterFilter } from "../item/letter-query.ts";
export {
  type Arrival,
  type GroupPage,
  type GroupQuery,
  type ImportReport,
  LETTER_ORDERS,
  LETTER_PARTS,
  type LetterGroup,
  type LetterOrder,
  type LetterPage,
  type LetterPart,
  type LetterQuery,
  type StoredLetter,
} from "../item/letter-query.ts";
export {
  OPERATION_KINDS,
  OPERATION_STATUSES,
  type Operation,
  type OperationKind,
  type OperationStatus,
  operationToJson,
} from "../item/operation.ts";
export { RECEIPT_STATUSES, type ReceiptStatus } from "../item/receipt.ts";
export type { Holder, SettleAndLease, SettleAndLeaseResult } from "../item/settle-and-lease.ts";
export type { Outcome } from "../item/settlement.ts";
export { ITEM_STATES, type ItemState, MOVES } from "../item/state.ts";
export type { EventQuery, ItemEventQuery, Problem, QueueCounts, StoreInfo } from "../item/store-queries.ts";
export { DlqManager } from "../library/checked/dlq-manager.ts";
export {
  continueRedrive,
  detachLetters,
  followErrors,
  metricsText,
  parseBackoff,
  readErrors,
  readItems,
  readMetrics,
  requireJob,
  resumeJob,
  retryLetters,
  runQueue,
  startMap,
  statusOf,
  summarise,
} from "../library/checked/jobs.ts";
export type {
  LetterLimitOptions,
  RunDeps,
  TargetOptions,
} from "../library/checked/letter-limits.ts";
export {
  agentResultToDlqItem,
  analyseSelected,
  continueDiscard,
  continueEdit,
  continuePurge,
  countSelected,
  discardLetters,
  editLetters,
  explainGroup,
  explainLetter,
  exportLetters,
  importLetters,
  listGroups,
  makeCapsule,
  mergeGroups,
  mirrorAll,
  mirrorJob,
  purgeLetters,
  readCapsule,
  readDirectory,
  readLetterStats,
  rebuildGroups,
  refreshDirectory,
  requeueLetters,
  requireGroup,
  restoreLetters,
  selectLetters,
  splitGroup,
  undoOperation,
  writeCapsule,
  writeDirectory,
} from "../library/checked/letters.ts";
export {
  addItems,
  changeQueue,
  createQueue,
  importItems,
  listQueues,
  summariseQueue,
} from "../library/checked/queues.ts";
export { copyStore, openStore } from "../library/checked/stores.ts";
export { setTarget, Target } from "../library/checked/targets.ts";
export type {
  AddedItem,
  AddItemsOptions,
  QueueItem,
} from "../queue/add-items.ts";
export {
  type ErrorLogQuery,
  type ErrorPage,
  errorToBody,
  errorToJson,
} from "../queue/error-log.ts";
export type {
  ImportItemsOptions,
  ItemImport,
  RefusedRow,
} from "../queue/import-items.ts";
export { type JobSummary, summaryToJson } from "../queue/job-summary.ts";
export type { ItemHandler, QueueAct } from "../queue/queue.ts";
export type { QueueSettings } from "../queue/queue-settings.ts";
export { type QueueSpec, UNIQUE_RULES, type UniqueRule } from "../queue/queue-spec.ts";
export { type QueueSummary, queueToJson } from "../queue/queue-status.ts";
export type { OnItemFailureHandler, WorkerOptions } from "../queue/worker.ts";
export type {
  EditRequest,
  RequeueRequest,
} from "../redrive/amend.ts";
export type { DiscardRequest } from "../redrive/discard.ts";
export { explanationToJson } from "../redrive/explain-group.ts";
export { type GroupSummary, groupToJson } from "../redrive/groups.ts";
export type { LimitSettings } from "../redrive/limits.ts";
export type { RedrivePlan } from "../redrive/plan.ts";
export {
  archiveOf,
  type PurgeRequest,
} from "../redrive/purge.ts";
export type { Recipe } from "../redrive/recipe.ts";
export type { Selection } from "../redrive/select.ts";
export type { ClassRule } from "../retry/class-rule.ts";
export { decide } from "../retry/decide.ts";
export {
  type BreakerPolicy,
  DEFAULT_BREAKER,
  DEFAULT_POLICY,
  type OnItemFailure,
  type OnOutage,
  type Policy,
} from "../retry/policy.ts";
export {
  BusinessException,
  type ExceptionOptions,
  GenericException,
  ITException,
} from "../retry/thrown.ts";
export type { DlqManagerOptions, ListRequest, ReprocessRequest } from "../run/dlq-manager.ts";
export type { MapOptions, MapResult } from "../run/map.ts";
export { DEFAULT_GRACE_MS, type MapInput, type MapSpec } from "../run/map-spec.ts";
export type { ResumeOptions } from "../run/resume.ts";
export type { RetryOptions } from "../run/retry.ts";
export type {
  Feed,
  RunObserver,
  RunOptions,
  RunResult,
  Waiting,
} from "../runner/run-options.ts";
export type { DirectoryOptions } from "../service/letter-directory.ts";
export { letterMirror } from "../service/letter-mirror.ts";
export type { Metrics, QueueMetrics } from "../service/metrics.ts";
export type { MetricsTextOptions } from "../service/metrics-text.ts";
export { parseJson, stringifyJson } from "../std/json.ts";
export type { CopyOptions, CopyProgress, CopyReport } from "../store/copy.ts";
export type { TableSum } from "../store/digest.ts";
export { homeOf, jobLogs, storeUrlOf } from "../store/home.ts";
