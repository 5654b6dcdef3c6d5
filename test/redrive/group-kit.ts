/** A store with letters of several groups in several queues, and the few ways to look at them. */
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { LETTER_STATES } from "../../src/item/state.ts";
import { newHolder } from "../conformance/workbench.ts";
import { buried, failureOf } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

/** Signatures that can be told apart, also by their beginnings. */
export const A = "aaaa000000000001";
export const B = "bbbb000000000002";
export const C = "cccc000000000003";

export interface Death {
  readonly signature?: string;
  readonly pattern?: string;
  readonly message?: string;
  readonly algorithm?: string;
  readonly queue?: string;
  readonly data?: string;
}

export class GroupKit {
  readonly clock = new TestClock();
  readonly engine: Engine = openMemoryEngine({ clock: this.clock });

  /** Buries the items in the order in which they are given. */
  async bury(deaths: Readonly<Record<string, Death>>): Promise<void> {
    for (const [itemId, { queue = "job-1", ...death }] of Object.entries(deaths)) {
      if ((await this.engine.findJob(queue)) === null) {
        await this.engine.createJob({ id: queue, name: queue, kind: "map", spec: {} });
        await this.engine.registerHolder({ ...newHolder(`worker-${queue}`), queue });
      }
      await this.engine.add(queue, [{ itemId, data: death.data ?? itemId }]);
      await this.#kill(queue, death);
    }
  }

  async #kill(queue: string, { message = "it failed", data: _, ...death }: Death): Promise<void> {
    const holder = `worker-${queue}`;
    const { leased } = await this.engine.settleAndLease(holder, { settle: [], lease: { queue, max: 1 } });
    const [item] = leased;
    if (item === undefined) throw new Error(`nothing is due in ${queue}`);
    const named = { pattern: `pattern of ${death.signature}`, ...death };
    const settlement = { ...buried(item, named), failure: failureOf(item, { errorMessage: message }) };
    await this.engine.settleAndLease(holder, { settle: [settlement] });
  }

  /** The signature of every letter, by item. */
  async groups(): Promise<Readonly<Record<string, string>>> {
    const { letters } = await this.engine.listLetters({
      states: LETTER_STATES,
      limit: 1000,
      order: "oldest",
    });
    return Object.fromEntries(letters.map(({ itemId, errorSignature }) => [itemId, errorSignature]));
  }

  async record(signature: string) {
    const record = await this.engine.readGroup(signature);
    if (record === null) throw new Error(`there is no group ${signature}`);
    return record;
  }
}
