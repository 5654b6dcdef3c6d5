/**
 * Registers the holders of an engine, renews their leases and removes them. A heartbeat on a dead connection times out after
 * a quarter of the time to live, so that a second try over a new connection still arrives in time.
 */
import type { Holder, NewHolder } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { type ClockSample, ClockWatch, uptimeOf } from "../clock-record.ts";
import { followClock } from "../sql/clock-steps.ts";
import type { Db, Step } from "../sql/db.ts";
import { heartbeat, registerHolder, revoke, unregisterHolder } from "../sql/holders.ts";
import { runOn } from "./db.ts";
import type { Limits, Session } from "./session.ts";

const STEP_MS_MAX = 30_000;
const HEARTBEAT_MS_MAX = 10_000;
/**
 * The timeout of a heartbeat as a share of the time to live. The last heartbeat was one quarter ago; after
 * two failures another quarter remains.
 */
const SILENT_SHARE = 1 / 4;
const SILENCE_MS_MIN = 1_000;

export class Heartbeats {
  /** Detects steps of the server's clock. */
  readonly watch = new ClockWatch();
  readonly #session: Session;
  /** The timeout of heartbeats, by holder. */
  readonly #silences = new Map<string, number>();

  constructor(session: Session) {
    this.#session = session;
  }

  async registerHolder(holder: NewHolder): Promise<Holder> {
    await this.#session.keepStore();
    const registered = await this.#follow((db) => registerHolder(db, holder), { timeoutMs: STEP_MS_MAX });
    this.#silences.set(holder.id, Math.max(SILENCE_MS_MIN, holder.ttlMs * SILENT_SHARE));
    return registered;
  }

  async heartbeat(holderId: string): Promise<boolean> {
    const silenceMs = Math.min(HEARTBEAT_MS_MAX, this.#silences.get(holderId) ?? HEARTBEAT_MS_MAX);
    const once = () =>
      this.#follow((db) => heartbeat(db, holderId), { timeoutMs: HEARTBEAT_MS_MAX, silenceMs });
    const isKnown = await once().catch((error: unknown) => {
      if (error instanceof RedriveError && error.code === "store_unavailable") return once();
      throw error;
    });
    if (!isKnown) this.#silences.delete(holderId);
    return isKnown;
  }

  revoke(holderId: string, options: { readonly isProcessDead: boolean }): Promise<boolean> {
    return this.#write((db) => revoke(db, holderId, options));
  }

  async unregisterHolder(holderId: string): Promise<boolean> {
    const hasLeft = await this.#write((db) => unregisterHolder(db, holderId));
    if (hasLeft) this.#silences.delete(holderId);
    return hasLeft;
  }

  #write<T>(step: (db: Db) => Step<T>): Promise<T> {
    return this.#session.write((tx) => runOn(tx, step), { timeoutMs: STEP_MS_MAX });
  }

  /** Checks for a clock step and runs `step` in one transaction. Reads the stored record only if the clock seems changed. */
  async #follow<T>(step: (db: Db) => Step<T>, limits: Limits): Promise<T> {
    const { clock } = this.#session;
    const upFrom = uptimeOf(clock);
    let looked: { readonly sample: ClockSample; readonly stepMs: number } | undefined;
    const answer = await this.#session.write(async (tx) => {
      const sample = { now: tx.now, upFrom, upTo: uptimeOf(clock) };
      const seenMs = this.watch.seenStep(sample);
      const stepMs =
        seenMs === 0 ? 0 : (await runOn(tx, (db) => followClock(db, sample))).stepMs || (seenMs ?? 0);
      looked = { sample, stepMs };
      return runOn(tx, step);
    }, limits);
    if (looked === undefined) return answer;
    const { sample, stepMs } = looked;
    if (sample.upTo - sample.upFrom < PRECISE_MS_MAX || stepMs !== 0) this.watch.looked(sample);
    if (stepMs !== 0) this.watch.report(stepMs);
    return answer;
  }
}

/** If the answer takes longer, the time at which the server read its clock is too imprecise. */
const PRECISE_MS_MAX = 2_000;
