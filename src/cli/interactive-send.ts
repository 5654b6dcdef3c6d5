/** Sends receipts: stores all of them, then waits for each to be delivered or to die, until the waiting ends. */
import type { ReadReceipt } from "../delivery/receipt.ts";
import { OutageNotice } from "../delivery/recovery.ts";
import { type KeptReceipt, Target } from "../delivery/target.ts";

import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { requireTarget } from "../queue/find-job.ts";
import type { RunDeps } from "../run/run-job.ts";
import { type Service, startServices } from "../service/service.ts";
import { systemClock } from "../std/clock.ts";
import type { Context } from "./context.ts";
import { clean } from "./render/paint.ts";

/** `kept`: stored without waiting. `waiting`: not finished when the waiting ended. `conflict`: refused and not stored. */
export type SentOutcome = "delivered" | "dead" | "kept" | "waiting" | "conflict";

export interface SentReceipt {
  readonly key: string;
  readonly outcome: SentOutcome;
  /** False when it was sent before. */
  readonly isNew: boolean;
  /** Of one that is dead, or was refused: why. */
  readonly error?: string;
}

export interface SendPlan {
  readonly name: string;
  readonly receipts: AsyncIterable<readonly ReadReceipt[]>;
  readonly order?: string;
  /** How long the end is waited for; null: not at all. */
  readonly waitMs: number | null;
  readonly concurrency?: number;
  /** Aborted to wait no longer. */
  readonly signal: AbortSignal;
  /** The services that go along, and the rules for letters. */
  readonly maintenance: Pick<RunDeps, "services" | "poisonAfter" | "groupRules">;
}

/** Returns what became of each, in their order. `onEnd` is called for each as it ends. */
export async function sendReceipts(
  context: Context,
  engine: Engine,
  plan: SendPlan,
  onEnd: (receipt: SentReceipt) => void,
): Promise<readonly SentReceipt[]> {
  const job = await requireTarget(engine, plan.name);
  const services = servicesOf(context, engine, { job, plan });
  const sending = new Sending(context, engine, { plan, job, services, onEnd });
  try {
    return await sending.send();
  } finally {
    await sending.close();
    await services.stop();
  }
}

function servicesOf(
  context: Context,
  engine: Engine,
  { job, plan }: { readonly job: Job; readonly plan: SendPlan },
): Required<Service> {
  const surroundings = {
    engine,
    home: context.home,
    clock: systemClock,
    onNotice: (text: string) => context.note(text),
  };
  return startServices(plan.maintenance.services ?? [], job, surroundings);
}

const STORE_WAIT_MS = 30_000;

interface Parts {
  readonly plan: SendPlan;
  readonly job: Job;
  readonly services: Required<Service>;
  readonly onEnd: (receipt: SentReceipt) => void;
}

class Sending {
  readonly #context: Context;
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #target: Target;
  readonly #giveUp = new AbortController();
  /** Why the last try of a key failed. */
  readonly #failures = new Map<string, string>();
  readonly #outage: OutageNotice;
  #cancelWait: (() => void) | undefined;

  constructor(context: Context, engine: Engine, parts: Parts) {
    const { plan } = parts;
    this.#context = context;
    this.#engine = engine;
    this.#parts = parts;
    this.#outage = new OutageNotice(plan.name, (notice) => this.#note(clean(notice)));
    const { poisonAfter, groupRules } = plan.maintenance;
    this.#target = new Target(engine, plan.name, {
      isDelivering: plan.waitMs !== null,
      storeWaitMs: STORE_WAIT_MS,
      onSettled: this.#settled,
      onPaused: (isPaused) => void (isPaused && this.#paused()),
      ...(plan.concurrency !== undefined && { concurrency: plan.concurrency }),
      ...(poisonAfter !== undefined && { poisonAfter }),
      ...(groupRules && { groupRules }),
    });
    if (plan.signal.aborted) this.#giveUp.abort();
    plan.signal.addEventListener("abort", () => this.#giveUp.abort(), { once: true });
  }

  async send(): Promise<readonly SentReceipt[]> {
    await this.#target.opened;
    const { waitMs } = this.#parts.plan;
    const ends: Promise<SentReceipt>[] = [];
    for await (const run of this.#read()) {
      const kept = await Promise.all(run.map((one) => this.#keep(one)));
      for (const one of kept) ends.push(this.#end(one));
    }
    if (waitMs !== null && Number.isFinite(waitMs))
      this.#cancelWait = systemClock.after(waitMs, () => this.#giveUp.abort());
    return Promise.all(ends);
  }

  /** After a signal no more are read; those that were read are still sent. */
  async *#read(): AsyncGenerator<readonly ReadReceipt[]> {
    const { receipts, signal } = this.#parts.plan;
    try {
      yield* receipts;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async close(): Promise<void> {
    this.#cancelWait?.();
    await this.#target.close();
  }

  async #keep({ receipt, key }: ReadReceipt): Promise<KeptReceipt | SentReceipt> {
    const { order } = this.#parts.plan;
    const how = {
      wait: false,
      ...(key !== undefined && { key }),
      ...(order !== undefined && { order }),
    } as const;
    try {
      return await this.#target.send(receipt, how);
    } catch (error) {
      if (!(error instanceof WorkError) || error.code !== "receipt_conflict") throw error;
      return { key: key ?? "", outcome: "conflict", isNew: false, error: error.message };
    }
  }

  async #end(kept: KeptReceipt | SentReceipt): Promise<SentReceipt> {
    const ended = "outcome" in kept ? kept : await this.#outcomeOf(kept);
    this.#parts.onEnd(ended);
    return ended;
  }

  async #outcomeOf(kept: KeptReceipt): Promise<SentReceipt> {
    const { key, isNew } = kept;
    if (this.#parts.plan.waitMs === null) return { key, isNew, outcome: "kept" };
    try {
      if (await kept.delivered(this.#giveUp.signal)) return { key, isNew, outcome: "delivered" };
      const error = this.#failures.get(key);
      return { key, isNew, outcome: "dead", ...(error !== undefined && { error }) };
    } catch (error) {
      if (!(error instanceof WorkError) || error.code !== "interrupted") throw error;
      return { key, isNew, outcome: "waiting" };
    }
  }

  readonly #settled = (item: LeasedItem, settlement: Settlement): void => {
    this.#parts.services.settled(item, settlement);
    const { failure, death } = settlement;
    if (death && failure) this.#failures.set(item.itemId, failure.errorMessage);
    this.#outage.settled(settlement);
  };

  /** A paused target sends nothing, so waiting is pointless. */
  async #paused(): Promise<void> {
    const { name } = this.#parts.plan;
    const pause = (await this.#engine.findJob(name).catch(() => null))?.pause;
    const why = pause === undefined || pause.reason === "" ? "" : `: ${clean(pause.reason)}`;
    this.#note(`${name} is paused${why}. To resume: redrive receipts resume ${name}`);
    this.#giveUp.abort();
  }

  #note(text: string): void {
    this.#context.note(text);
  }
}
