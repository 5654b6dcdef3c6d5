/**
 * How the holders of an engine come, beat and go. A beat that comes late is as good as none: over a connection that says nothing it is
 * given up early enough for another one, over a new connection, before the lease is over.
 */
import type { Holder, NewHolder } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { beat, enter, leave, revoke } from "./lease.ts";
import type { Session } from "./session.ts";

const STEP_MS_MAX = 30_000;
const BEAT_MS_MAX = 10_000;
/** Of the time to live. The beat before was a quarter of it ago; two that are in vain leave another quarter. */
const SILENT_SHARE = 1 / 4;
const SILENCE_MS_MIN = 1_000;

export class Beats {
  readonly #session: Session;
  /** How long each of them is waited for when nothing is heard. */
  readonly #silences = new Map<string, number>();

  constructor(session: Session) {
    this.#session = session;
  }

  async enter(holder: NewHolder): Promise<Holder> {
    const entered = await this.#session.write((tx) => enter(tx, holder), { timeoutMs: STEP_MS_MAX });
    this.#silences.set(holder.id, Math.max(SILENCE_MS_MIN, holder.ttlMs * SILENT_SHARE));
    return entered;
  }

  async beat(holderId: string): Promise<boolean> {
    const silenceMs = Math.min(BEAT_MS_MAX, this.#silences.get(holderId) ?? BEAT_MS_MAX);
    const once = () => this.#session.write((tx) => beat(tx, holderId), { timeoutMs: BEAT_MS_MAX, silenceMs });
    const isKnown = await once().catch((error: unknown) => {
      if (error instanceof WorkError && error.code === "store_unavailable") return once();
      throw error;
    });
    if (!isKnown) this.#silences.delete(holderId);
    return isKnown;
  }

  revoke(holderId: string, options: { readonly isProcessDead: boolean }): Promise<boolean> {
    return this.#session.write((tx) => revoke(tx, holderId, options), { timeoutMs: STEP_MS_MAX });
  }

  async leave(holderId: string): Promise<boolean> {
    const hasLeft = await this.#session.write((tx) => leave(tx, holderId), { timeoutMs: STEP_MS_MAX });
    if (hasLeft) this.#silences.delete(holderId);
    return hasLeft;
  }
}
