/** Argument schemas of the functions that run jobs or read a whole store. */
import * as z from "zod";
import type { CapsuleOptions } from "../dead-letter/make-capsule.ts";
import type { OpenOptions } from "../engines/open.ts";
import { INPUT_FORMATS } from "../intake/input.ts";
import type { InputSource, ReadOptions } from "../intake/read-items.ts";
import { ERROR_ORIGINS } from "../item/error-log.ts";
import { GROUP_STATES } from "../item/group.ts";
import type { ErrorLogQuery } from "../queue/error-log.ts";
import type { CorrectOptions, NamedGroup } from "../redrive/correct-groups.ts";
import type { RebuildOptions } from "../redrive/rebuild-groups.ts";
import type { MapOptions } from "../run/map.ts";
import type { MapInput, MapSpec } from "../run/map-spec.ts";
import type { ResumeOptions } from "../run/resume.ts";
import type { RetryOptions } from "../run/retry.ts";
import type { RunOptions } from "../runner/run-options.ts";
import type { DirectoryPlace } from "../service/letter-directory.ts";
import type { MetricsTextOptions } from "../service/metrics-text.ts";
import type { CopyOptions } from "../store/copy.ts";
import {
  callback,
  classRules,
  clock,
  count,
  durationMs,
  flag,
  groupRules,
  job,
  listOf,
  name,
  number,
  objectOf,
  oneOf,
  positive,
  rate,
  signal,
  store,
  text,
  texts,
  thing,
  time,
} from "./common-schemas.ts";
import { limitSettings } from "./letter-limits.ts";
import { redrivePlan, selection } from "./letter-schemas.ts";
import type { RunDeps } from "./options.ts";
import { policy } from "./policy-schemas.ts";

export const openOptions = objectOf<OpenOptions>({
  clock: clock.optional(),
  busyMsMax: durationMs.optional(),
  mustExist: flag.optional(),
  onWait: callback.optional(),
});

export const runDeps = objectOf<RunDeps>({
  limits: limitSettings.optional(),
  engine: store,
  home: name,
  stop: signal,
  drain: signal.optional(),
  observer: thing.optional(),
  storeWaitMs: durationMs.optional(),
  clock: clock.optional(),
  author: text.optional(),
  poisonAfter: count.optional(),
  groupRules: groupRules.optional(),
  classRules: classRules.optional(),
  fixes: listOf(thing).optional(),
  services: listOf(callback).optional(),
  isOutputWanted: flag.optional(),
});

const fieldOrFlag = z.union([z.boolean(), z.string()], {
  error: "expected true, false or the name of a field",
});

const INPUT = {
  path: name,
  format: oneOf(INPUT_FORMATS).optional(),
  idField: name.optional(),
  distinct: fieldOrFlag.optional(),
};

export const inputSource = objectOf<InputSource>(INPUT);
export const readOptions = objectOf<ReadOptions>({
  stdin: thing.optional(),
  batchMax: positive.optional(),
  signal: signal.optional(),
});

const mapSpec = objectOf<MapSpec>({
  command: z.array(text).min(1, { error: "expected a command and its arguments" }),
  allowOptions: flag.optional(),
  cwd: name,
  input: objectOf<MapInput>(INPUT),
  jobs: positive,
  timeoutMs: durationMs.optional(),
  graceMs: durationMs,
  keepEvidence: flag.optional(),
  policy,
  failureCommand: name.optional(),
});

export const mapOptions = objectOf<MapOptions>({
  spec: mapSpec,
  name: name.optional(),
  acceptChanges: flag.optional(),
  stdin: thing.optional(),
  onJob: callback.optional(),
  onNotice: callback.optional(),
});

export const resumeOptions = objectOf<ResumeOptions>({
  job: name.optional(),
  cwd: name.optional(),
  withLetters: flag,
  acceptChanges: flag.optional(),
  slots: positive.optional(),
  onJob: callback.optional(),
  onNotice: callback.optional(),
  onPhaseStep: callback.optional(),
  onPhaseWait: callback.optional(),
  onAgentStep: callback.optional(),
  askMerge: callback.optional(),
});

export const retryOptions = objectOf<RetryOptions>({
  job,
  selection,
  author: name,
  force: flag.optional(),
  plan: redrivePlan.optional(),
  onOperation: callback.optional(),
  onNotice: callback.optional(),
  onFinish: callback.optional(),
  askMerge: callback.optional(),
});

export const runOptions = objectOf<RunOptions>({
  engine: store,
  queue: name,
  policy,
  handler: callback,
  slots: positive,
  askHandler: callback.optional(),
  operationId: name.optional(),
  feed: callback.optional(),
  keepGoing: flag.optional(),
  rate: rate.optional(),
  ownRate: rate.optional(),
  settings: callback.optional(),
  stop: signal,
  drain: signal.optional(),
  abandonAfterMs: durationMs.optional(),
  storeWaitMs: durationMs.optional(),
  observer: thing.optional(),
  clock: clock.optional(),
  random: callback.optional(),
  holderTtlMs: durationMs.optional(),
  author: text.optional(),
  evidenceFolder: name.optional(),
  poisonAfter: count.optional(),
  groupRules: groupRules.optional(),
  classRules: classRules.optional(),
});

const PLACE = {
  home: name,
  dlqDir: name.optional(),
  itemsMax: count.nullish(),
  retentionDays: number.nullish(),
};

export const directoryPlace = objectOf<DirectoryPlace>(PLACE);
export const changedDirectory = objectOf<DirectoryPlace & { readonly changed?: readonly string[] }>({
  ...PLACE,
  changed: texts.optional(),
});

export const capsuleOptions = objectOf<CapsuleOptions>({
  version: text,
  env: thing,
  names: texts.optional(),
});

/** Loose, because a group read from the store has more fields. */
export const namedGroup = z.looseObject({ signature: name, pattern: text } satisfies Record<
  keyof NamedGroup,
  z.ZodType
>);
export const mergeRequest = objectOf<{ groups: readonly NamedGroup[]; into: NamedGroup }>({
  groups: listOf(namedGroup),
  into: namedGroup,
});
export const correctOptions = objectOf<CorrectOptions>({ author: name, onProgress: callback.optional() });
export const splitOptions = objectOf<CorrectOptions & { text: string; name?: string }>({
  author: name,
  onProgress: callback.optional(),
  text: name,
  name: name.optional(),
});
export const groupQuery = objectOf<{ queue?: string; states: readonly string[] }>({
  queue: name.optional(),
  states: listOf(oneOf(GROUP_STATES)),
});
export const rebuildOptions = objectOf<RebuildOptions>({
  queue: name.optional(),
  rules: groupRules,
  dryRun: flag.optional(),
  onProgress: callback.optional(),
});

export const errorLogQuery = objectOf<ErrorLogQuery>({
  queues: texts.optional(),
  itemId: text.optional(),
  origin: oneOf(ERROR_ORIGINS).optional(),
  since: time.optional(),
  before: count.optional(),
  limit: positive,
});
export const followOptions = objectOf<{ stop: AbortSignal; clock?: unknown }>({
  stop: signal,
  clock: clock.optional(),
});

export const metricsTextOptions = objectOf<MetricsTextOptions>({ prefix: text.optional() });
export const copyOptions = objectOf<CopyOptions>({
  from: store,
  to: store,
  onProgress: callback.optional(),
});
