/** Argument schemas of the functions about letters: selections, changes and reported failures. */
import * as z from "zod";
import type { AgentResult } from "../dead-letter/agent-result.ts";
import type { FailureReport } from "../dead-letter/extend-letter.ts";
import type { ExportOptions } from "../dead-letter/import-export/export.ts";
import { EXPORT_FORMATS, IMPORT_FORMATS } from "../dead-letter/import-export/format.ts";
import type { ImportOptions } from "../dead-letter/import-export/import.ts";
import { LETTER_ORDERS } from "../engine.ts";
import type { ErrorType } from "../item/error-type.ts";
import type { EvidenceFile, Failure, FailureSource } from "../item/failure.ts";
import { PRIORITIES } from "../item/item.ts";
import { LETTER_AGES, type LetterFilter } from "../item/letter-query.ts";
import { ITEM_STATES } from "../item/state.ts";
import type { EditRequest, RequeueRequest } from "../redrive/amend.ts";
import type { DiscardRequest } from "../redrive/discard.ts";
import type { RedrivePlan } from "../redrive/plan.ts";
import type { PurgeRequest } from "../redrive/purge.ts";
import type { Recipe, Setting } from "../redrive/recipe.ts";
import type { Selection, SelectOptions } from "../redrive/select.ts";
import type { DlqManagerOptions, ListRequest, ReprocessRequest } from "../run/dlq-manager.ts";
import {
  anyThat,
  callback,
  clock,
  count,
  durationMs,
  errorClass,
  errorTypeName,
  flag,
  json,
  listOf,
  name,
  number,
  objectOf,
  oneOf,
  positive,
  rate,
  signal,
  text,
  texts,
  thing,
  time,
} from "./common-schemas.ts";
import { limitSettings } from "./letter-limits.ts";
import { policy } from "./policy-schemas.ts";

const FILTER = {
  itemIds: texts.optional(),
  types: listOf(errorTypeName).optional(),
  classes: listOf(errorClass).optional(),
  signatures: texts.optional(),
  eligible: flag.optional(),
  states: listOf(oneOf(ITEM_STATES)).optional(),
  olderThanMs: durationMs.optional(),
  newerThanMs: durationMs.optional(),
  ageOf: oneOf(LETTER_AGES).optional(),
  attemptsMin: count.optional(),
  attemptsMax: count.optional(),
  text: text.optional(),
};
const order = oneOf(LETTER_ORDERS).optional();

export const selection = objectOf<Selection>({
  filter: objectOf<LetterFilter>({ ...FILTER, queue: name.optional() }),
  where: text.optional(),
});

export const selectOptions = objectOf<SelectOptions>({
  order,
  signal: signal.optional(),
  cursor: text.optional(),
});

export const listRequest = objectOf<ListRequest>({ ...FILTER, where: text.optional(), order });

export const reprocessRequest = objectOf<ReprocessRequest>({
  itemIds: texts.optional(),
  maxRetries: count.optional(),
  delayMs: durationMs.optional(),
  force: flag.optional(),
  signal: signal.optional(),
});

export const dlqManagerOptions = objectOf<DlqManagerOptions>({
  job: name,
  handler: callback.optional(),
  policy: policy.optional(),
  slots: positive.optional(),
  home: name.optional(),
  author: name.optional(),
  limits: limitSettings.optional(),
  onNotice: callback.optional(),
  clock: clock.optional(),
});

const errorType = objectOf<ErrorType>({ name: errorTypeName, fields: json.optional() });

const namedErrorType = z.custom((value) => errorType.safeParse(value).success, {
  error: 'expected an object such as { name: "Timeout" }, with a name of ERROR_TYPE_NAMES',
});

