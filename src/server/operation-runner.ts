/** Works through operations in the background of the server, and continues those that a crash of this server left open. */
import type { Engine } from "../engine.ts";
import { isStanding, type Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { requireJob } from "../queue/find-job.ts";
import { finishOperation } from "../redrive/change-operation.ts";
import { planOf } from "../redrive/plan.ts";
import { sendAhead } from "../redrive/send.ts";
import { continueRedrive } from "../run/retry.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import type { Clock } from "../std/clock.ts";
import { isLeftOpen } from "./held-selection.ts";
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
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Continues an operation in the background. An operation that already runs here is not started twice. */
  start(operation: Operation): void {
    const { id } = operation;
    if (this.#running.has(id) || operation.endedAt !== undefined) return;
    const work = this.#work(operation)
      .catch((error: unknown) => this.#report(id, error))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, work);
  }

  /** Continues what a crash has left. Every step is durable, so nothing is done twice. */
  async resume(): Promise<void> {
    const open = await this.#options.engine.listOperations({ open: true });
    for (const operation of open) if (isLeftOpen(operation)) this.start(operation);
  }

  /** Resolves when nothing runs any more; operations that were interrupted stay open. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #work(operation: Operation): Promise<void> {
    const { engine, home, stopping: signal } = this.#options;
    if (operation.kind === "redrive") return this.#redrive(operation);
    await finishOperation({ engine, home, signal }, operation);
  }

  /** Workers run the items of queues. A canary waits for them; without one, the letters are made ready at once. */
  async #redrive(operation: Operation): Promise<void> {
    const { engine, home, clock, stopping: stop, allowsRuns } = this.#options;
    const job = await requireJob(engine, operation.queue);
    const isFollowed = isStanding(job) ? planOf(operation).canary === true : allowsRuns;
    if (!isFollowed) return void (await sendAhead(operation, engine, new StoreRetry(STORE_WAIT_MS, clock)));
    const deps = { engine, home, stop, clock, author: operation.author };
    let now = await continueRedrive(deps, operation);
    // A canary ends early while no worker runs. The server stays, so it waits for one.
    while (!stop.aborted && now.endedAt === undefined && now.status !== "cancelled") {
      await clock.sleep(WORKER_WAIT_MS, stop);
      if (!stop.aborted) now = await continueRedrive(deps, now);
    }
  }

  #report(id: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#options.log?.({ level: "error", event: "operation_interrupted", operation_id: id, why });
  }
}

/** A canary of a map or a workflow runs commands here, which the server must have been allowed. */
export function requireRunnable(
  { allowsRuns }: { readonly allowsRuns: boolean },
  job: Job,
  isCanary: boolean,
): void {
  if (isStanding(job) || allowsRuns || !isCanary) return;
  const message = `A canary of ${job.id} would run the job's command on this server, which is not allowed.`;
  const hint = `Run it on the machine where the job ran: redrive dlq retry ${job.id} --canary`;
  throw new RequestError("disabled", message, { hint });
}
