/** Runs operations in the background of the server, and continues those of servers that have died. */
import type { Engine } from "../engine.ts";
import { isStanding, type Job } from "../item/job.ts";
import { isPreview, type Operation } from "../item/operation.ts";
import { requireJob } from "../queue/find-job.ts";
import { finishOperation } from "../redrive/change-operation.ts";
import { isCanary } from "../redrive/plan.ts";
import { sendAhead } from "../redrive/send.ts";
import { continueRedrive } from "../run/retry.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import type { Clock } from "../std/clock.ts";
import { OperationLeases, ROUND_MS } from "./operation-leases.ts";
import { RequestError } from "./problem.ts";
import type { RequestLog } from "./request-log.ts";

export interface RunnerOptions {
  readonly engine: Engine;
  readonly home: string;
  readonly clock: Clock;
  /** Whether commands of maps and workflows may run in this process. */
  readonly allowsRuns: boolean;
  readonly stopping: AbortSignal;
  readonly log?: RequestLog | undefined;
}

const STORE_WAIT_MS = 30_000;
const WORKER_WAIT_MS = 2_000;

export class OperationRunner {
  readonly #options: RunnerOptions;
  readonly #leases: OperationLeases;
  readonly #running = new Map<string, Promise<void>>();
  #watching: Promise<void> | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#leases = new OperationLeases(options.engine);
  }

  /** Runs an operation in the background, unless this server or another one is already running it. */
  start(operation: Operation): void {
    const { id } = operation;
    if (this.#running.has(id) || operation.endedAt !== undefined) return;
    const work = this.#drive(operation)
      .catch((error: unknown) => this.#report(id, error))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, work);
  }

  /** Takes over operations of servers that died, now and later. Every step is durable, so nothing is done twice. */
  async resume(): Promise<void> {
    await this.#takeOver();
    this.#watching ??= this.#watch();
  }

  /** Resolves when no operation is running. Interrupted operations stay open. */
  async ended(): Promise<void> {
    await this.#watching;
    await Promise.all(this.#running.values());
  }

  async #watch(): Promise<void> {
    const { clock, stopping } = this.#options;
    for (;;) {
      await clock.sleep(ROUND_MS, stopping);
      if (stopping.aborted) return;
      await this.#takeOver().catch((error: unknown) => this.#report(null, error));
    }
  }

  async #takeOver(): Promise<void> {
    const open = await this.#options.engine.listOperations({ open: true });
    for (const operation of open) if (isLeft(operation)) this.start(operation);
  }

  /**
   * Runs the operation while its lease can be renewed. Without the lease, another server continues, so this
   * one stops.
   */
  async #drive(operation: Operation): Promise<void> {
    const { id } = operation;
    if (!(await this.#leases.take(id))) return;
    const { stopping } = this.#options;
    const done = new AbortController();
    const lost = new AbortController();
    const renewing = this.#renew(id, AbortSignal.any([done.signal, stopping]), lost);
    try {
      // The status may have changed before the lease was taken.
      const now = (await this.#options.engine.findOperation(id)) ?? operation;
      if (now.endedAt === undefined) await this.#work(now, AbortSignal.any([stopping, lost.signal]));
    } finally {
      done.abort();
      await renewing;
      if (!lost.signal.aborted) await this.#leases.release(id);
    }
  }

  async #renew(id: string, done: AbortSignal, lost: AbortController): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(ROUND_MS, done);
      if (done.aborted) return;
      // While the store is unavailable, no other server can take the lease either.
      const isMine = await this.#leases.take(id).catch(() => true);
      if (!isMine) return lost.abort();
    }
  }

  async #work(operation: Operation, signal: AbortSignal): Promise<void> {
    const { engine, home } = this.#options;
    if (operation.kind === "redrive") return this.#redrive(operation, signal);
    await finishOperation({ engine, home, signal }, operation);
  }

  /**
   * Workers process queues: a canary waits for their results; without a canary, all letters are made ready
   * immediately.
   */
  async #redrive(operation: Operation, stop: AbortSignal): Promise<void> {
    const { engine, home, clock, allowsRuns } = this.#options;
    const job = await requireJob(engine, operation.queue);
    const isFollowed = isStanding(job) ? isCanary(operation) : allowsRuns;
    if (!isFollowed) return void (await sendAhead(operation, engine, new StoreRetry(STORE_WAIT_MS, clock)));
    const deps = { engine, home, stop, clock, author: operation.author };
    let now = await continueRedrive(deps, operation);
    // A canary ends early while no worker is running. The server keeps running, so it waits for one.
    while (!stop.aborted && now.endedAt === undefined && now.status !== "cancelled") {
      await clock.sleep(WORKER_WAIT_MS, stop);
      if (!stop.aborted) now = await continueRedrive(deps, now);
    }
  }

  #report(id: string | null, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#options.log?.({ level: "error", event: "operation_interrupted", operation_id: id, why });
  }
}

/** Whether a server started the operation and must still run it: letters are pending, or it is a canary. */
function isLeft(operation: Operation): boolean {
  const { plan, status, selected, done, refused } = operation;
  const isServers = typeof plan.held_until === "number" && !isPreview(operation);
  return isServers && status === "open" && (done + refused < selected || isCanary(operation));
}

/** A canary of a map or a workflow runs commands here, so the server must allow that. */
export function requireRunnable(
  { allowsRuns }: { readonly allowsRuns: boolean },
  job: Job,
  inStages: boolean,
): void {
  if (isStanding(job) || allowsRuns || !inStages) return;
  const message = `A canary of ${job.id} would run the job's command on this server, which is not allowed.`;
  const hint = `Run it on the machine where the job ran: redrive dlq retry ${job.id} --canary`;
  throw new RequestError("disabled", message, { hint });
}
