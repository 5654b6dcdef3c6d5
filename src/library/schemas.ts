/** Argument schemas of the library: stores, jobs, queues and targets. Value ranges of settings are checked with them. */
import * as z from "zod";
import type { CapsuleOptions } from "../dead-letter/make-capsule.ts";
import { targetSettings } from "../delivery/settings-schema.ts";
import type { SendOptions } from "../delivery/target.ts";
import type { Engine } from "../engine.ts";
import type { OpenOptions } from "../engines/open.ts";
import { INPUT_FORMATS } from "../intake/input.ts";
import type { InputSource, ReadOptions } from "../intake/read-items.ts";
import { ERROR_ORIGINS } from "../item/error-log.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import { GROUP_STATES } from "../item/group.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import type { Rate } from "../item/rate.ts";
import type { AddItemsOptions } from "../queue/add-items.ts";
import type { ErrorLogQuery } from "../queue/error-log.ts";
import type { ImportItemsOptions, RowFields } from "../queue/import-items.ts";
import type { QueueAct } from "../queue/queue.ts";
import { ITEM_FORMATS } from "../queue/read-rows.ts";
import { policy } from "../queue/settings-schema.ts";
import type { CorrectOptions, NamedGroup, RebuildOptions } from "../redrive/correct-groups.ts";
import type { LimitSettings } from "../redrive/limits.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { MapOptions } from "../run/map.ts";
import type { MapInput, MapSpec } from "../run/map-spec.ts";
import type { ResumeOptions } from "../run/resume.ts";
import type { RunOptions } from "../runner/run-options.ts";
import type { DirectoryPlace } from "../service/letter-directory.ts";
import type { MetricsTextOptions } from "../service/metrics-text.ts";
import {
  above0,
  anyThat,
  count,
  durationMs,
  flag,
  listOf,
  name,
  nullable,
  numberThat,
  objectOf,
  oneOf,
  optional,
  positive,
  text,
  texts,
  time,
} from "../std/check-input.ts";
import type { Clock } from "../std/clock.ts";
import type { CopyOptions } from "../store/copy.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { jsonProblem } from "./json-data.ts";
import type { ProcessOptions, RunDeps, TargetOptions, WorkPlan } from "./letter-limits.ts";

export { policy };
export const callback = anyThat((value) => typeof value === "function", "a function");
export const json = anyThat((value) => jsonProblem(value) === undefined, "data that JSON can represent");
export const signal = anyThat((value) => value instanceof AbortSignal, "an AbortSignal");
export const engine = anyThat((value) => hasAll<Engine>(value, "function", "add", "count"), "an open store");
export const clock = anyThat((value) => hasAll<Clock>(value, "function", "now", "sleep"), "a clock");
export const job = anyThat((value) => hasAll<Job>(value, "string", "id", "kind"), "a job of the store");
export const operation = anyThat(
  (value) => hasAll<Operation>(value, "string", "id", "kind"),
  "an operation of the store",
);
/** Streams, environments, letters and other objects that are not checked further. */
export const thing = anyThat((value) => typeof value === "object" && value !== null, "an object");

