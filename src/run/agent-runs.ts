/**
 * Records the usage of a job's agents in the store while they run, checks the budgets, and recovers usage
 * from the output that agents of killed runners have left.
 */
import { createReadStream, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentReport } from "../agent/agent-record.ts";
import { AgentStream } from "../agent/agent-stream.ts";
import { type Budget, exceeded, overBudget, UsageTotal } from "../agent/budget.ts";
import type { Prices } from "../agent/prices.ts";
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { AgentRun } from "../item/agent-run.ts";
import type { Lease } from "../item/item.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { systemClock } from "../std/clock.ts";
import { PRIVATE_FILE } from "../std/files.ts";
import { compact } from "../std/json.ts";
import { type Owner, ownerState, thisOwner } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import type { AgentStart, RunningAgent } from "../workflow/step-context.ts";

interface AgentRunsOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly budget?: Budget | undefined;
  readonly now: () => number;
}

const WRITE_MS = 1000;
const ID_CHARS = 20;
const SUFFIX = ".agent.json";

/**
 * The file next to the output of a running agent, from which the next runner reads what a killed runner did
 * not store.
 */
interface Sidecar {
  readonly owner: Owner;
  readonly run: AgentRun;
  readonly stdout: string;
  readonly start: Pick<AgentStart, "format" | "model" | "before">;
}

export class AgentRuns {
  readonly #options: AgentRunsOptions;
  readonly #owner = thisOwner();
  readonly #changed = new Map<string, AgentRun>();
  readonly #running = new Map<string, AgentRun>();
  #job = new UsageTotal();
  #writing: Promise<void> | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: AgentRunsOptions) {
    this.#options = options;
  }

  /** Reads the usage of the job so far. Must be called before the first agent starts. */
  async load(): Promise<void> {
    const { engine, queue } = this.#options;
    const [sum] = await engine.sumAgentUsage({ by: "queue", queues: [queue] });
    this.#job = new UsageTotal(sum?.usage);
  }

  /** Why the job must not start more work; undefined while budget is left. */
  get stopReason(): string | undefined {
    const { budget, queue } = this.#options;
    const amount = budget && exceeded(this.#job.sum, budget);
    if (amount === undefined) return undefined;
    return `the budget of the job is used up: ${amount}. To continue with more: redrive resume ${queue} --budget AMOUNT`;
  }

  /** The agents of one attempt share its budget. */
  forAttempt(lease?: Lease): { readonly begin: (start: AgentStart) => RunningAgent } {
    const attempt = new UsageTotal();
    return { begin: (start) => this.#begin(start, lease, attempt) };
  }

  #begin(start: AgentStart, lease: Lease | undefined, attempt: UsageTotal): RunningAgent {
    const now = this.#options.now();
    const { step, agent, stdoutPath } = start;
    const held = lease && { ref: lease.ref, attempt: lease.attempt };
    const run: AgentRun = {
      ...{ id: randomName(ID_CHARS), ...(held && { lease: held }), step, agent, usage: {}, isFinal: false },
      ...{ startedAt: now, updatedAt: now },
    };
    const sidecar = `${stdoutPath}${SUFFIX}`;
    const known: Sidecar = { owner: this.#owner, run, stdout: stdoutPath, start: kept(start) };
    writeFileSync(sidecar, JSON.stringify(known), { mode: PRIVATE_FILE });
    return {
      report: (report) => this.#report(run, report, lease === undefined ? undefined : attempt),
      ended: async (report) => {
        this.#report(run, report, lease === undefined ? undefined : attempt);
        this.#running.delete(run.id);
        this.#job.close(run.id);
        if (await this.flush()) rmSync(sidecar, { force: true });
      },
      discard: () => {
        if (this.#running.delete(run.id)) return; // the next run stores its usage from the sidecar
        rmSync(sidecar, { force: true });
      },
    };
  }

  /** Returns why the agent must be ended if a budget is exhausted. */
  #report(run: AgentRun, report: AgentReport, attempt: UsageTotal | undefined): ReportedFailure | undefined {
    const next = recordOf(run, report, this.#options.now());
    if (next === undefined) return undefined;
    this.#changed.set(run.id, next);
    this.#running.set(run.id, next);
    this.#job.set(run.id, next.usage);
    this.#cancel ??= systemClock.after(WRITE_MS, () => {
      this.#cancel = undefined;
      void this.flush();
    });
    const { budget } = this.#options;
    if (budget === undefined) return undefined;
    if (attempt === undefined) {
      const amount = exceeded(this.#job.sum, budget); // during a phase, no other items could still finish
      return amount === undefined ? undefined : overBudget("job", amount);
    }
    attempt.set(run.id, next.usage);
    const amount = budget.attempt && exceeded(attempt.sum, budget.attempt);
    return amount === undefined ? undefined : overBudget("attempt", amount);
  }

  /** Returns false if the store could not be written. Unwritten records are retried later. */
  async flush(): Promise<boolean> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#changed.size === 0) return true;
    const runs = [...this.#changed.values()];
    this.#changed.clear();
    let isWritten = true;
    const { engine, queue } = this.#options;
    this.#writing = engine.writeAgentRuns(queue, runs).catch((error: unknown) => {
      if (!isStoreError(error)) throw error;
      for (const run of runs) if (!this.#changed.has(run.id)) this.#changed.set(run.id, run);
      isWritten = false; // the runner itself waits until the store can be written
    });
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
    return isWritten;
  }

  async close(): Promise<void> {
    this.#cancel?.();
    await this.flush();
  }
}

