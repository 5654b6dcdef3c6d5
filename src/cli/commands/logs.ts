/** `redrive logs`: prints the output of an attempt or of a workflow phase, even while it is running. */
import { createReadStream, existsSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { GrowingOutput } from "../../attempt/growing-output.ts";
import { findLog, restoreLog } from "../../attempt/log-segments.ts";
import { type RunningOutput, readRunning } from "../../attempt/output-watch.ts";
import type { Engine } from "../../engine.ts";
import { isFromElsewhere, NOT_READ } from "../../item/imported-letter.ts";
import type { Attempt, Item } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import { requireItem } from "../../queue/find-item.ts";
import { requireJob } from "../../queue/find-job.ts";
import { followLogs, isExact } from "../../run/follow-logs.ts";
import { systemClock } from "../../std/clock.ts";
import type { JsonObject } from "../../std/json.ts";
import { thisHost } from "../../std/process-identity.ts";
import { jobLogs } from "../../store/home.ts";
import { PHASES_WITH_LOG } from "../../workflow/workflow-spec.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";
import { count, flag } from "../options.ts";
import { CleanLines, LogLines } from "../render/log-lines.ts";
import { counted } from "../render/text.ts";
import { untilInterrupted } from "../signals.ts";

const logs = command({
  summary: "Print the output of an item's attempt or of a workflow phase, even while it runs.",
  description: "With --follow and --json, it prints one object per line.",
  examples: [
    "redrive logs nightly order-7",
    "redrive logs nightly order-7 --attempt 2",
    "redrive logs nightly --follow",
  ],
  arguments: {
    jobName: argument("<job>", "id or name"),
    itemName: argument("[item]", "an item id or a unique prefix; or a phase: setup, reduce, merge"),
  },
  options: {
    attempt: count("-a, --attempt <n>", "the attempt (default: the running one, or the last with output)", 1),
    follow: flag("--follow", "keep printing new output until the item ends, or the job if no item is given", {
      conflicts: ["attempt"],
    }),
    isRaw: flag("--raw", "print the bytes unchanged, including control characters, even on a terminal"),
  },
  run: (context, { jobName, itemName, attempt: number, follow: isFollowed, isRaw }) =>
    context.withStore(async (engine) => {
      const job = await requireJob(engine, jobName);
      if (itemName === undefined) {
        if (isFollowed) return follow(context, engine, job, { isRaw });
        const all = `To follow all items: redrive logs ${job.id} --follow`;
        throw userError("usage", "No item was given.", `Give an item: redrive logs ${job.id} ITEM. ${all}`);
      }
      const phase = await findPhase(context, engine, job, itemName);
      if (phase !== undefined) return show(context, job, { ...phase, isRaw });
      const item = await requireItem(engine, itemName, job.id);
      const willRun = item.state === "leased" || item.state === "ready";
      if (isFollowed && number === undefined && willRun) return follow(context, engine, job, { item, isRaw });
      return show(context, job, { ...(await findAttempt(context, engine, job, { item, number })), isRaw });
    }),
});

export const commands = { logs };

function follow(
  context: Context,
  engine: Engine,
  job: Job,
  { item, isRaw }: { item?: Item; isRaw: boolean },
): Promise<number> {
  const lines = new LogLines(context, { isWholeJob: item === undefined, isRaw });
  return untilInterrupted(async ({ signal }) => {
    const options = { home: context.home, job, clock: systemClock, signal, ...(item && { item }) };
    for await (const followed of followLogs(engine, options)) {
      if (!context.terminal.stdout.writable) break; // the reader closed the pipe
      lines.print(followed);
    }
    return EXIT.done;
  });
}

interface Found {
  readonly log: string;
  readonly about: JsonObject;
  /** The name of what is still running, for the line before its output. */
  readonly running?: string;
}

/** Finds the log of a workflow phase, unless an item has that name. */
async function findPhase({ home }: Context, engine: Engine, job: Job, name: string) {
  if (job.kind !== "workflow" || !PHASES_WITH_LOG.includes(name)) return undefined;
  const items = await engine.findItems(name, { queue: job.id, limit: 1 });
  if (items.some((item) => item.itemId === name)) return undefined;
  const log = jobLogs(home, job.id).phase(name);
  const isRunning = recordsOf(home, job, log).length > 0;
  if (isRunning) return { about: { phase: name }, log, running: `The ${name} phase` };
  if (existsSync(log)) return { about: { phase: name }, log };
  const message = `The ${name} phase of ${job.id} wrote no output.`;
  throw userError("log_not_found", message, `Show the job: redrive status ${job.id}`);
}

async function findAttempt(
  { home }: Context,
  engine: Engine,
  job: Job,
  { item, number: wanted }: { item: Item; number: number | undefined },
): Promise<Found> {
  const { itemId } = item;
  const attempt = choose(item, await engine.listAttempts(item.ref), wanted);
  const { log, outcome, number } = attempt;
  const about = { item_id: itemId, attempt: number, outcome };
  if (log !== undefined && isFromElsewhere(attempt)) {
    const hint = `The end of its output is in the letter: redrive dlq inspect ${itemId}`;
    throw userError("log_not_found", `${log} ${NOT_READ}.`, hint);
  }
  if (log !== undefined) return { about, log };
  if (outcome !== "running") {
    const message = `Attempt ${number} of ${itemId} (${outcome}) wrote no output.`;
    throw userError("log_not_found", message, `Show what happened: redrive events ${job.id}`);
  }
  const holder = (await engine.listHolders()).find(({ id }) => id === attempt.holder);
  if (holder !== undefined && holder.host !== thisHost()) {
    const hint = `Its output is on that machine until the attempt ends: ${attempt.holder}`;
    throw userError("log_not_found", `Attempt ${number} of ${itemId} runs on another machine.`, hint);
  }
  return { about, log: jobLogs(home, job.id).log(itemId, number), running: `Attempt ${number}` };
}

/** Chooses the attempt with this number, or the latest that is running or has output. */
function choose(item: Item, attempts: readonly Attempt[], number: number | undefined): Attempt {
  const withOutput = attempts.filter(({ log, outcome }) => log !== undefined || outcome === "running");
  const chosen =
    number === undefined
      ? (withOutput.at(-1) ?? attempts.at(-1))
      : attempts.find((attempt) => attempt.number === number);
  if (chosen !== undefined) return chosen;
  const message = `${item.itemId} has no attempt${number === undefined ? " yet" : ` ${number}`}.`;
  const had = `It has had ${counted(attempts.length, "attempt")}. It is ${item.state}.`;
  throw userError("log_not_found", message, had);
}

type Shown = Found & { readonly isRaw: boolean };

async function show(context: Context, job: Job, found: Shown): Promise<number> {
  if (found.running !== undefined) await showRunning(context, job, found, found.running);
  else if (context.isJson) {
    restoreLog(found.log);
    context.answer({ ...found.about, log: found.log });
  } else await print(context, found);
  return EXIT.done;
}

/** The maximum wait for the record of a running process, which is written half a second after its start. */
const RECORD_WAIT_MS = 1500;
const POLL_MS = 100;

async function showRunning(context: Context, job: Job, { about, log, isRaw }: Shown, what: string) {
  let records = recordsOf(context.home, job, log);
  for (let waited = 0; records.length === 0 && waited < RECORD_WAIT_MS; waited += POLL_MS) {
    await systemClock.sleep(POLL_MS);
    records = recordsOf(context.home, job, log);
  }
  const parts = [...new GrowingOutput(log, { isExact: isExact(job) }).read(records, false)];
  if (context.isJson) {
    const textOf = (name: string) =>
      Buffer.concat(parts.flatMap((part) => ("stream" in part && part.stream === name ? [part.bytes] : [])));
    const [stdout, stderr] = [textOf("stdout").toString(), textOf("stderr").toString()];
    context.answer({ ...about, log: null, stdout, stderr });
    return;
  }
  context.note(`${what} is still running. ${parts.length === 0 ? "No output yet." : "Output so far:"}`);
  if (!isExact(job))
    context.note("The workflow has secrets: a step's output is shown after the step has ended.");
  const lines = new LogLines(context, { isWholeJob: false, isRaw });
  for (const part of parts) lines.print({ of: log, part });
}

function recordsOf(home: string, job: Job, log: string): RunningOutput[] {
  return readRunning(jobLogs(home, job.id).runningFolder).filter((record) => record.log === log);
}

async function print({ terminal, isTerminal }: Context, { log, isRaw }: Shown): Promise<void> {
  try {
    const filters = isTerminal && !isRaw ? [new CleanLines()] : [];
    const { path, from, bytes } = findLog(log) ?? { path: log, from: 0, bytes: 1 };
    if (bytes === 0) return;
    const source = createReadStream(path, { start: from, end: from + bytes - 1 });
    await pipeline([source, ...filters, terminal.stdout], { end: false });
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    if (code === "EPIPE") return; // the reader closed the pipe
    if (code === "ENOENT") {
      const hint = "Logs are deleted after log_retention_days in redrive.yml, or with their job.";
      throw userError("log_not_found", `The log ${log} no longer exists.`, hint, error);
    }
    throw error;
  }
}
