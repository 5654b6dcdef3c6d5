/** Argument schemas of the library functions for letters: selections, changes and reported failures. */
import * as z from "zod";
import type { ExportOptions } from "../../dead-letter/import-export/export.ts";
import type { ImportOptions } from "../../dead-letter/import-export/import.ts";
import { EXPORT_FORMATS, IMPORT_FORMATS } from "../../dead-letter/import-export/reading.ts";
import type { AgentResult, FailureReport } from "../../dead-letter/reported-letter.ts";
import { LETTER_ORDERS } from "../../engine.ts";
import type { ErrorType } from "../../item/error-type.ts";
import type { EvidenceFile, Failure, FailureSource } from "../../item/failure.ts";
import { PRIORITIES } from "../../item/item.ts";
import { LETTER_AGES, type LetterFilter } from "../../item/letter-query.ts";
import { ITEM_STATES } from "../../item/state.ts";
import type { EditRequest, RequeueRequest } from "../../redrive/amend.ts";
import type { DiscardRequest } from "../../redrive/discard.ts";
import type { RedrivePlan } from "../../redrive/plan.ts";
import type { PurgeRequest } from "../../redrive/purge.ts";
import type { Recipe, Setting } from "../../redrive/recipe.ts";
import type { Selection, SelectOptions } from "../../redrive/select.ts";
import type { DlqManagerOptions, ListRequest, ReprocessRequest } from "../../run/dlq-manager.ts";
import type { RetryOptions } from "../../run/retry.ts";
import * as t from "../../std/check-input.ts";
import * as s from "./schemas.ts";

/** The conditions of a letter filter, except the queue. */
export const FILTER = {
  ...t.optional(t.texts, "itemIds", "signatures"),
  ...t.optional(t.listOf(s.errorTypeName), "types"),
  ...t.optional(t.listOf(s.errorClass), "classes"),
  ...t.optional(t.flag, "eligible"),
  ...t.optional(t.listOf(t.oneOf(ITEM_STATES)), "states"),
  ...t.optional(t.durationMs, "olderThanMs", "newerThanMs"),
  ...t.optional(t.oneOf(LETTER_AGES), "ageOf"),
  ...t.optional(t.count, "attemptsMin", "attemptsMax"),
  ...t.optional(t.text, "text"),
};
export const ORDER = t.optional(t.oneOf(LETTER_ORDERS), "order");

export const selection = t.objectOf<Selection>({
  filter: t.objectOf<LetterFilter>({ ...FILTER, ...t.optional(t.name, "queue") }),
  ...t.optional(t.text, "where"),
});
export const selectOptions = t.objectOf<SelectOptions>({
  ...ORDER,
  ...t.optional(s.signal, "signal"),
  ...t.optional(t.text, "cursor"),
});
export const listRequest = t.objectOf<ListRequest>({ ...FILTER, ...ORDER, ...t.optional(t.text, "where") });

export const reprocessRequest = t.objectOf<ReprocessRequest>({
  ...t.optional(t.texts, "itemIds"),
  ...t.optional(t.count, "maxRetries"),
  ...t.optional(t.durationMs, "delayMs"),
  ...t.optional(t.flag, "force"),
  ...t.optional(s.signal, "signal"),
});

export const dlqManagerOptions = t.objectOf<DlqManagerOptions>({
  job: t.name,
  ...t.optional(s.callback, "handler", "onNotice"),
  ...t.optional(s.policy, "policy"),
  ...t.optional(t.positive, "slots"),
  ...t.optional(t.name, "home", "author"),
  ...t.optional(s.limitSettings, "limits"),
  ...t.optional(s.clock, "clock"),
});

const errorType = t.objectOf<ErrorType>({ name: s.errorTypeName, ...t.optional(s.json, "fields") });

const namedErrorType = z.custom((value) => errorType.safeParse(value).success, {
  error: 'expected an object such as { name: "Timeout" }, with a name of ERROR_TYPE_NAMES',
});

const FAILURE = {
  ...t.optional(t.texts, "errorContext"),
  ...t.optional(t.text, "stackTrace", "jsonLogLocation", "signal", "stdoutTail", "stderrTail", "log"),
  ...t.optional(t.count, "exitCode"),
  ...t.optional(
    t.listOf(
      t.objectOf<EvidenceFile>({
        path: t.name,
        ...t.optional(t.text, "sha256", "mediaType", "host", "kept", "problem"),
        ...t.optional(t.count, "bytes"),
        ...t.optional(t.flag, "missing"),
      }),
    ),
    "evidence",
  ),
  ...t.optional(
    t.objectOf<FailureSource>(t.optional(t.text, "executionId", "flow", "subflow", "action", "actionName")),
    "source",
  ),
};