function kept({ format, model, before }: AgentStart): Sidecar["start"] {
  return compact({ format, model, before });
}

/** Returns undefined for an agent that has not reported anything, because its record would be empty. */
function recordOf(run: AgentRun, report: AgentReport, now: number): AgentRun | undefined {
  const { usage, session, format, end } = report;
  if (usage === undefined && session === undefined) return undefined;
  return {
    ...run,
    agent: format === undefined || format === "redrive" ? run.agent : format,
    ...(session !== undefined && { session }),
    usage: usage ?? {},
    isFinal: end !== undefined,
    updatedAt: now,
  };
}

/**
 * Stores the usage of killed runners' agents on this machine from the output that they left. Returns their
 * number.
 */
export async function recoverAgentRuns(
  { engine, queue, now }: Pick<AgentRunsOptions, "engine" | "queue" | "now">,
  runningFolder: string,
  prices: Prices | undefined,
): Promise<number> {
  let recovered = 0;
  for (const path of sidecarsIn(runningFolder)) {
    const sidecar = tryTo(() => JSON.parse(readFileSync(path, "utf8")) as Sidecar);
    if (sidecar === undefined || ownerState(sidecar.owner) !== "gone") continue;
    const report = await readLeftOutput(sidecar, prices);
    const run = report && recordOf(sidecar.run, report, now());
    if (run !== undefined) {
      await engine.writeAgentRuns(queue, [run]);
      recovered += 1;
    }
    for (const left of [path, sidecar.stdout]) rmSync(left, { force: true });
  }
  return recovered;
}

function sidecarsIn(runningFolder: string): readonly string[] {
  const namesIn = (folder: string) => tryTo(() => readdirSync(folder)) ?? [];
  return namesIn(runningFolder).flatMap((run) =>
    namesIn(join(runningFolder, run))
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => join(runningFolder, run, name)),
  );
}

async function readLeftOutput({ stdout, start }: Sidecar, prices: Prices | undefined) {
  const stream = new AgentStream(compact({ ...start, prices }));
  try {
    for await (const chunk of createReadStream(stdout)) stream.push(chunk as Buffer);
  } catch {
    return undefined; // the agent had not printed anything yet
  }
  stream.end();
  return stream.report();
}
