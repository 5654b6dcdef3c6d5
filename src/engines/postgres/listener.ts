/**
 * One connection that listens for notifications of other processes and notifies the watchers of a queue. It
 * is open while there are watchers. After a connection loss it reconnects and notifies all watchers, because
 * notifications may have been missed.
 */
import pg from "pg";
import { Notifier } from "../../std/notifier.ts";
import { hangUp } from "./pipelining.ts";
import type { Session } from "./session.ts";
import { storeError } from "./trouble.ts";

/** The wait before reconnecting doubles from the first value to the second. */
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5_000;
/** A connection that receives nothing may be dead, so it is probed. */
const PROBE_MS = 15_000;
const PROBE_MS_MAX = 10_000;

export class Listener {
  readonly #session: Session;
  readonly #notifier = new Notifier();
  /** The number of watchers of each queue. */
  readonly #watched = new Map<string, number>();
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Listens before it resolves, so that later commits are notified. The returned function ends the watch. */
  async watch(queue: string, notify: () => void): Promise<() => Promise<void>> {
    const end = this.#notifier.on(queue, notify);
    this.#count(queue, 1);
    try {
      await this.#connect();
    } catch (error) {
      end();
      this.#count(queue, -1);
      throw storeError(error, this.#session.address.shown);
    }
    let hasEnded = false;
    return async () => {
      if (hasEnded) return;
      hasEnded = true;
      end();
      this.#count(queue, -1);
      if (this.#watched.size === 0) await this.close();
    };
  }

  async close(): Promise<void> {
    this.#watched.clear();
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await hangUp(client);
  }

  #count(queue: string, by: number): void {
    const count = (this.#watched.get(queue) ?? 0) + by;
    if (count > 0) this.#watched.set(queue, count);
    else this.#watched.delete(queue);
  }

  #connect(): Promise<void> {
    if (this.#client !== undefined) return Promise.resolve();
    this.#connecting ??= this.#listen().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #listen(): Promise<void> {
    const client = await this.#session.connect((made) => {
      made.on("error", () => this.#lost(made));
      made.on("end", () => this.#lost(made));
      made.on("notification", ({ payload }) => this.#notify(payload ?? ""));
    });
    try {
      await client.query(`LISTEN ${pg.escapeIdentifier(this.#session.channel)}`);
    } catch (error) {
      await hangUp(client);
      throw error;
    }
    this.#client = client;
    this.#probeLater(client);
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    void hangUp(client);
    this.#connectAgain(RETRY_MS_MIN);
  }

  #connectAgain(waitMs: number): void {
    clearTimeout(this.#timer);
    if (this.#watched.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#connect().then(
        () => this.#notify(""),
        () => this.#connectAgain(Math.min(waitMs * 2, RETRY_MS_MAX)),
      );
    }, waitMs);
    this.#timer.unref();
  }

  #probeLater(client: pg.Client): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const probe = { text: "SELECT 1", query_timeout: PROBE_MS_MAX };
      client.query(probe).then(
        () => this.#client === client && this.#probeLater(client),
        () => this.#lost(client),
      );
    }, PROBE_MS);
    this.#timer.unref();
  }

  /** Notifies the watchers of one queue, or of all queues. */
  #notify(queue: string): void {
    if (queue !== "") this.#notifier.notify(queue);
    else for (const name of this.#watched.keys()) this.#notifier.notify(name);
  }
}
