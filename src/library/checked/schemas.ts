/** Argument schemas of the library for stores, jobs, queues and targets. They include the value ranges of settings. */
import * as z from "zod";
import type { CapsuleOptions } from "../../dead-letter/make-capsule.ts";
import { targetSettings } from "../../delivery/settings-schema.ts";
import type { SendOptions } from "../../delivery/target.ts";
import type { Engine } from "../../engine.ts";
import type { OpenOptions } from "../../engines/open.ts";
import { INPUT_FORMATS } from "../../intake/input.ts";
import type { InputSource, ReadOptions } from "../../intake/read-items.ts";
import { ERROR_ORIGINS } from "../../item/error-log.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../../item/error-type.ts";
import { GROUP_STATES } from "../../item/group.ts";
import type { Job } from "../../item/job.ts";
import type { Operation } from "../../item/operation.ts";
import type { Rate } from "../../item/rate.ts";
import type { AddItemsOptions } from "../../queue/add-items.ts";
import type { ErrorLogQuery } from "../../queue/error-log.ts";
import type { ImportItemsOptions, RowFields } from "../../queue/import-items.ts";
import type { QueueAct } from "../../queue/queue.ts";
import { ITEM_FORMATS } from "../../queue/read-rows.ts";
import { policy } from "../../queue/settings-schema.ts";
import type { CorrectOptions, NamedGroup, RebuildOptions } from "../../redrive/correct-groups.ts";
import type { LimitSettings } from "../../redrive/limits.ts";
import type { ClassRule } from "../../retry/class-rule.ts";
import type { MapOptions } from "../../run/map.ts";
import type { MapInput, MapSpec } from "../../run/map-spec.ts";
import type { ResumeOptions } from "../../run/resume.ts";
import type { RunOptions } from "../../runner/run-options.ts";
import type { DirectoryOptions } from "../../service/letter-directory.ts";
import type { MetricsTextOptions } from "../../service/metrics-text.ts";
import * as t from "../../std/check-input.ts";
import type { Clock } from "../../std/clock.ts";
import type { CopyOptions } from "../../store/copy.ts";
import type { GroupRule } from "../../triage/grouping.ts";
import { jsonProblem } from "./json-data.ts";
import type { RunDeps, TargetOptions } from "./letter-limits.ts";

export { policy };
export const callback = t.anyThat((value) => typeof value === "function", "a function");
export const json = t.anyThat(
  (value) => jsonProblem(value) === undefined,
  "data that can be represented as JSON",
);
export const signal = t.anyThat((value) => value instanceof AbortSignal, "an AbortSignal");
export const engine = t.anyThat(
  (value) => hasAll<Engine>(value, "function", "add", "count"),
  "an open store",
);
export const clock = t.anyThat((value) => hasAll<Clock>(value, "function", "now", "sleep"), "a clock");
export const job = t.anyThat((value) => hasAll<Job>(value, "string", "id", "kind"), "a job of the store");
export const operation = t.anyThat(
  (value) => hasAll<Operation>(value, "string", "id", "kind"),
  "an operation of the store",
);
/** An object that is not checked further, such as a stream, an environment or a letter. */
export const thing = t.anyThat((value) => typeof value === "object" && value !== null, "an object");

