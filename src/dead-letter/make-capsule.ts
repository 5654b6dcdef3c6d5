/** Makes a capsule from a letter: reads the store, the logs and the worktree, and masks all secrets. */
import { readFile } from "node:fs/promises";
import type { Engine, StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { eventToJson } from "../item/event.ts";
import { type Attempt, attemptToJson } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { letterToJson } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import { type Masker, maskerOf, SECRET_CHARS_MIN } from "../workflow/secrets.ts";
import { environmentOf } from "../workflow/variables.ts";
import { digestOf, workflowSpecOf } from "../workflow/workflow-spec.ts";
import { CAPSULE_VERSION, type Capsule } from "./capsule.ts";
import { readChanges, readFiles, readGitState } from "./capsule-attachments.ts";
import { eventsAt } from "./history.ts";

/** The version and environment for a new capsule. */
export interface CapsuleOptions {
  /** The version of Redrive that makes the capsule. */
  readonly version: string;
  readonly env: NodeJS.ProcessEnv;
  readonly names?: readonly string[];
}

/** Variables that affect how programs behave and rarely contain secrets. */
export const USUAL_VARIABLES = [
  "PATH",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TERM",
  "SHELL",
  "NODE_ENV",
  "CI",
];

export async function makeCapsule(engine: Engine, letter: StoredLetter, options: CapsuleOptions) {
  const { version, env, names = [] } = options;
  const job = await jobOf(engine, letter);
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
    environment: variablesOf(env, [...USUAL_VARIABLES, ...names]),
    letter: letterToJson(letter),
    attempts: attempts.map(attemptToJson),
    events: (await eventsAt(engine, letter, momentsOf(letter, attempts))).map(eventToJson),
    files: files.found,
    changes: changes.found,
    missing: [...mask.missing, ...files.missing, ...changes.missing],
  };
  return mapTexts(capsule, mask) as unknown as Capsule;
}

/** Reads the patches of the letter's worktree, with the secrets of its workflow masked. */
export async function readLetterChanges(engine: Engine, letter: StoredLetter) {
  const mask = capsuleMask(await jobOf(engine, letter), {});
  const { found, missing } = await readChanges(letter, await engine.listAttempts(letter.ref), mask);
  return { found, missing: found === null ? [] : [...mask.missing, ...missing] };
}

async function jobOf(engine: Engine, { queue }: StoredLetter): Promise<Job> {
  const job = await engine.findJob(queue);
  if (job !== null) return job;
  throw new RedriveError("job_not_found", `There is no job ${queue}.`, {
    hint: "Run `redrive jobs` to list all jobs.",
  });
}

async function jobToJson(job: Job): Promise<JsonObject> {
  const { cwd, command } = job.spec;
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

/** Returns the current text of the workflow file, and whether it is unchanged since the job stored it in `spec`. */
async function workflowToJson(job: Job): Promise<JsonObject> {
  const { file, digest, variables } = workflowSpecOf(job);
  const text = await readFile(file, "utf8").catch(() => null); // the file may have been deleted; the spec has the steps
  return { file, text, is_unchanged: text !== null && digestOf(text) === digest, variables };
}

function variablesOf(env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  return compact(Object.fromEntries(names.map((name) => [name, env[name]]))) as Record<string, string>;
}

function momentsOf(letter: StoredLetter, attempts: readonly Attempt[]): number[] {
  return [
    ...attempts.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt ?? startedAt]),
    ...(letter.amendments ?? []).map(({ at }) => at),
    ...(letter.lateResults ?? []).map(({ at }) => at),
    ...(letter.resolution === undefined ? [] : [letter.resolution.at]),
  ];
}

function mapTexts(value: Json | Capsule, mask: CapsuleMask): Json {
  if (typeof value === "string") return mask.text(value);
  if (Array.isArray(value)) return value.map((entry: Json) => mapTexts(entry, mask));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value) as [string, Json][];
  return Object.fromEntries(entries.map(([key, entry]) => [mask.text(key), mapTexts(entry, mask)]));
}

export interface CapsuleMask {
  text(text: string): string;
  bytes(bytes: Buffer): Buffer;
  /** A sentence for each secret that could not be masked because its value is unknown. */
  readonly missing: readonly string[];
}

/** Masks secret values from the workflow's own sources and from the current environment. */
export function capsuleMask(job: Job, env: NodeJS.ProcessEnv): CapsuleMask {
  if (job.kind !== "workflow") return maskOf(maskerOf([]), []);
  const spec = workflowSpecOf(job);
  // An env file may have been deleted; the capsule then lists its secrets as missing.
  const own = tryTo(() => environmentOf(spec)) ?? {};
  const known = spec.workflow.secrets.map((name) => {
    const found = [own[name], env[name]].filter((value) => value !== undefined);
    return { name, values: found.filter((value) => value.length >= SECRET_CHARS_MIN) };
  });
  const missing = known.filter(({ values }) => values.length === 0).map(({ name }) => notKnown(name));
  return maskOf(maskerOf(known.flatMap(({ values }) => values)), missing);
}

function maskOf({ mask, maskChunk }: Masker, missing: readonly string[]): CapsuleMask {
  const whole = { cutBefore: false, cutAfter: false };
  return {
    text: mask,
    bytes: (bytes) => Buffer.concat([...maskChunk([bytes], whole)]),
    missing,
  };
}

function notKnown(name: string): string {
  return `The value of the secret ${name} is not available here. Logs and messages do not contain it, but the item data and the patches may.`;
}
