/**
 * A worker of a named queue: the runner with the queue's own settings, going on until it is told to end. Many may work one
 * queue, in one process and on many machines; what one that vanished held is back in seconds.
 */
import type { Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { HandlerAnswer } from "../retry/decide.ts";
import { Patience } from "../runner/patience.ts";
import { type RunObserver, type RunOptions, type RunResult, runQueue } from "../runner/runner.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import { BookCloser } from "./close-books.ts";
import { requireQueue, requireTarget } from "./find-queue.ts";
import { LiveSettings } from "./live-settings.ts";
import { type QueueSpec, queueSpecOf } from "./spec.ts";

/** How a worker works. All of it may be left out. */
export interface WorkerOptions {
  /** How many attempts run at a time. Default 10. */
  readonly concurrency?: number;
  /** What this worker alone may begin, besides the queue's own rate. Default: no limit. */
  readonly rate?: Rate;
  /** Ends when the queue is empty instead of waiting for more. Default false. */
  readonly untilEmpty?: boolean;
  /** Who its notes are by. Default: the machine, the process and the slot. */
  readonly name?: string;
  /** A folder for copies of the files that are named as evidence. Default: no copies are made. */
  readonly evidenceFolder?: string;
  /** Aborted to stop. */
  readonly signal?: AbortSignal;
  /** How long a stop waits for attempts that do not heed it. Default: for ever. */
  readonly abandonAfterMs?: number;
  /** How long a store that does not answer is waited for. Default: for ever. */
  readonly storeWaitMs?: number;
  readonly observer?: RunObserver;
  readonly clock?: Clock;
  /** From how many redrives an item may come back before it is toxic. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
  /**
   * Decides about an item whose attempts are used up: `handled` skips it, `retry` tries it again, `dlq` makes it a letter, and
   * so does an error. Default: as the queue's settings say.
   */
  readonly onItemFailure?: OnItemFailureHandler;
}

/** Decides about an item whose attempts are used up. */
export type OnItemFailureHandler = (
  item: LeasedItem,
  failure: Failure,
) => HandlerAnswer | Promise<HandlerAnswer>;

/** What is worked, and with what. */
export interface WorkPlan extends Omit<WorkerOptions, "onItemFailure"> {
  readonly handler: Handler;
  /** Decides about items whose attempts are used up. Default: as the queue's settings say. */
  readonly askHandler?: NonNullable<RunOptions["askHandler"]>;
  /** It is a target of receipts. Default: it is a queue. */
  readonly isTarget?: boolean;
  /** Opened when the queue is found and stopped when the worker ends: it looks after the letters. Default: nothing. */
  readonly alongside?: (queue: Job) => WorkerService;
}

/** What runs beside a worker. */
export interface WorkerService {
  /** Never rejects. */
  stop(): Promise<void>;
}

const CONCURRENCY = 10;

/** A worker at its queue. */
export class Worker {
  /** Resolves with how it ended; rejects when it could not go on, as when the queue is not there. */
  readonly ended: Promise<RunResult>;
  readonly #stop = new AbortController();
  readonly #drain = new AbortController();
  readonly #clock: Clock;

  /** Begins at once. */
  constructor(engine: Engine, queue: string, plan: WorkPlan) {
    this.#clock = plan.clock ?? systemClock;
    const onAbort = () => this.#stop.abort();
    if (plan.signal?.aborted) onAbort();
    plan.signal?.addEventListener("abort", onAbort, { once: true });
    this.ended = this.#work(engine, queue, plan).finally(() =>
      plan.signal?.removeEventListener("abort", onAbort),
    );
  }

  /** Takes nothing more. What runs comes to its own end, within the time if one is given; what does not is given back. */
  async drain(withinMs = Number.POSITIVE_INFINITY): Promise<RunResult> {
    this.#drain.abort();
    const cancel = Number.isFinite(withinMs)
      ? this.#clock.after(withinMs, () => this.#stop.abort())
      : () => undefined;
    return this.ended.finally(cancel);
  }

  /** Ends what runs and gives it back, unspent. */
  async stop(): Promise<RunResult> {
    this.#stop.abort();
    return this.ended;
  }

  async #work(engine: Engine, queue: string, plan: WorkPlan): Promise<RunResult> {
    const { storeWaitMs = Number.POSITIVE_INFINITY, observer, rate } = plan;
    const clock = this.#clock;
    const isEnding = () => this.#stop.signal.aborted || this.#drain.signal.aborted;
    const patience = new Patience(storeWaitMs, clock, { ...told(observer), isEnding });
    const find = plan.isTarget ? requireTarget : requireQueue;
    const job = await patience.through(() => find(engine, queue));
    const service = plan.alongside?.(job);
    const spec = queueSpecOf(job);
    const books = new BookCloser(engine, queue, clock);
    const settings = new LiveSettings(engine, queue, { spec, clock });
    const run = runQueue({
      engine,
      queue,
      policy: withHandler(spec, plan).policy,
      settings: () => withHandler(settings.now(), plan),
      ...(plan.askHandler && { askHandler: plan.askHandler }),
      handler: plan.handler,
      slots: plan.concurrency ?? CONCURRENCY,
      keepGoing: !plan.untilEmpty,
      stop: this.#stop.signal,
      drain: this.#drain.signal,
      holderTtlMs: spec.leaseMs,
      storeWaitMs,
      clock,
      observer: accompanied(observer, books),
      ...(rate && { ownRate: rate }),
      ...(plan.name !== undefined && { author: plan.name }),
      ...(plan.abandonAfterMs !== undefined && { abandonAfterMs: plan.abandonAfterMs }),
      ...(plan.evidenceFolder !== undefined && { evidenceFolder: plan.evidenceFolder }),
      ...(plan.toxicAfter !== undefined && { toxicAfter: plan.toxicAfter }),
      ...(plan.groupRules && { groupRules: plan.groupRules }),
      ...(plan.classRules && { classRules: plan.classRules }),
    });
    return run.finally(() => books.stop()).finally(() => service?.stop());
  }
}

/** A worker with a handler asks it, whatever the queue's settings do with failures. */
function withHandler(spec: QueueSpec, { askHandler }: WorkPlan): QueueSpec {
  return askHandler ? { ...spec, policy: { ...spec.policy, onItemFailure: "custom" } } : spec;
}

/** Redrives are followed by whoever began them, or by nobody: whichever worker ends the last letter closes the books. */
function accompanied(observer: RunObserver = {}, books: BookCloser): RunObserver {
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      books.settled(item);
      observer.settled?.(item, settlement, outcome);
    },
  };
}

function told(observer: RunObserver | undefined) {
  return {
    trouble: (error: Parameters<NonNullable<RunObserver["trouble"]>>[0]) => observer?.trouble?.(error),
    recovered: () => observer?.recovered?.(),
  };
}