function hasAll<T>(value: unknown, kind: "function" | "string", ...names: readonly (keyof T)[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((key) => typeof (value as T)[key] === kind);
}

export const number = t.numberThat(Number.isFinite, "a number");
export const rate = t.objectOf<Rate>({ perSecond: t.above0 });
export const errorTypeName = t.oneOf(ERROR_TYPE_NAMES);
export const errorClass = t.oneOf(ERROR_CLASSES);

export const groupRules = t.listOf(
  t.objectOf<GroupRule>({
    name: t.name,
    match: t.objectOf<GroupRule["match"]>({
      ...t.optional(t.listOf(errorTypeName), "types"),
      ...t.optional(t.listOf(errorClass), "classes"),
      ...t.optional(t.texts, "steps"),
      ...t.optional(t.text, "text", "pattern"),
    }),
  }),
);

export const classRules = t.listOf(
  t.objectOf<ClassRule>({
    match: t.objectOf<ClassRule["match"]>({
      ...t.optional(t.listOf(errorTypeName), "types"),
      ...t.optional(t.listOf(t.count), "exitCodes"),
      ...t.optional(t.texts, "steps"),
      ...t.optional(t.text, "text", "pattern"),
    }),
    ...t.optional(errorTypeName, "type"),
    ...t.optional(errorClass, "class"),
  }),
);

export const limitSettings = t.objectOf<LimitSettings>({
  ...t.nullable(t.count, "maxItems"),
  ...t.nullable(number, "retentionDays"),
});

// Stores and jobs

export const openOptions = t.objectOf<OpenOptions>({
  ...t.optional(clock, "clock"),
  ...t.optional(t.durationMs, "busyMsMax"),
  ...t.optional(t.count, "connectionsMax"),
  ...t.optional(t.flag, "mustExist"),
  ...t.optional(callback, "onWait"),
});

export const copyOptions = t.objectOf<CopyOptions>({
  from: engine,
  to: engine,
  ...t.optional(callback, "onProgress"),
});

/** The options of all functions that run attempts. */
const RUNNING = {
  ...t.optional(signal, "drain"),
  ...t.optional(thing, "observer"),
  ...t.optional(t.durationMs, "storeWaitMs"),
  ...t.optional(clock, "clock"),
  ...t.optional(t.text, "author"),
  ...t.optional(t.count, "poisonAfter"),
  ...t.optional(groupRules, "groupRules"),
  ...t.optional(classRules, "classRules"),
};

export const runDeps = t.objectOf<RunDeps>({
  ...RUNNING,
  engine,
  home: t.name,
  stop: signal,
  ...t.optional(limitSettings, "limits"),
  ...t.optional(t.listOf(thing), "fixes"),
  ...t.optional(t.listOf(callback), "services"),
  ...t.optional(t.flag, "isOutputWanted"),
  ...t.optional(thing, "prices", "control"),
  ...t.optional(t.durationMs, "abandonAfterMs"),
});

export const runOptions = t.objectOf<RunOptions>({
  ...RUNNING,
  engine,
  queue: t.name,
  policy,
  handler: callback,
  slots: t.positive,
  stop: signal,
  ...t.optional(callback, "askHandler", "feed", "settings", "random", "beforeSettle", "stopReason"),
  ...t.optional(t.name, "operationId", "evidenceFolder", "startMarksFolder"),
  ...t.optional(thing, "commandQueue", "control"),
  ...t.optional(t.flag, "keepGoing"),
  ...t.optional(rate, "rate", "ownRate"),
  ...t.optional(t.durationMs, "abandonAfterMs", "holderTtlMs"),
  ...t.optional(t.positive, "waitingMax"),
});

const INPUT = {
  path: t.name,
  ...t.optional(t.oneOf(INPUT_FORMATS), "format"),
  ...t.optional(t.name, "idField"),
  ...t.optional(
    z.union([z.boolean(), z.string()], { error: "expected true, false or the name of a field" }),
    "distinct",
  ),
};

export const inputSource = t.objectOf<InputSource>(INPUT);
export const readOptions = t.objectOf<ReadOptions>({
  ...t.optional(thing, "stdin"),
  ...t.optional(t.positive, "batchMax"),
  ...t.optional(signal, "signal"),
});

export const mapOptions = t.objectOf<MapOptions>({
  spec: t.objectOf<MapSpec>({
    command: t.texts.min(1, { error: "expected a command and its arguments" }),
    cwd: t.name,
    input: t.objectOf<MapInput>(INPUT),
    jobs: t.positive,
    graceMs: t.durationMs,
    policy,
    ...t.optional(t.flag, "allowOptions", "keepEvidence"),
    ...t.optional(t.durationMs, "timeoutMs"),
    ...t.optional(t.name, "failureCommand"),
  }),
  ...t.optional(t.name, "name"),
  ...t.optional(t.flag, "acceptChanges"),
  ...t.optional(thing, "stdin"),
  ...t.optional(callback, "onJob", "onNotice"),
});

export const resumeOptions = t.objectOf<ResumeOptions>({
  withLetters: t.flag,
  ...t.optional(t.name, "job", "cwd"),
  ...t.optional(t.flag, "acceptChanges"),
  ...t.optional(thing, "budget"),
  ...t.optional(t.positive, "slots"),
  ...t.optional(callback, "onJob", "onNotice", "onPhaseStep", "onPhaseWait", "onAgentStep", "askMerge"),
});

const DIRECTORY = {
  home: t.name,
  ...t.optional(t.name, "dlqDir"),
  ...t.nullable(t.count, "itemsMax"),
  ...t.nullable(number, "retentionDays"),
};

export const directoryOptions = t.objectOf<DirectoryOptions>(DIRECTORY);
export const changedDirectory = t.objectOf<DirectoryOptions & { readonly changed?: readonly string[] }>({
  ...DIRECTORY,
  ...t.optional(t.texts, "changed"),
});

export const capsuleOptions = t.objectOf<CapsuleOptions>({
  version: t.text,
  env: thing,
  ...t.optional(t.texts, "names"),
});

/** A loose schema, because a group read from the store has more fields. */
export const namedGroup = z.looseObject({ signature: t.name, pattern: t.text } satisfies Record<
  keyof NamedGroup,
  z.ZodType
>);
const CORRECT = { author: t.name, ...t.optional(callback, "onProgress") };
export const correctOptions = t.objectOf<CorrectOptions>(CORRECT);
export const splitOptions = t.objectOf<CorrectOptions & { text: string; name?: string }>({
  ...CORRECT,
  text: t.name,
  ...t.optional(t.name, "name"),
});
export const mergeRequest = t.objectOf<{ groups: readonly NamedGroup[]; into: NamedGroup }>({
  groups: t.listOf(namedGroup),
  into: namedGroup,
});
export const groupQuery = t.objectOf<{
  queue?: string;
  states: readonly string[];
  limit?: number;
  cursor?: string;
}>({
  ...t.optional(t.name, "queue", "cursor"),
  ...t.optional(t.positive, "limit"),
  states: t.listOf(t.oneOf(GROUP_STATES)),
});
export const rebuildOptions = t.objectOf<RebuildOptions>({
  rules: groupRules,
  ...t.optional(t.name, "queue"),
  ...t.optional(t.flag, "dryRun"),
  ...t.optional(callback, "onProgress"),
});

/** The conditions of an error query, except the queues. */
export const ERROR_QUERY = {
  limit: t.positive,
  ...t.optional(t.text, "itemId"),
  ...t.optional(t.oneOf(ERROR_ORIGINS), "origin"),
  ...t.optional(t.time, "since"),
  ...t.optional(t.count, "before"),
};
export const errorLogQuery = t.objectOf<ErrorLogQuery>({ ...ERROR_QUERY, ...t.optional(t.texts, "queues") });
export const followOptions = t.objectOf<{ stop: AbortSignal; clock?: unknown }>({
  stop: signal,
  ...t.optional(clock, "clock"),
});
export const metricsTextOptions = t.objectOf<MetricsTextOptions>(t.optional(t.text, "prefix"));

// Queues and targets

export const addItemsOptions = t.objectOf<AddItemsOptions>({
  ...t.optional(t.text, "author"),
  ...t.optional(thing, "transaction"),
});
export const queueAct = t.objectOf<QueueAct>(t.optional(t.text, "author", "reason"));

export const importItemsOptions = t.objectOf<ImportItemsOptions>({
  ...t.optional(t.text, "author"),
  ...t.optional(t.oneOf(ITEM_FORMATS), "format"),
  ...t.optional(
    t.objectOf<RowFields>(t.optional(t.text, "key", "name", "priority", "due", "expires", "orderingKey")),
    "fields",
  ),
  ...t.optional(t.flag, "isEnvelope", "isTyped", "isDry"),
  ...t.optional(callback, "onRefused", "onProgress"),
  ...t.optional(thing, "stdin"),
  ...t.optional(signal, "signal"),
});

const LETTER_LIMITS = {
  ...t.optional(limitSettings, "limits"),
  ...t.optional(t.name, "home"),
  ...t.optional(callback, "onNotice", "alongside"),
};

const { author: _, drain: __, observer: ___, ...WORKING } = RUNNING;

export const TARGET_OPTIONS = {
  ...targetSettings,
  ...WORKING,
  ...LETTER_LIMITS,
  ...t.optional(
    t.anyThat(
      (value) => typeof value === "function" || (typeof value === "object" && value !== null),
      "a function that sends a receipt, or a protocol",
    ),
    "deliver",
  ),
  ...t.optional(t.flag, "isDelivering"),
  ...t.optional(t.positive, "concurrency"),
  ...t.optional(rate, "ownRate"),
  ...t.optional(callback, "onSettled", "onPaused", "onError"),
  ...t.optional(thing, "env"),
};

export const targetOptions = t.objectOf<TargetOptions>(TARGET_OPTIONS);

export const sendOptions = t.objectOf<SendOptions>({
  ...t.optional(t.text, "key", "orderingKey", "order"),
  ...t.optional(t.flag, "wait"),
  ...t.optional(signal, "signal"),
});
