/** `redrive status` and `redrive events`: the state of one job, and the recorded events. */
import type { Engine } from "../../engine.ts";
import { isGeneratedId } from "../../intake/identity.ts";
import { activityFromJson } from "../../item/agent-activity.ts";
import { EVENT_TYPES, type Event, eventToJson } from "../../item/event.ts";
import { isStanding } from "../../item/job.ts";
import { refuseStanding, requireJob, requireLatestJob } from "../../queue/find-job.ts";
import { type JobSummary, summarise, summaryToJson } from "../../queue/job-summary.ts";
import { type RunningItem, readRunning, runningToJson } from "../../queue/running-items.ts";
import { systemClock, toRfc3339 } from "../../std/clock.ts";
import { asText, compact, type Json, stringifyJson } from "../../std/json.ts";
import { argument, command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { count, duration, flag, listOf } from "../options.ts";
import { summaryText } from "../render/job-summary.ts";
import { ProgressScreen, progressTerminal } from "../render/progress.ts";
import { type AgentView, liveLines, type ProgressView } from "../render/progress-line.ts";
import { RateMeter } from "../render/progress-state.ts";
import { clean, fit, type Screen, secondsText } from "../render/text.ts";
import { activityText, usageTexts } from "../render/usage.ts";
import { untilInterrupted } from "../signals.ts";

const POLL_MS = 500;

const status = command({
  summary: "Show the status of a job.",
  examples: ["redrive status", "redrive status nightly --watch"],
  arguments: {
    name: argument("[job]", "id or name (default: the latest job of this folder, else the latest)"),
  },
  options: { watch: flag("-w, --watch", "follow the job until it ends") },
  run: (context, { name: given, watch }) =>
    context.withStore((engine) =>
      untilInterrupted(async (interrupt) => {
        const stop = interrupt.signal;
        const name = given ?? (await requireLatestJob(engine, context.terminal.cwd)).id;
        const summary = await (watch ? watchJob(context, engine, { name, stop }) : readSummary(engine, name));
        const running = await readRunning(engine, summary.jobId);
        const now = await engine.now();
        const text = () =>
          `${[summaryText(summary, context), ...runningLines(running, now, context)].join("\n")}\n`;
        const json = { ...summaryToJson(summary), running: running.map(runningToJson) };
        return context.answer(json, text, interrupt.exitCode ?? EXIT.done);
      }),
    ),
});

async function readSummary(engine: Engine, name: string): Promise<JobSummary> {
  const job = await requireJob(engine, name);
  if (isStanding(job)) refuseStanding(job);
  return summarise(engine, job);
}

function runningLines(running: readonly RunningItem[], now: number, { columns }: Screen): readonly string[] {
  if (running.length === 0) return [];
  const lines = running.map(({ itemId, name, startedAt, progress }) => {
    const shown = progress && progressText(progress.value);
    const elapsed = secondsText(Math.max(0, now - startedAt));
    return `  ${fit([nameOf(itemId, name), shown, elapsed].filter(Boolean).join("  "), columns - 2)}`;
  });
  return ["", "Running:", ...lines];
}

const NAME_COLUMNS = 40;

/** A generated id means nothing to people, and commands accept the item's data too. */
function nameOf(itemId: string, name: string): string {
  return isGeneratedId(itemId) ? fit(clean(name), NAME_COLUMNS) : itemId;
}

function progressText(value: Json): string {
  const activity = activityFromJson(value);
  if (activity === undefined) return asText(value);
  return [clean(activity.step), activityText(activity)].filter(Boolean).join(" · ");
}

/** Follows a job: live lines on a terminal, otherwise one line after each change. */
async function watchJob(
  context: Context,
  engine: Engine,
  { name, stop }: { name: string; stop: AbortSignal },
): Promise<JobSummary> {
  const { stderr } = context.terminal;
  const terminal = progressTerminal(context);
  const screen = new ProgressScreen(stderr, terminal.columns);
  const meter = new RateMeter();
  let shown = "";
  for (;;) {
    const summary = await readSummary(engine, name);
    if (terminal.isLive && summary.status === "running" && !stop.aborted) {
      const view = await viewOf(engine, summary, meter);
      screen.draw(liveLines(view, { columns: terminal.columns(), paint: terminal.paint }));
    } else if (!terminal.isLive) {
      const { succeeded, dead, remaining, total, usage } = summary;
      const counts = `${succeeded} of ${total} done, ${dead} dead, ${remaining} left`;
      const cost = usage === undefined ? "" : `, ${usageTexts(usage).join(", ")}`;
      const line = `${summary.jobId} ${summary.status}: ${counts}${cost}`;
      if (line !== shown) stderr.write(`${line}\n`);
      shown = line;
    }
    if (summary.status !== "running" || stop.aborted) {
      screen.erase();
      return summary;
    }
    await systemClock.sleep(POLL_MS, stop);
  }
}

/** Builds the runner's own progress view from the store. */
async function viewOf(engine: Engine, { jobId }: JobSummary, meter: RateMeter): Promise<ProgressView> {
  const counts = await engine.count(jobId);
  const now = await engine.now();
  const job = await engine.findJob(jobId);
  meter.add(now, counts.done + counts.dead + counts.skipped);
  const running = await readRunning(engine, jobId, { reportedOnly: false });
  const [failure] = await engine.listErrors({ queue: jobId, origin: "work", limit: 1 });
  return {
    counts,
    isTotalKnown: job?.intakeComplete ?? false,
    retrying: 0,
    rate: meter.rate(),
    slowest: null,
    agents: running.map((item) => agentOf(item, now)),
    lastFailure: failure && clean([failure.itemId, failure.message].filter(Boolean).join(": ")),
    waiting: job?.pause === undefined ? null : `the job is paused; to continue it: redrive continue ${jobId}`,
    label: jobId,
  };
}

function agentOf({ name, attempt, startedAt, progress }: RunningItem, now: number): AgentView {
  const activity = progress && activityFromJson(progress.value);
  const step = activity?.step ?? "running";
  const elapsedMs = Math.max(0, now - startedAt);
  return { name, attempt, elapsedMs, step, activity: activity && activityText(activity) };
}

const eventOptions = {
  follow: flag("--follow", "keep printing as events happen; with --json one object per line"),
  types: listOf(
    "--type <types>",
    "only events of these types, e.g. attempt_failed,dlq_item_added",
    EVENT_TYPES,
    "usage",
  ),
  sinceMs: duration("--since <duration>", "only events from this last period, e.g. 10m"),
  limit: count("-l, --limit <n>", "print at most this many events (default: all)", 1),
};

const events = command({
  summary: "Print events, oldest first.",
  examples: ["redrive events nightly --since 10m", "redrive events --type dlq_item_added --follow --json"],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  options: eventOptions,
  run: (context, flags) => {
    const { isJson, terminal } = context;
    const isDocument = isJson && !flags.follow;
    const collected: Event[] = [];
    const print = async (engine: Engine, stop: AbortSignal) => {
      for await (const event of eventsOf(engine, flags, stop)) {
        if (!terminal.stdout.writable) break; // the reader closed the pipe
        if (isDocument) collected.push(event);
        else
          terminal.stdout.write(
            isJson ? `${stringifyJson(eventToJson(event))}\n` : eventLine(context, event),
          );
      }
      return isDocument ? context.answer({ events: collected.map(eventToJson) }) : EXIT.done;
    };
    return context.withStore((engine) => untilInterrupted(({ signal }) => print(engine, signal)), {
      mustExist: flags.follow,
    });
  },
});

const PAGE_MAX = 1000;
const EVENTS_POLL_MS = 200;

async function* eventsOf(
  engine: Engine,
  { name, types, sinceMs, limit, follow }: Given<typeof eventOptions> & { name?: string },
  stop: AbortSignal,
): AsyncGenerator<Event> {
  const query = compact({
    queue: name === undefined ? undefined : (await requireJob(engine, name)).id,
    types,
    since: sinceMs === undefined ? undefined : (await engine.now()) - sinceMs,
  });
  let left = limit ?? Number.POSITIVE_INFINITY;
  let after = 0;
  while (left > 0 && !stop.aborted) {
    const page = await engine.listEvents({ ...query, after, limit: Math.min(PAGE_MAX, left) });
    yield* page;
    left -= page.length;
    after = page.at(-1)?.id ?? after;
    if (page.length > 0) continue;
    if (!follow) return;
    await systemClock.sleep(EVENTS_POLL_MS, stop);
  }
}

function eventLine({ paint }: Context, { at, type, queue = "", itemId, attempt, data }: Event): string {
  const where = [itemId, attempt === undefined ? "" : `#${attempt}`].filter(Boolean).join(" ");
  const more = data === undefined ? "" : paint.dim(stringifyJson(data));
  return `${[paint.dim(toRfc3339(at)), type, queue, where, more].filter(Boolean).join("  ")}\n`;
}

export const commands = { status, events };
