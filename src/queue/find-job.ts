/** Finds jobs, queues and targets by the name that a user gives. */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { ENDING_KINDS, type Job, type JobKind } from "../item/job.ts";
import { nearest } from "../std/nearest.ts";

/** Finds a job by its id or name, else the latest whose id was generated from the name. Throws `job_not_found`. */
export async function requireJob(engine: Engine, idOrName: string): Promise<Job> {
  const job = (await engine.findJob(idOrName)) ?? (await latestOf(engine, slugOf(idOrName)));
  if (job !== undefined) return job;
  throw new RedriveError("job_not_found", `There is no job ${idOrName}.`, {
    hint: "Run `redrive jobs` to list all jobs.",
  });
}

const LOOK_AT_MAX = 200;

/** Finds the latest job with a generated id, e.g. `fix-lint-7h2k9m4x` for `fix-lint`. */
async function latestOf(engine: Engine, slug: string): Promise<Job | undefined> {
  const jobs = await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ENDING_KINDS });
  return jobs.find(({ id }) => id.startsWith(`${slug}-`) && /^-[a-z0-9]{8}$/.test(id.slice(slug.length)));
}

/** Finds the latest map or workflow of the folder, else the latest of all. */
export async function requireLatestJob(engine: Engine, cwd: string): Promise<Job> {
  const jobs = await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ["map", "workflow"] });
  const latest = jobs.find((job) => isOfFolder(job, cwd)) ?? jobs[0];
  if (latest !== undefined) return latest;
  throw new RedriveError("job_not_found", "There are no jobs yet.", {
    hint: "Start one: `redrive map -- COMMAND`, `redrive run WORKFLOW`, or `redrive demo` to try Redrive out.",
  });
}

const PAGE_JOBS = 200;

/** Yields each job of the kinds, or of all, once. Pages are delimited by creation time, which several jobs may share. */
export async function* everyJob(engine: Engine, kinds?: readonly JobKind[]): AsyncGenerator<Job> {
  const seen = new Set<string>();
  let limit = PAGE_JOBS;
  let before: { readonly before?: number } = {};
  for (;;) {
    const page = await engine.listJobs({ limit, ...before, ...(kinds && { kinds }) });
    const fresh = page.filter(({ id }) => !seen.has(id));
    yield* fresh;
    if (page.length < limit) return;
    if (fresh.length === 0) limit *= 2; // more jobs share a creation time than fit on a page
    for (const { id } of fresh) seen.add(id);
    before = { before: Math.min(...page.map(({ createdAt }) => createdAt)) + 1 };
  }
}

export function slugOf(text: string, otherwise = "job"): string {
  const slug = basename(text)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 24);
  return slug || otherwise;
}

/** Returns the command for display, e.g. `gzip -k {}` or `run fix-lint.yml`. */
export function commandText({ kind, spec }: Pick<Job, "kind" | "spec">): string {
  if (Array.isArray(spec.command)) return spec.command.map(String).join(" ");
  if (typeof spec.file === "string") return `run ${basename(spec.file)}`;
  return kind === "imported" ? "(imported letters)" : `(${kind})`;
}

/** The folder that the job was started in; undefined for imported letters. */
export function folderOf({ spec }: Pick<Job, "spec">): string | undefined {
  return typeof spec.cwd === "string" ? spec.cwd : undefined;
}

/** Whether the job was started in this folder, or in the same git repository. */
export function isOfFolder(job: Pick<Job, "spec">, cwd: string): boolean {
  const folder = folderOf(job);
  if (folder === undefined) return false;
  return resolve(folder) === resolve(cwd) || (gitTopOf(cwd) !== null && gitTopOf(folder) === gitTopOf(cwd));
}

/** Returns the top level of the git repository that contains the folder, or null. */
export function gitTopOf(folder: string): string | null {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}

/** Throws because queues and targets are processed by workers and cannot be run like a job. */
export function refuseStanding(job: Job): never {
  const { id, kind } = job;
  if (kind === "target")
    throw new RedriveError("usage", `${id} is a receipt target, not a job that can be run.`, {
      hint: "Run `redrive receipts --help` to see the commands for targets.",
    });
  throw new RedriveError("usage", `${id} is a queue, which workers process. It cannot be run like a job.`, {
    hint: `Run \`redrive queue show ${id}\` to see its status. Start a worker: redrive worker --queue ${id} -- COMMAND`,
  });
}

export async function requireQueue(engine: Engine, name: string): Promise<Job> {
  const found = await engine.findJob(name);
  if (found?.kind === "queue") return found;
  const isTarget = found?.kind === "target";
  const hint = found
    ? `Run \`redrive ${isTarget ? "receipts target" : "status"} ${found.id}\` to see it.`
    : await hintFor(engine, name, "queue", `redrive queue create ${name || "NAME"}`);
  const what = found === null ? "" : `: it is ${isTarget ? "a receipt target" : "a job"}`;
  throw new RedriveError("job_not_found", `There is no queue ${found?.id ?? name}${what}.`, { hint });
}

export async function requireTarget(engine: Engine, name: string): Promise<Job> {
  const found = await engine.findJob(name);
  if (found?.kind === "target") return found;
  const what = found === null ? "" : `: it is a ${found.kind === "queue" ? "queue" : "job"}`;
  const hint = await hintFor(engine, name, "target", `redrive receipts target ${name || "NAME"} --url URL`);
  throw new RedriveError("job_not_found", `There is no target ${name}${what}.`, { hint });
}

const QUEUES_MAX = 1000;
const NAMED_MAX = 10;

async function hintFor(engine: Engine, name: string, kind: "queue" | "target", create: string) {
  const names = (await engine.listJobs({ limit: QUEUES_MAX, kinds: [kind] })).map(({ id }) => id);
  if (names.length === 0) return `There are no ${kind}s yet. Run \`${create}\` to create one.`;
  const meant = nearest(name, names);
  const listed = `${names.sort().slice(0, NAMED_MAX).join(", ")}${names.length > NAMED_MAX ? ", …" : ""}`;
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}Existing ${kind}s: ${listed}.`;
}