/** A failure reported by a program; only the message is required. */
export const failureReport = t.objectOf<FailureReport>({
  ...FAILURE,
  errorMessage: t.text,
  ...t.optional(t.time, "timestamp"),
  ...t.optional(namedErrorType, "errorType"),
  ...t.optional(s.errorClass, "errorClass"),
  ...t.optional(t.text, "agentId", "stepFailed"),
  ...t.optional(t.durationMs, "durationMs"),
});

/** A complete failure, as a handler returns it. */
export const failure = t.objectOf<Failure>({
  ...FAILURE,
  attemptNumber: t.positive,
  timestamp: t.time,
  errorType: namedErrorType,
  errorClass: s.errorClass,
  errorMessage: t.text,
  agentId: t.text,
  stepFailed: t.text,
  durationMs: t.durationMs,
});

export const agentResult = t.objectOf<AgentResult>({
  status: t.oneOf(["success", "failed", "timeout"]),
  itemId: t.name,
  durationMs: t.durationMs,
  at: t.time,
  ...t.optional(s.number, "exitCode"),
  ...t.optional(t.text, "message", "error", "agentId", "stepFailed", "signal", "stdoutTail", "stderrTail"),
  ...t.optional(
    t.text,
    "jsonLogLocation",
    "worktreePath",
    "branchName",
    "uncommittedChanges",
    "log",
    "jobId",
  ),
});

const recipe = t.objectOf<Recipe>({
  ...t.optional(t.listOf(t.objectOf<Setting>({ path: t.name, value: t.name })), "set"),
  ...t.optional(s.json, "patch"),
  ...t.optional(t.objectOf<NonNullable<Recipe["replace"]>>({ data: s.json, revision: t.count }), "replace"),
  ...t.optional(t.listOf(s.json), "schemas"),
});

const redrivePlan = t.objectOf<RedrivePlan>({
  ...t.optional(s.rate, "rate"),
  ...t.optional(t.durationMs, "delayMs"),
  ...t.optional(t.count, "maxRetries"),
  ...t.optional(t.positive, "slots"),
  ...t.optional(t.oneOf(PRIORITIES), "priority"),
  ...t.optional(z.union([t.flag, t.positive]), "canary"),
});

export const retryOptions = t.objectOf<RetryOptions>({
  job: s.job,
  selection,
  author: t.name,
  ...t.optional(t.flag, "force"),
  ...t.optional(redrivePlan, "plan"),
  ...t.optional(t.text, "reason"),
  ...t.optional(s.thing, "work"),
  ...t.optional(s.callback, "onOperation", "onNotice", "onFinish", "askMerge"),
});

/** The fields of every bulk change. */
const CHANGE = { queue: t.name, selection, author: t.name, ...t.optional(s.signal, "signal") };

export const editRequest = t.objectOf<EditRequest>({ ...CHANGE, recipe, ...t.optional(t.text, "note") });
export const discardRequest = t.objectOf<DiscardRequest>({ ...CHANGE, reason: t.text });
export const restoreRequest = t.objectOf<Omit<DiscardRequest, "reason">>(CHANGE);
export const purgeRequest = t.objectOf<PurgeRequest>({
  ...CHANGE,
  kind: t.oneOf(["purge", "clear", "evict"]),
  home: t.name,
  ...t.optional(t.flag, "archive"),
  ...t.optional(t.text, "reason"),
});
export const requeueRequest = t.objectOf<RequeueRequest>({
  ...CHANGE,
  ...t.optional(recipe, "recipe"),
  ...t.optional(t.oneOf(PRIORITIES), "priority"),
  ...t.optional(t.flag, "force"),
});

export const exportOptions = t.objectOf<ExportOptions>({
  path: t.name,
  ...t.optional(t.oneOf(EXPORT_FORMATS), "format"),
  ...t.optional(s.thing, "stdout"),
});
export const importOptions = t.objectOf<ImportOptions>({
  ...t.optional(t.name, "job"),
  ...t.optional(t.oneOf(IMPORT_FORMATS), "format"),
  ...t.optional(t.flag, "isDry"),
  ...t.optional(s.thing, "stdin"),
  ...t.optional(s.callback, "onProgress"),
  ...t.optional(s.signal, "signal"),
});

export const date = t.anyThat((value) => value instanceof Date && !Number.isNaN(value.getTime()), "a Date");
/** An async iterable of letters to export. */
export const letters = t.anyThat(
  (value) => typeof value === "object" && value !== null && Symbol.asyncIterator in value,
  "an async iterable of letters",
);
