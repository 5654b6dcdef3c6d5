/** Follows the output of a job's attempts or of one item until they end. Read-only. */
import { statSync } from "node:fs";
import { GrowingOutput, type OutputPart } from "../attempt/growing-output.ts";
import { readRunning } from "../attempt/output-watch.ts";
import type { Engine } from "../engine.ts";
import { isGeneratedId } from "../intake/identity.ts";
import type { EventType } from "../item/event.ts";
import { type Item, itemName } from "../item/item.ts";
import { isStanding, type Job } from "../item/job.ts";
import { statusOf } from "../queue/job-summary.ts";
import type { Clock } from "../std/clock.ts";
import { type JobLogs, jobLogs } from "../store/home.ts";
import { PHASES_WITH_LOG, workflowSpecOf } from "../workflow/workflow-spec.ts";

export interface Followed {
  readonly of: string;
  /** The name to display instead of a generated id. */
  readonly name?: string;
  /** Absent for the output of a phase. */
  readonly attempt?: number;
  readonly part: OutputPart | { readonly outcome: string };
}

interface FollowOptions {
  readonly home: string;
  readonly job: Job;
  readonly item?: Item;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 250;
const PAGE = 1000;
/**
 * How many times a missing log is polled. The log is written shortly after a success is settled, and only if
 * there was output.
 */
const LOG_POLLS_MAX = 8;

const ENDS: Readonly<Partial<Record<EventType, string>>> = {
  attempt_succeeded: "succeeded",
  attempt_failed: "failed",
  attempt_released: "released",
  attempt_lost: "lost",
};
const END_TYPES = Object.keys(ENDS) as EventType[];

interface Open {
  readonly of: string;
  readonly name?: string;
  readonly attempt?: number;
  readonly output: GrowingOutput;
  outcome?: string;
  polls: number;
}

export async function* followLogs(engine: Engine, options: FollowOptions): AsyncGenerator<Followed> {
  const following = new Following(options);
  let cursor = await engine.newestEvent();
  for (;;) {
    const isOver = await isFinished(engine, options);
    const records = readRunning(following.logs.runningFolder);
    for (const item of await leasedItems(engine, options)) following.begin(item.itemId, item.attempts, item);
    for (let page = PAGE; page === PAGE; ) {
      const query = { queue: options.job.id, types: END_TYPES, after: cursor, limit: PAGE };
      const events = await engine.listEvents(query);
      for (const event of events) following.end(event.itemId, event.attempt, ENDS[event.type]);
      cursor = events.at(-1)?.id ?? cursor;
      page = events.length;
    }
    yield* following.read(records, isOver);
    if ((isOver && following.isEmpty) || options.signal.aborted) return;
    await options.clock.sleep(POLL_MS, options.signal);
  }
}

class Following {
  readonly logs: JobLogs;
  readonly #options: FollowOptions;
  readonly #isExact: boolean;
  readonly #open = new Map<string, Open>();

  constructor(options: FollowOptions) {
    const { home, job, item } = options;
    this.#options = options;
    this.logs = jobLogs(home, job.id);
    this.#isExact = isExact(job);
    if (item !== undefined || job.kind !== "workflow") return;
    for (const phase of PHASES_WITH_LOG) {
      const log = this.logs.phase(phase);
      const from = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
      const output = new GrowingOutput(log, { isExact: this.#isExact, from });
      this.#open.set(log, { of: phase, output, polls: 0 });
    }
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  begin(itemId: string, attempt: number, item?: Item): Open {
    const log = this.logs.log(itemId, attempt);
    const output = new GrowingOutput(log, { isExact: this.#isExact });
    const name = item && isGeneratedId(item.itemId) && { name: itemName(item) };
    const open = this.#open.get(log) ?? { of: itemId, ...name, attempt, output, polls: 0 };
    this.#open.set(log, open);
    return open;
  }

  end(itemId: string | undefined, attempt: number | undefined, outcome: string | undefined): void {
    const { item } = this.#options;
    if (itemId === undefined || attempt === undefined || outcome === undefined) return;
    if (item === undefined || item.itemId === itemId) this.begin(itemId, attempt).outcome ??= outcome;
  }

  *read(records: ReturnType<typeof readRunning>, isOver: boolean): Generator<Followed> {
    for (const [log, open] of this.#open) {
      const { of, name: shown, attempt, output, outcome } = open;
      const name = {
        of,
        ...(shown !== undefined && { name: shown }),
        ...(attempt !== undefined && { attempt }),
      };
      for (const part of output.read(records, outcome !== undefined || isOver)) yield { ...name, part };
      if (outcome === undefined && !isOver) continue;
      open.polls += 1;
      if (outcome !== undefined && !output.hasLog && open.polls < LOG_POLLS_MAX) continue;
      this.#open.delete(log);
      if (outcome !== undefined) yield { ...name, part: { outcome } };
    }
  }
}

/** Whether the sizes in the headings of the log are exact. Masking secrets changes the length of a section. */
export function isExact(job: Job): boolean {
  return job.kind !== "workflow" || workflowSpecOf(job).workflow.secrets.length === 0;
}

async function leasedItems(engine: Engine, { job, item }: FollowOptions): Promise<readonly Item[]> {
  const leased: Item[] = [];
  for (let after = 0; ; ) {
    const only = item === undefined ? {} : { itemIds: [item.itemId] };
    const page = await engine.listItems({ queue: job.id, states: ["leased"], ...only, after, limit: PAGE });
    leased.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return leased;
    after = last.ref;
  }
}

/** Whether the job or the item has ended. Queues and targets never end. */
async function isFinished(engine: Engine, { job, item }: FollowOptions): Promise<boolean> {
  const now = await engine.findJob(job.id);
  if (now === null) return true;
  if (!isStanding(now) && (await statusOf(engine, now)) !== "running") return true;
  if (item === undefined) return false;
  const [found] = await engine.listItems({ queue: job.id, itemIds: [item.itemId], limit: 1 });
  return found === undefined || (found.state !== "leased" && found.state !== "ready");
}
