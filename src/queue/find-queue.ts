/** Finds a named queue or a target, or says which there are. Never finds a job that ends. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { nearest } from "../kit/nearest.ts";

/** The queue of that name, or a `job_not_found` error that lists what is there. */
export async function requireQueue(engine: Engine, name: string): Promise<Job> {
  const found = await engine.findJob(name);
  if (found?.kind === "queue") return found;
  if (found !== null) throw noQueue(found);
  const names = (await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ["queue"] })).map(({ id }) => id);
  throw new WorkError("job_not_found", `There is no queue ${name}.`, { hint: hintFor(name, names) });
}

/** The target of receipts of that name, or a `job_not_found` error that lists what is there. */
export async function requireTarget(engine: Engine, name: string): Promise<Job> {
  const found = await engine.findJob(name);
  if (found?.kind === "target") return found;
  const what = found === null ? "" : `: it is a ${found.kind === "queue" ? "queue" : "job"}`;
  const names = (await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ["target"] })).map(({ id }) => id);
  const hint = hintFor(name, names, `redrive receipts target ${name || "NAME"} --url URL`);
  throw new WorkError("job_not_found", `There is no target ${name}${what}.`, { hint });
}

function noQueue({ id, kind }: Job): WorkError {
  const what = kind === "target" ? "a target of receipts" : "a job";
  return new WorkError("job_not_found", `There is no queue ${id}: it is ${what}.`, {
    hint: `\`redrive ${kind === "target" ? "receipts target" : "status"} ${id}\` shows it.`,
  });
}

const LOOK_AT_MAX = 1000;
const NAMED_MAX = 10;

function hintFor(
  name: string,
  names: readonly string[],
  make = `redrive queue create ${name || "NAME"}`,
): string {
  if (names.length === 0) return `There are none yet: \`${make}\` makes one.`;
  const meant = nearest(name, names);
  const listed = [...names].sort().slice(0, NAMED_MAX).join(", ");
  const all = `There ${names.length === 1 ? "is" : "are"}: ${listed}${names.length > NAMED_MAX ? ", …" : ""}.`;
  return meant === undefined ? all : `Is it ${meant}? ${all}`;
}
