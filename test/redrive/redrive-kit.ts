/** A queue with letters, and a worker whose successes and failures the test decides. */
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { LetterFilter } from "../../src/item/letter-query.ts";
import type { Operation } from "../../src/item/operation.ts";
import { beginSelected } from "../../src/redrive/operation.ts";
import { planToJson, type RedrivePlan } from "../../src/redrive/plan.ts";
import { sendLetters } from "../../src/redrive/send.ts";
import { WakeSignal } from "../../src/runner/poll-schedule.ts";
import { StoreRetry } from "../../src/runner/store-retry.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { newHolder } from "../conformance/workbench.ts";
import { buried, deathRecordOf, succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

export const QUEUE = "job-1";

/** What the death record of an item says: its group, and whether it may be sent again. */
export interface Death {
  readonly signature?: string;
  /** Default: the algorithm of this version. */
  readonly algorithm?: string;
  readonly reprocessEligible?: boolean;
}

export class RedriveKit {
  readonly clock = new TestClock();
  readonly engine: Engine = openMemoryEngine({ clock: this.clock });
  readonly notices: string[] = [];
  readonly stop = new AbortController();
  readonly #deaths = new Map<string, Death>();

  /** Buries the items in the order in which they are given. */
  async bury(deaths: Readonly<Record<string, Death>>): Promise<void> {
    if ((await this.engine.findJob(QUEUE)) === null) {
      await this.engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
      await this.engine.registerHolder({ ...newHolder("worker"), queue: QUEUE });
    }
    const ids = Object.keys(deaths);
    await this.engine.add(
      QUEUE,
      ids.map((itemId) => ({ itemId, data: itemId })),
    );
    for (const item of await this.lease()) {
      this.#deaths.set(item.itemId, deaths[item.itemId] ?? {});
      await this.#settle(item, false);
    }
  }

  begin(
    plan: RedrivePlan = {},
    { force = false, filter = {} }: { force?: boolean; filter?: LetterFilter } = {},
  ): Promise<Operation> {
    const request = { queue: QUEUE, author: "ann", force, selection: { filter }, plan: planToJson(plan) };
    return beginSelected(this.engine, { kind: "redrive", ...request });
  }

  /** One step after the other, when the test asks for it. */
  send(operation: Operation, signal: AbortSignal = this.stop.signal): AsyncGenerator<number> {
    return sendLetters(operation, {
      engine: this.engine,
      storeRetry: new StoreRetry(0, this.clock),
      clock: this.clock,
      signal,
      wake: this.wake,
      onNotice: (notice) => this.notices.push(notice),
    });
  }

  readonly wake = new WakeSignal();

  /** Leases all that is due, and settles each: it fails as it did before when `fails` says so. */
  async work(fails: (itemId: string) => boolean = () => false): Promise<readonly string[]> {
    const leased = await this.lease();
    for (const item of leased) await this.#settle(item, !fails(item.itemId));
    this.wake.notify();
    return leased.map(({ itemId }) => itemId);
  }

  async lease(): Promise<readonly LeasedItem[]> {
    const lease = { queue: QUEUE, max: 1000 };
    return (await this.engine.settleAndLease("worker", { settle: [], lease })).leased;
  }

  async #settle(item: LeasedItem, isGood: boolean): Promise<void> {
    const death = deathRecordOf({ algorithm: ALGORITHM, ...this.#deaths.get(item.itemId) });
    await this.engine.settleAndLease("worker", { settle: [isGood ? succeeded(item) : buried(item, death)] });
  }
}

/** `a1` to `a9`, all of one group. */
export function many(prefix: string, count: number, death: Death): Record<string, Death> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index + 1}`, death]));
}
