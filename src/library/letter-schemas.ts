/** Argument schemas of the functions about letters: selections, changes and reported failures. */
import * as z from "zod";
import type { ExportOptions } from "../dead-letter/import-export/export.ts";
import { EXPORT_FORMATS, IMPORT_FORMATS } from "../dead-letter/import-export/format.ts";
import type { ImportOptions } from "../dead-letter/import-export/import.ts";
import type { AgentResult, FailureReport } from "../dead-letter/reported-letter.ts";
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
import type { RetryOptions } from "../run/retry.ts";
import {
  anyThat,
  count,
  durationMs,
  flag,
  listOf,
  name,
  objectOf,
  oneOf,
  optional,
  positive,
  text,
  texts,
  time,
} from "../std/check-input.ts";
import * as s from "./schemas.ts";

/** Which letters, besides their queue. */
export const FILTER = {
  ...optional(texts, "itemIds", "signatures"),
  ...optional(listOf(s.errorTypeName), "types"),
  ...optional(listOf(s.errorClass), "classes"),
  ...optional(flag, "eligible"),
  ...optional(listOf(oneOf(ITEM_STATES)), "states"),
  ...optional(durationMs, "olderThanMs", "newerThanMs"),
  ...optional(oneOf(LETTER_AGES), "ageOf"),
  ...optional(count, "attemptsMin", "attemptsMax"),
  ...optional(text, "text"),
};
export const ORDER = optional(oneOf(LETTER_ORDERS), "order");

export const selection = objectOf<Selection>({
  filter: objectOf<LetterFilter>({ ...FILTER, ...optional(name, "queue") }),
  ...optional(text, "where"),
});
export const selectOptions = objectOf<SelectOptions>({
  ...ORDER,
  ...optional(s.signal, "signal"),
  ...optional(text, "cursor"),
});
export const listRequest = objectOf<ListRequest>({ ...FILTER, ...ORDER, ...optional(text, "where") });

export const reprocessRequest = objectOf<ReprocessRequest>({
  ...optional(texts, "itemIds"),
  ...optional(count, "maxRetries"),
  ...optional(durationMs, "delayMs"),
  ...optional(flag, "force"),
  ...optional(s.signal, "signal"),
});

export const dlqManagerOptions = objectOf<DlqManagerOptions>({
  job: name,
  ...optional(s.callback, "handler", "onNotice"),
  ...optional(s.policy, "policy"),
  ...optional(positive, "slots"),
  ...optional(name, "home", "author"),
  ...optional(s.limitSettings, "limits"),
  ...optional(s.clock, "clock"),
});

const errorType = objectOf<ErrorType>({ name: s.errorTypeName, ...optional(s.json, "fields") });

const namedErrorType = z.custom((value) => errorType.safeParse(value).success, {
  error: 'expected an object such as { name: "Timeout" }, with a name of ERROR_TYPE_NAMES',
});

const FAILURE = {
  ...optional(texts, "errorContext"),
  ...optional(text, "stackTrace", "jsonLogLocation", "signal", "stdoutTail", "stderrTail", "log"),
  ...optional(count, "exitCode"),
  ...optional(
    listOf(
      objectOf<EvidenceFile>({
        path: name,
        ...optional(text, "sha256", "mediaType", "host", "kept", "problem"),
        ...optional(count, "bytes"),
        ...optional(flag, "missing"),
      }),
    ),
    "evidence",
  ),
  ...optional(
    objectOf<FailureSource>(optional(text, "executionId", "flow", "subflow", "action", "actionName")),
    "source",
  ),
};

/** A failure reported by a program; only the message is required. */
export const failureReport = objectOf<FailureReport>({
  ...FAILURE,
  errorMessage: text,
  ...optional(time, "timestamp"),
  ...optional(namedErrorType, "errorType"),
  ...optional(s.errorClass, "errorClass"),
  ...optional(text, "agentId", "stepFailed"),
  ...optional(durationMs, "durationMs"),
});

/** The complete record, as a handler returns it. */
export const failure = objectOf<Failure>({
  ...FAILURE,
  attemptNumber: positive,
  timestamp: time,
  errorType: namedErrorType,
  errorClass: s.errorClass,
  errorMessage: text,
  agentId: text,
  stepFailed: text,
  durationMs,
});

export const agentResult = objectOf<AgentResult>({
  status: oneOf(["success", "failed", "timeout"]),
  itemId: name,
  durationMs,
  at: time,
  ...optional(s.number, "exitCode"),
  ...optional(text, "message", "error", "agentId", "stepFailed", "signal", "stdoutTail", "stderrTail"),
  ...optional(text, "jsonLogLocation", "worktreePath", "branchName", "uncommittedChanges", "log", "jobId"),
});

const recipe = objectOf<Recipe>({
  ...optional(listOf(objectOf<Setting>({ path: name, value: name })), "set"),
  ...optional(s.json, "patch"),
  ...optional(objectOf<NonNullable<Recipe["replace"]>>({ data: s.json, revision: count }), "replace"),
  ...optional(listOf(s.json), "schemas"),
});

const redrivePlan = objectOf<RedrivePlan>({
  ...optional(s.rate, "rate"),
  ...optional(durationMs, "delayMs"),
  ...optional(count, "maxRetries"),
  ...optional(positive, "slots"),
  ...optional(oneOf(PRIORITIES), "priority"),
  ...optional(flag, "canary"),
});

export const retryOptions = objectOf<RetryOptions>({
  job: s.job,
  selection,
  author: name,
  ...optional(flag, "force"),
  ...optional(redrivePlan, "plan"),
  ...optional(s.callback, "onOperation", "onNotice", "onFinish", "askMerge"),
});

/** The fields of every bulk change. */
const CHANGE = { queue: name, selection, author: name, ...optional(s.signal, "signal") };

export const editRequest = objectOf<EditRequest>({ ...CHANGE, recipe, ...optional(text, "note") });
export const discardRequest = objectOf<DiscardRequest>({ ...CHANGE, reason: text });
export const restoreRequest = objectOf<Omit<DiscardRequest, "reason">>(CHANGE);
export const purgeRequest = objectOf<PurgeRequest>({
  ...CHANGE,
  kind: oneOf(["purge", "clear", "evict"]),
  home: name,
  ...optional(flag, "archive"),
  ...optional(text, "reason"),
});
export const requeueRequest = objectOf<RequeueRequest>({
  ...CHANGE,
  ...optional(recipe, "recipe"),
  ...optional(oneOf(PRIORITIES), "priority"),
  ...optional(flag, "force"),
});

export const exportOptions = objectOf<ExportOptions>({
  path: name,
  ...optional(oneOf(EXPORT_FORMATS), "format"),
  ...optional(s.thing, "stdout"),
});
export const importOptions = objectOf<ImportOptions>({
  ...optional(name, "job"),
  ...optional(oneOf(IMPORT_FORMATS), "format"),
  ...optional(flag, "isDry"),
  ...optional(s.thing, "stdin"),
  ...optional(s.callback, "onProgress"),
  ...optional(s.signal, "signal"),
});

export const date = anyThat((value) => value instanceof Date && !Number.isNaN(value.getTime()), "a Date");
/** Letters to export. */
export const letters = anyThat(
  (value) => typeof value === "object" && value !== null && Symbol.asyncIterator in value,
  "an async iterable of letters",
);
