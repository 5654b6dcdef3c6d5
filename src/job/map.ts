/** `redrive map`: makes the job, or goes on with the one of that name, and runs it while its input streams in. */
import type { Readable } from "node:stream";
import { compileCommand } from "../attempt/template.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { requireInput } from "../intake/input.ts";
import { readItems } from "../intake/read-items.ts";
import type { Job } from "../item/job.ts";
import { canonicalJson } from "../kit/json.ts";
import { randomName } from "../kit/random.ts";
import type { Feed } from "../runner/runner.ts";
import { type MapSpec, specOf, specToJson } from "./map-spec.ts";
import { requireCommand } from "./require-command.ts";
import { type RunDeps, runJob } from "./run-job.ts";
import { slugOf } from "./slug.ts";
import { type JobSummary, summarise } from "./summary.ts";

/** What to map, and whom to tell. */
export interface MapOptions {
  readonly spec: MapSpec;
  /** Goes on with the job of this name when there is one. Default: a new name. */
  readonly name?: string;
  /** Go on even though the job of that name had another command. */
  readonly acceptChanges?: boolean;
  /** What `-` reads. */
  readonly stdin?: Readable;
  /** Told as soon as the job is there. */
  readonly onJob?: (job: Job) => void;
  /** Told about input that is not taken as it stands. */
  readonly onNotice?: (notice: string) => void;
}

/** How a job ended. */
export interface MapResult {
  readonly summary: JobSummary;
  readonly stopReason?: string;
}

/** Makes the job or goes on with the one of that name, and runs it to its end. */
export async function startMap(deps: RunDeps, options: MapOptions): Promise<MapResult> {
  compileCommand(options.spec.command);
  requireCommand(options.spec);
  await requireInput(options.spec.input.path);
  const job = await openJob(deps.engine, options);
  options.onJob?.(job);
  const feed = inputFeed(deps, job, options);
  const { onNotice } = options;
  const run = { job, slots: options.spec.jobs, feed, ...(onNotice && { onNotice }) };
  const result = await runJob(deps, run).catch(async (error: unknown) => {
    throw await inputFault(deps.engine, job, error);
  });
  const summary = await summarise(deps.engine, await currentJob(deps.engine, job));
  return { summary, ...(result.reason !== undefined && { stopReason: result.reason }) };
}

/** An input that cannot be read to its end leaves a job: names it, what it has done, and how to resume it. */
export async function inputFault(engine: Engine, job: Job, error: unknown): Promise<unknown> {
  if (!(error instanceof WorkError) || error.code !== "input_invalid") return error;
  const { total, done, dead } = await engine.count(job.id);
  const left = total - done - dead;
  const facts = [
    `${done} done`,
    ...(dead > 0 ? [`${dead} dead`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ];
  const isStdin = specOf(job).input.path === "-";
  const again = isStdin ? `the same command with --name ${job.name}` : `redrive resume ${job.id}`;
  return new WorkError(
    error.code,
    `${error.message}\nThe job ${job.id} has the ${total} items before it: ${facts.join(", ")}.`,
    { cause: error, hint: `Correct the input; items that are done are not repeated. Then: ${again}` },
  );
}

/** Reads the input into the queue, batch by batch; what the queue has already is not added again. */
export function inputFeed(deps: RunDeps, job: Job, options: Pick<MapOptions, "stdin" | "onNotice">): Feed {
  const { input } = specOf(job);
  return async function* (patience, signal) {
    let changed = 0;
    const reading = { signal, ...(options.stdin && { stdin: options.stdin }) };
    try {
      for await (const batch of readItems(input, reading)) {
        const report = await patience.through(() => deps.engine.add(job.id, batch.items));
        if (changed === 0 && report.changed > 0) options.onNotice?.(changedNotice(report.changedIds));
        changed += report.changed;
        yield report.added;
      }
    } catch (error) {
      if (signal.aborted) return; // the reading was stopped, not wrong
      throw error;
    }
    await patience.through(() => deps.engine.changeJob(job.id, { intakeComplete: true }));
  };
}

function changedNotice(ids: readonly string[]): string {
  const shown = ids.slice(0, 3).join(", ");
  return `Items with the same id but other data were met (${shown}${ids.length > 3 ? ", …" : ""}); the data that came first is kept.`;
}

async function openJob(engine: Engine, options: MapOptions): Promise<Job> {
  const { name, spec } = options;
  const found = name === undefined ? null : await engine.findJob(name);
  if (found !== null) return reopenJob(engine, found, options);
  const id = `${slugOf(name ?? spec.command[0] ?? "map", "map")}-${randomName(8)}`;
  try {
    return await engine.createJob({ id, name: name ?? id, kind: "map", spec: specToJson(spec) });
  } catch (error) {
    // Another process made the job of that name a moment before: this one joins it.
    const made = name === undefined ? null : await engine.findJob(name);
    if (made === null) throw error;
    return reopenJob(engine, made, options);
  }
}

/** Same name, same work: it goes on. Another command under an old name is more likely a mistake. */
async function reopenJob(engine: Engine, job: Job, { spec, acceptChanges }: MapOptions): Promise<Job> {
  if (job.kind !== "map") {
    throw new WorkError(
      "job_changed",
      `The name ${job.name} is taken: ${job.id} is a ${job.kind}, not a map.`,
      {
        hint: "Choose another --name.",
      },
    );
  }
  const before = specOf(job);
  const same =
    canonicalJson([...before.command]) === canonicalJson([...spec.command]) && before.cwd === spec.cwd;
  if (!same && !acceptChanges) {
    throw new WorkError(
      "job_changed",
      `The job ${job.name} runs another command: ${before.command.join(" ")} (in ${before.cwd}).`,
      {
        hint: "Choose another --name, or give --accept-changes to go on with the new command.",
      },
    );
  }
  return engine.changeJob(job.id, {
    status: "running",
    restarted: true,
    intakeComplete: false,
    spec: specToJson(spec),
    event: { type: "job_resumed", data: { changed: !same } },
  });
}

async function currentJob(engine: Engine, job: Job): Promise<Job> {
  return (await engine.findJob(job.id)) ?? job;
}
