/** The whole public surface of Redrive. */

export type { AttemptContext, Handler } from "./attempt/handler.ts";
// Dead letters
export type { AgentResult } from "./dead-letter/agent-result.ts";
export type { Capsule } from "./dead-letter/capsule.ts";
export type {
  /** Where letters are written and how. */
  ExportOptions,
} from "./dead-letter/exchange/export.ts";
export {
  EXPORT_FORMATS,
  type ExportFormat,
  IMPORT_FORMATS,
  type ImportFormat,
} from "./dead-letter/exchange/format.ts";
export type {
  Imported,
  /** Which job they go to and how they are read. */
  ImportOptions,
} from "./dead-letter/exchange/import.ts";
export type { FailureReport } from "./dead-letter/extend-letter.ts";
export { type LetterStats, letterStatsToJson } from "./dead-letter/stats.ts";
// Receipts
export type { DeliverySettings } from "./delivery/check-delivery.ts";
export type { DeliverFunction } from "./delivery/function.ts";
export type { DeliveryOutcome, NotDelivered } from "./delivery/outcome.ts";
export type { DeliveryCall, Protocol, Reachability } from "./delivery/protocol.ts";
export type { TargetSettings } from "./delivery/settings.ts";
export {
  DELIVERY_PROTOCOLS,
  type DeliveryProtocol,
  type DeliverySpec,
  type TargetSpec,
  type TokenSource,
} from "./delivery/spec.ts";
export type {
  DrainReport,
  KeptReceipt,
  Receipt,
  SendOptions,
} from "./delivery/target-options.ts";
export type { Engine } from "./engine.ts";
export { ERROR_CODES, type ErrorCode, WorkError } from "./errors.ts";
// Running
export { INPUT_FORMATS, type InputFormat } from "./intake/format.ts";
export type { InputSource } from "./intake/read-items.ts";
// The nouns
export { ERROR_ORIGINS, type ErrorEntry, type ErrorOrigin } from "./item/error-entry.ts";
export {
  ERROR_CLASSES,
  ERROR_TYPE_NAMES,
  type ErrorClass,
  type ErrorType,
  type ErrorTypeName,
} from "./item/error-type.ts";
export { EVENT_TYPES, type Event, type EventType, eventToJson } from "./item/event.ts";
export type { EvidenceFile } from "./item/evidence-file.ts";
export type { Exchange, Exchanged, Holder } from "./item/exchange.ts";
export { type Failure, failureFromJson, failureToJson } from "./item/failure.ts";
export type { FailureSource } from "./item/failure-source.ts";
export {
  type Correction,
  GROUP_STATES,
  type GroupFix,
  type GroupMark,
  type GroupState,
  groupMarkToJson,
} from "./item/group.ts";
export type { AddReport } from "./item/intake-report.ts";
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
  LETTER_PARTS,
  type LetterGroup,
  /** One of `LETTER_ORDERS`. */
  type LetterOrder,
  type LetterPage,
  /** One of `LETTER_PARTS`. */
  type LetterPart,
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
export { RECEIPT_STATUSES, type ReceiptStatus } from "./item/receipt-count.ts";
export { ITEM_STATES, type ItemState, MOVES } from "./item/state.ts";
export type { EventQuery, Problem, QueueCounts, StoreInfo } from "./item/store-look.ts";
export type {
  /** Which variables go into a capsule. */
  CapsuleOptions,
} from "./job/capsule.ts";
export type { DlqManagerOptions, ListRequest, ReprocessRequest } from "./job/dlq-manager.ts";
export { homeOf, jobLogs, storeUrlOf } from "./job/home.ts";
export type { DirectoryPlace } from "./job/letter-directory.ts";
export type { MapOptions, MapResult } from "./job/map.ts";
export { DEFAULT_GRACE_MS, type MapInput, type MapSpec } from "./job/map-spec.ts";
export { mirroring } from "./job/mirroring.ts";
export type { ResumeOptions } from "./job/resume.ts";
export type { RetryOptions } from "./job/retry.ts";
export { type JobSummary, summaryToJson } from "./job/summary.ts";
export { DlqManager } from "./library/dlq-manager.ts";
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
} from "./library/jobs.ts";
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
} from "./library/letters.ts";
export type {
  /** How letters are kept while a queue is worked. */
  LetterLimitOptions,
  ProcessOptions,
  RunDeps,
  TargetOptions,
  WorkPlan,
} from "./library/options.ts";
export {
  addItems,
  changeQueue,
  createQueue,
  importItems,
  listQueues,
  Queue,
  summariseQueue,
  Worker,
} from "./library/queues.ts";
export { copyStore, openStore, type Store } from "./library/stores.ts";
export { setTarget, Target } from "./library/targets.ts";
// Named queues
export type {
  /** What became of one item. */
  AddedItem,
  AddItemsOptions,
  /** An item as somebody brings it. */
  QueueItem,
} from "./queue/add-items.ts";
export type {
  ImportItemsOptions,
  /** What became of the rows of a file. */
  ItemImport,
  RefusedRow,
} from "./queue/import-items.ts";
export type { ItemHandler } from "./queue/item-handler.ts";
export { type QueueSummary, queueToJson } from "./queue/look.ts";
export type { QueueAct } from "./queue/queue.ts";
export type { QueueSettings } from "./queue/settings.ts";
export { type QueueSpec, UNIQUE_RULES, type UniqueRule } from "./queue/spec.ts";
export type { OnItemFailureHandler, WorkerOptions } from "./queue/worker.ts";
// Operations on many letters
export type {
  /** Which letters are edited and how. */
  EditRequest,
} from "./redrive/amend.ts";
export type {
  /** Which letters are given up and why. */
  DiscardRequest,
} from "./redrive/discard.ts";
export { explanationToJson } from "./redrive/explain-group.ts";
export { type GroupSummary, groupToJson } from "./redrive/groups.ts";
export type { LimitSettings } from "./redrive/limits.ts";
export type {
  /** How a redrive sends its letters. */
  RedrivePlan,
} from "./redrive/plan.ts";
export {
  archiveOf,
  /** Which letters are deleted and where they are archived. */
  type PurgeRequest,
} from "./redrive/purge.ts";
export type {
  /** How data is changed. */
  Recipe,
} from "./redrive/recipe.ts";
export type {
  /** Which letters are sent anew and how. */
  RequeueRequest,
} from "./redrive/requeue.ts";
export type { Selection } from "./redrive/select.ts";
export type { ClassRule } from "./retry/class-rule.ts";
export { decide } from "./retry/decide.ts";
export {
  BusinessException,
  type ExceptionOptions,
  GenericException,
  ITException,
} from "./retry/exception.ts";
export {
  type Backoff,
  type BreakerPolicy,
  DEFAULT_BREAKER,
  DEFAULT_POLICY,
  type OnItemFailure,
  type OnOutage,
  type Policy,
} from "./retry/policy.ts";
export type {
  Feed,
  RunObserver,
  /** What is worked and how. */
  RunOptions,
  /** How a run ended. */
  RunResult,
  /** Nothing is due yet. */
  Waiting,
} from "./runner/run-options.ts";
export type { CopyOptions, CopyProgress, CopyReport } from "./store/copy.ts";
export type { TableSum } from "./store/digest.ts";
export {
  /** Why letters died as numbers. */
  type Analysis,
  analysisToJson,
  type PatternGroup,
} from "./triage/analyse.ts";
export type { GroupRule } from "./triage/group-rule.ts";
export { type Signature, signatureOf } from "./triage/signature.ts";
// The error log
export {
  type ErrorLogQuery,
  /** A page of the error log. */
  type ErrorPage,
  errorToBody,
  errorToJson,
} from "./watch/error-log.ts";
// Numbers and alerts
export type { Metrics, QueueMetrics } from "./watch/metrics.ts";
export type {
  /** How the names of the metrics begin. */
  MetricsTextOptions,
} from "./watch/metrics-text.ts";