function hasAll<T>(value: unknown, kind: "function" | "string", ...names: readonly (keyof T)[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((key) => typeof (value as T)[key] === kind);
}

export const number = numberThat(Number.isFinite, "a number");
export const rate = objectOf<Rate>({ perSecond: above0 });
export const errorTypeName = oneOf(ERROR_TYPE_NAMES);
export const errorClass = oneOf(ERROR_CLASSES);

export const groupRules = listOf(
  objectOf<GroupRule>({
    name,
    match: objectOf<GroupRule["match"]>({
      ...optional(listOf(errorTypeName), "types"),
      ...optional(listOf(errorClass), "classes"),
      ...optional(texts, "steps"),
      ...optional(text, "text", "pattern"),
    }),
  }),
);

const classRules = listOf(
  objectOf<ClassRule>({
    match: objectOf<ClassRule["match"]>({
      ...optional(listOf(errorTypeName), "types"),
      ...optional(listOf(count), "exitCodes"),
      ...optional(texts, "steps"),
      ...optional(text, "text", "pattern"),
    }),
    ...optional(errorTypeName, "type"),
    ...optional(errorClass, "class"),
  }),
);

export const limitSettings = objectOf<LimitSettings>({
  ...nullable(count, "maxItems"),
  ...nullable(number, "retentionDays"),
});

// Stores and jobs

export const openOptions = objectOf<OpenOptions>({
  ...optional(clock, "clock"),
  ...optional(durationMs, "busyMsMax"),
  ...optional(flag, "mustExist"),
  ...optional(callback, "onWait"),
});

export const copyOptions = objectOf<CopyOptions>({
  from: engine,
  to: engine,
  ...optional(callback, "onProgress"),
});

/** The options of everything that runs attempts. */
const RUNNING = {
  ...optional(signal, "drain"),
  ...optional(thing, "observer"),
  ...optional(durationMs, "storeWaitMs"),
  ...optional(clock, "clock"),
  ...optional(text, "author"),
  ...optional(count, "poisonAfter"),
  ...optional(groupRules, "groupRules"),
  ...optional(classRules, "classRules"),
};

export const runDeps = objectOf<RunDeps>({
  ...RUNNING,
  engine,
  home: name,
  stop: signal,
  ...optional(limitSettings, "limits"),
  ...optional(listOf(thing), "fixes"),
  ...optional(listOf(callback), "services"),
  ...optional(flag, "isOutputWanted"),
});

export const runOptions = objectOf<RunOptions>({
  ...RUNNING,
  engine,
  queue: name,
  policy,
  handler: callback,
  slots: positive,
  stop: signal,
  ...optional(callback, "askHandler", "feed", "settings", "random"),
  ...optional(name, "operationId", "evidenceFolder"),
  ...optional(flag, "keepGoing"),
  ...optional(rate, "rate", "ownRate"),
  ...optional(durationMs, "abandonAfterMs", "holderTtlMs"),
});

const INPUT = {
  path: name,
  ...optional(oneOf(INPUT_FORMATS), "format"),
  ...optional(name, "idField"),
  ...optional(
    z.union([z.boolean(), z.string()], { error: "expected true, false or the name of a field" }),
    "distinct",
  ),
};

export const inputSource = objectOf<InputSource>(INPUT);
export const readOptions = objectOf<ReadOptions>({
  ...optional(thing, "stdin"),
  ...optional(positive, "batchMax"),
  ...optional(signal, "signal"),
});

export const mapOptions = objectOf<MapOptions>({
  spec: objectOf<MapSpec>({
    command: texts.min(1, { error: "expected a command and its arguments" }),
    cwd: name,
    input: objectOf<MapInput>(INPUT),
    jobs: positive,
    graceMs: durationMs,
    policy,
    ...optional(flag, "allowOptions", "keepEvidence"),
    ...optional(durationMs, "timeoutMs"),
    ...optional(name, "failureCommand"),
  }),
  ...optional(name, "name"),
  ...optional(flag, "acceptChanges"),
  ...optional(thing, "stdin"),
  ...optional(callback, "onJob", "onNotice"),
});

export const resumeOptions = objectOf<ResumeOptions>({
  withLetters: flag,
  ...optional(name, "job", "cwd"),
  ...optional(flag, "acceptChanges"),
  ...optional(positive, "slots"),
  ...optional(callback, "onJob", "onNotice", "onPhaseStep", "onPhaseWait", "onAgentStep", "askMerge"),
});

const PLACE = {
  home: name,
  ...optional(name, "dlqDir"),
  ...nullable(count, "itemsMax"),
  ...nullable(number, "retentionDays"),
};

export const directoryPlace = objectOf<DirectoryPlace>(PLACE);
export const changedDirectory = objectOf<DirectoryPlace & { readonly changed?: readonly string[] }>({
  ...PLACE,
  ...optional(texts, "changed"),
});

export const capsuleOptions = objectOf<CapsuleOptions>({
  version: text,
  env: thing,
  ...optional(texts, "names"),
});

/** Loose, because a group read from the store has more fields. */
export const namedGroup = z.looseObject({ signature: name, pattern: text } satisfies Record<
  keyof NamedGroup,
  z.ZodType
>);
const CORRECT = { author: name, ...optional(callback, "onProgress") };
export const correctOptions = objectOf<CorrectOptions>(CORRECT);
export const splitOptions = objectOf<CorrectOptions & { text: string; name?: string }>({
  ...CORRECT,
  text: name,
  ...optional(name, "name"),
});
export const mergeRequest = objectOf<{ groups: readonly NamedGroup[]; into: NamedGroup }>({
  groups: listOf(namedGroup),
  into: namedGroup,
});
export const groupQuery = objectOf<{ queue?: string; states: readonly string[] }>({
  ...optional(name, "queue"),
  states: listOf(oneOf(GROUP_STATES)),
});
export const rebuildOptions = objectOf<RebuildOptions>({
  rules: groupRules,
  ...optional(name, "queue"),
  ...optional(flag, "dryRun"),
  ...optional(callback, "onProgress"),
});

/** Which errors, besides their queues. */
export const ERROR_QUERY = {
  limit: positive,
  ...optional(text, "itemId"),
  ...optional(oneOf(ERROR_ORIGINS), "origin"),
  ...optional(time, "since"),
  ...optional(count, "before"),
};
export const errorLogQuery = objectOf<ErrorLogQuery>({ ...ERROR_QUERY, ...optional(texts, "queues") });
export const followOptions = objectOf<{ stop: AbortSignal; clock?: unknown }>({
  stop: signal,
  ...optional(clock, "clock"),
});
export const metricsTextOptions = objectOf<MetricsTextOptions>(optional(text, "prefix"));

// Queues and targets

export const addItemsOptions = objectOf<AddItemsOptions>(optional(text, "author"));
export const queueAct = objectOf<QueueAct>(optional(text, "author", "reason"));

export const importItemsOptions = objectOf<ImportItemsOptions>({
  ...optional(text, "author"),
  ...optional(oneOf(ITEM_FORMATS), "format"),
  ...optional(
    objectOf<RowFields>(optional(text, "key", "name", "priority", "due", "expires", "lane")),
    "fields",
  ),
  ...optional(flag, "isEnvelope", "isTyped", "isDry"),
  ...optional(callback, "onRefused", "onProgress"),
  ...optional(thing, "stdin"),
  ...optional(signal, "signal"),
});

const LETTER_LIMITS = {
  ...optional(limitSettings, "limits"),
  ...optional(name, "home"),
  ...optional(callback, "onNotice", "alongside"),
};

const { author: _, drain: __, observer, ...WORKING } = RUNNING;
const WORKER = {
  ...WORKING,
  ...LETTER_LIMITS,
  ...optional(positive, "concurrency"),
  ...optional(rate, "rate"),
  ...optional(flag, "untilEmpty"),
  ...optional(name, "name", "evidenceFolder"),
  ...optional(signal, "signal"),
  ...optional(durationMs, "abandonAfterMs"),
};

export const workPlan = objectOf<WorkPlan>({
  ...WORKER,
  observer,
  handler: callback,
  ...optional(callback, "askHandler"),
  ...optional(flag, "isTarget"),
});

export const processOptions = objectOf<ProcessOptions>({
  ...WORKER,
  ...optional(durationMs, "timeoutMs"),
  ...optional(callback, "onItemFailure", "onSettled", "onError"),
});

const { classRules: ___, ...DELIVERING } = WORKING;

export const targetOptions = objectOf<TargetOptions>({
  ...targetSettings,
  ...DELIVERING,
  ...LETTER_LIMITS,
  ...optional(
    anyThat(
      (value) => typeof value === "function" || (typeof value === "object" && value !== null),
      "a function that sends a receipt, or a protocol",
    ),
    "deliver",
  ),
  ...optional(flag, "isDelivering"),
  ...optional(positive, "concurrency"),
  ...optional(rate, "ownRate"),
  ...optional(callback, "onSettled", "onPaused", "onError"),
  ...optional(thing, "env"),
});

export const sendOptions = objectOf<SendOptions>({
  ...optional(text, "key", "order"),
  ...optional(flag, "wait"),
  ...optional(signal, "signal"),
});