/** The optional fields of a failure. */
const FAILURE = {
  errorContext: texts.optional(),
  stackTrace: text.optional(),
  jsonLogLocation: text.optional(),
  exitCode: count.optional(),
  signal: text.optional(),
  stdoutTail: text.optional(),
  stderrTail: text.optional(),
  log: text.optional(),
  evidence: listOf(
    objectOf<EvidenceFile>({
      path: name,
      sha256: text.optional(),
      bytes: count.optional(),
      mediaType: text.optional(),
      host: text.optional(),
      missing: flag.optional(),
      kept: text.optional(),
      problem: text.optional(),
    }),
  ).optional(),
  source: objectOf<FailureSource>({
    executionId: text.optional(),
    flow: text.optional(),
    subflow: text.optional(),
    action: text.optional(),
    actionName: text.optional(),
  }).optional(),
};

/** A failure reported by a program; only the message is required. */
export const failureReport = objectOf<FailureReport>({
  ...FAILURE,
  errorMessage: text,
  timestamp: time.optional(),
  errorType: namedErrorType.optional(),
  errorClass: errorClass.optional(),
  agentId: text.optional(),
  stepFailed: text.optional(),
  durationMs: durationMs.optional(),
});

/** The complete record, as a handler returns it. */
export const failure = objectOf<Failure>({
  ...FAILURE,
  attemptNumber: positive,
  timestamp: time,
  errorType: namedErrorType,
  errorClass,
  errorMessage: text,
  agentId: text,
  stepFailed: text,
  durationMs,
});

export const agentResult = objectOf<AgentResult>({
  status: oneOf(["success", "failed", "timeout"]),
  itemId: name,
  message: text.optional(),
  error: text.optional(),
  durationMs,
  at: time,
  agentId: text.optional(),
  stepFailed: text.optional(),
  exitCode: number.optional(),
  signal: text.optional(),
  stdoutTail: text.optional(),
  stderrTail: text.optional(),
  jsonLogLocation: text.optional(),
  worktreePath: text.optional(),
  branchName: text.optional(),
  uncommittedChanges: text.optional(),
  log: text.optional(),
  jobId: text.optional(),
});

const recipe = objectOf<Recipe>({
  set: listOf(objectOf<Setting>({ path: name, value: name })).optional(),
  patch: json.optional(),
  replace: objectOf<NonNullable<Recipe["replace"]>>({ data: json, revision: count }).optional(),
  schemas: listOf(json).optional(),
});

export const redrivePlan = objectOf<RedrivePlan>({
  rate: rate.optional(),
  delayMs: durationMs.optional(),
  maxRetries: count.optional(),
  slots: positive.optional(),
  priority: oneOf(PRIORITIES).optional(),
  canary: flag.optional(),
});

/** The fields of every bulk change. */
const CHANGE = { queue: name, selection, author: name, signal: signal.optional() };

export const editRequest = objectOf<EditRequest>({ ...CHANGE, recipe, note: text.optional() });
export const discardRequest = objectOf<DiscardRequest>({ ...CHANGE, reason: text });
export const restoreRequest = objectOf<Omit<DiscardRequest, "reason">>(CHANGE);
export const purgeRequest = objectOf<PurgeRequest>({
  ...CHANGE,
  kind: oneOf(["purge", "clear", "evict"]),
  home: name,
  archive: flag.optional(),
  reason: text.optional(),
});
export const requeueRequest = objectOf<RequeueRequest>({
  ...CHANGE,
  recipe: recipe.optional(),
  priority: oneOf(PRIORITIES).optional(),
  force: flag.optional(),
});

export const exportOptions = objectOf<ExportOptions>({
  path: name,
  format: oneOf(EXPORT_FORMATS).optional(),
  stdout: thing.optional(),
});

export const importOptions = objectOf<ImportOptions>({
  job: name.optional(),
  format: oneOf(IMPORT_FORMATS).optional(),
  isDry: flag.optional(),
  stdin: thing.optional(),
  onProgress: callback.optional(),
  signal: signal.optional(),
});

export const date = anyThat((value) => value instanceof Date && !Number.isNaN(value.getTime()), "a Date");
