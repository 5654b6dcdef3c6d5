/** `redrive map`: creates a job, or continues the job with the given name, and runs it while its input is read. */
import type { Readable } from "node:stream";
import { compileCommand } from "../attempt/template.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { requireInput } from "../intake/input.ts";
import { readItems } from "../intake/read-items.ts";
import type { Job } from "../item/job.ts";
import { slugOf } from "../queue/find-job.ts";
import { type JobSummary, summarise } from "../queue/job-summary.ts";
import type { Feed } from "../runner/run-options.ts";
import { canonicalJson, compact } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { isFunctionMap, type MapSpec, specOf, specToJson } from "./map-spec.ts";
import { requireCommand } from "./require-programs.ts";
import { type RunDeps, type RunJobOptions, runJob, storeRetryOf } from "./run-job.ts";

/** The map to run, and callbacks. */
export interface MapOptions {
  readonly spec: MapSpec;
  /** Continues the job with this name if it exists. Default: a new name. */
  readonly name?: string;
  /** Whether to continue even if the command of the existing job differs. Default false. */
  readonly acceptChanges?: boolean;
  /** The stream for the input path `-`. */
  readonly stdin?: Readable;
  /** Called as soon as the job exists. */
  readonly onJob?: (job: Job) => void;
  /** Called when an item of the input is ignored because its id exists with other data. */
  readonly onNotice?: (notice: string) => void;
}

/** The summary of an ended job, and the reason if it was stopped. */
export interface MapResult {
  readonly summary: JobSummary;
  readonly stopReason?: string;
}

/** Creates a job, or continues the job with the given name, and runs it to its end. */
export async function startMap(deps: RunDeps, options: MapOptions): Promise<MapResult> {
  compileCommand(options.spec.command);
  requireCommand(options.spec);
  await requireInput(options.spec.input.path);
  const job = await openJob(deps.engine, options);
  options.onJob?.(job);
  return runMap(deps, job, {
    feed: inputFeed(deps, job, options),
    slots: options.spec.jobs,
    onNotice: options.onNotice,
  });
}

export async function runMap(
  deps: RunDeps,
  job: Job,
  run: Pick<RunJobOptions, "feed" | "slots" | "onNotice">,
): Promise<MapResult> {
  const { engine } = deps;
  const { reason: stopReason } = await runJob(deps, { ...run, job }).catch(async (error: unknown) => {
    throw await inputFault(engine, job, error);
  });
  const readSummary = async () => summarise(engine, (await engine.findJob(job.id)) ?? job);
  const summary = await storeRetryOf(deps).run(readSummary);
  return compact({ summary, stopReason });
}

/** Adds to an input error the job's id, its progress and how to resume it. */
async function inputFault(engine: Engine, job: Job, error: unknown): Promise<unknown> {
  if (!(error instanceof RedriveError) || error.code !== "input_invalid") return error;
  const { total, done, dead } = await engine.count(job.id);
  const counts = Object.entries({ done, dead, left: total - done - dead });
  const facts = counts
    .filter(([name, count]) => name === "done" || count > 0)
    .map((one) => one.reverse().join(" "));
  const isStdin = specOf(job).input.path === "-";
  const again = isStdin ? `the same command with --name ${job.name}` : `redrive resume ${job.id}`;
  const message = `${error.message}\nThe job ${job.id} has the ${total} items before the error: ${facts.join(", ")}.`;
  const hint = `Correct the input; completed items are not repeated. Then: ${again}`;
  return new RedriveError(error.code, message, { cause: error, hint });
}

/** Adds the input to the queue in batches; items that already exist in the queue are skipped. */
export function inputFeed(deps: RunDeps, job: Job, options: Pick<MapOptions, "stdin" | "onNotice">): Feed {
  const { input } = specOf(job);
  return async function* (storeRetry, signal) {
    let changed = 0;
    const reading = { signal, ...(options.stdin && { stdin: options.stdin }) };
    try {
      for await (const batch of readItems(input, reading)) {
        const report = await storeRetry.run(() => deps.engine.add(job.id, batch.items));
        if (changed === 0 && report.changed > 0) options.onNotice?.(changedNotice(report.changedIds));
        changed += report.changed;
        yield report.added;
      }
    } catch (error) {
      if (signal.aborted) return; // the run was stopped, so this is not an input error
      throw error;
    }
    await storeRetry.run(() => deps.engine.changeJob(job.id, { intakeComplete: true }));
  };
}

function changedNotice(ids: readonly string[]): string {
  const shown = `${ids.slice(0, 3).join(", ")}${ids.length > 3 ? ", …" : ""}`;
  return `The input has items with an existing id but different data (${shown}). The data that was read first is kept.`;
}

async function openJob(engine: Engine, options: MapOptions): Promise<Job> {
  const { name, spec } = options;
  const found = name === undefined ? null : await engine.findJob(name);
  if (found !== null) return reopenJob(engine, found, options);
  const id = `${slugOf(name ?? spec.command[0] ?? "map", "map")}-${randomName(8)}`;
  try {
    return await engine.createJob({ id, name: name ?? id, kind: "map", spec: specToJson(spec) });
  } catch (error) {
    // Another process created a job with this name in the meantime; continue that one.
    const made = name === undefined ? null : await engine.findJob(name);
    if (made === null) throw error;
    return reopenJob(engine, made, options);
  }
}

/** Continues a job with the same name and command. A different command is probably a mistake, unless it was accepted. */
async function reopenJob(engine: Engine, job: Job, { spec, acceptChanges }: MapOptions): Promise<Job> {
  if (job.kind !== "map") {
    const message = `The name ${job.name} is already used: ${job.id} is a ${job.kind}, not a map.`;
    const hint = "Choose another --name.";
    throw new RedriveError("job_changed", message, { hint });
  }
  if (isFunctionMap(job))
    throw new RedriveError(
      "job_changed",
      `The job ${job.name} runs a function in a program, not a command.`,
      {
        hint: "Choose another --name.",
      },
    );
  const before = specOf(job);
  const same =
    canonicalJson([...before.command]) === canonicalJson([...spec.command]) && before.cwd === spec.cwd;
  if (!same && !acceptChanges) {
    const message = `The job ${job.name} runs another command: ${before.command.join(" ")} (in ${before.cwd}).`;
    const hint = "Choose another --name, or add --accept-changes to continue with the new command.";
    throw new RedriveError("job_changed", message, { hint });
  }
  return engine.changeJob(job.id, {
    status: "running",
    restarted: true,
    intakeComplete: false,
    spec: specToJson(spec),
    event: { type: "job_resumed", data: { changed: !same } },
  });
}
