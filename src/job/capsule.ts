/** Makes a capsule of a letter: reads the store, the logs and the worktree, and takes every secret out of what it found. */
import { readFile } from "node:fs/promises";
import { CAPSULE_VERSION, type Capsule } from "../dead-letter/capsule.ts";
import { eventsAt } from "../dead-letter/item-events.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import { eventToJson } from "../item/event.ts";
import { compact, failureToJson } from "../item/failure.ts";
import type { Attempt } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { letterToJson } from "../item/letter.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import { readChanges, readGitState } from "./capsule-changes.ts";
import { readFiles } from "./capsule-files.ts";
import { type CapsuleMask, capsuleMask } from "./capsule-mask.ts";
import { requireJob } from "./find-job.ts";
import { specOf } from "./map-spec.ts";
import { digestOf, workflowSpecOf } from "./workflow-spec.ts";

export interface CapsuleOptions {
  /** The version of Redrive that makes it. */
  readonly version: string;
  /** Where variables are taken from. */
  readonly env: NodeJS.ProcessEnv;
  /** Variables that go in besides the usual ones. */
  readonly names?: readonly string[];
}

/** Values of these tell how a program behaves, and hardly ever a secret. No other variable goes in unasked. */
export const USUAL_VARIABLES = [
  ...["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "SHELL", "NODE_ENV", "CI"],
] as const;

/** All that is known of the letter. Nothing of it is in the store afterwards. */
export async function makeCapsule(
  engine: Engine,
  letter: StoredLetter,
  { version, env, names = [] }: CapsuleOptions,
): Promise<Capsule> {
  const job = await requireJob(engine, letter.queue);
  const mask = capsuleMask(job, env);
  const attempts = await engine.listAttempts(letter.ref);
  const changes = await readChanges(letter, attempts, mask);
  const files = await readFiles(attempts, mask);
  const capsule: Capsule = {
    capsule: CAPSULE_VERSION,
    made_at: toRfc3339(await engine.now()),
    redrive_version: version,
    machine: { platform: process.platform, arch: process.arch, node: process.version },
    git: await readGitState(job),
    job: await jobToJson(job),
    environment: environmentOf(env, [...USUAL_VARIABLES, ...names]),
    letter: letterToJson(letter),
    attempts: attempts.map(attemptToJson),
    events: (await eventsAt(engine, letter, momentsOf(letter, attempts))).map(eventToJson),
    files: files.files,
    changes: changes.changes,
    missing: [...mask.missing, ...files.missing, ...changes.missing],
  };
  return mapTexts(capsule, mask) as unknown as Capsule;
}

async function jobToJson(job: Job): Promise<JsonObject> {
  const { cwd, command } = specOf(job);
  return compact({
    job_id: job.id,
    name: job.name,
    kind: job.kind,
    status: job.status,
    cwd,
    command: job.kind === "map" ? command : undefined,
    workflow: job.kind === "workflow" ? await workflowToJson(job) : undefined,
    spec: job.spec,
  }) as JsonObject;
}

/** The text as the file has it now, and whether that is still what the job runs; `spec` has what it runs in any case. */
async function workflowToJson(job: Job): Promise<JsonObject> {
  const { file, digest, variables } = workflowSpecOf(job);
  const text = await readFile(file, "utf8").catch(() => null); // it may be gone; the spec has the steps
  return { file, text, is_unchanged: text !== null && digestOf(text) === digest, variables };
}

function environmentOf(env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function attemptToJson(attempt: Attempt): JsonObject {
  return compact({
    attempt_number: attempt.number,
    outcome: attempt.outcome,
    holder: attempt.holder,
    started_at: toRfc3339(attempt.startedAt),
    ended_at: attempt.endedAt === undefined ? undefined : toRfc3339(attempt.endedAt),
    failure: attempt.failure && failureToJson(attempt.failure),
    log: attempt.log,
    result: attempt.result,
  });
}

/** When something happened to it, as far as its own records say. */
function momentsOf(letter: StoredLetter, attempts: readonly Attempt[]): number[] {
  return [
    ...attempts.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt ?? startedAt]),
    ...(letter.amendments ?? []).map(({ at }) => at),
    ...(letter.evidence ?? []).map(({ at }) => at),
    ...(letter.resolution === undefined ? [] : [letter.resolution.at]),
  ];
}

/** Secrets are looked for in every text, names of fields too. */
function mapTexts(value: Json | Capsule, mask: CapsuleMask): Json {
  if (typeof value === "string") return mask.text(value);
  if (Array.isArray(value)) return value.map((entry: Json) => mapTexts(entry, mask));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => [
    mask.text(key),
    mapTexts(entry as Json, mask),
  ]);
  return Object.fromEntries(entries) as Json;
}
