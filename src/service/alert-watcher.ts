/**
 * A watcher evaluates the rules, updates the shared state and sends to the channels. A check never waits for a channel, and
 * channels do not wait for each other. Delivery is at least once: an alert counts as sent when the receiver accepted it.
 */
import { hostname } from "node:os";
import type { Engine } from "../engine.ts";
import { isStoreError, isStoreTrouble, type RedriveError } from "../errors.ts";
import { type Clock, systemClock, toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import { type Random, randomName } from "../std/random.ts";
import { deliver, type SendResult, type SentNotice, send, TRIES_MAX } from "./alert-channels.ts";
import { type Notice, noticeOf } from "./alert-message.ts";
import { findTrouble, findWrong, type Sight } from "./alert-rules.ts";
import { EVENT_LOG, forgetOld, type Notification, notificationsFor } from "./alert-schedule.ts";
import type { WatchSettings } from "./alert-settings.ts";
import {
  type Alert,
  type AlertState,
  advance,
  claim,
  recordSent,
  SharedAlertState,
  unclaim,
} from "./alert-state.ts";

export interface WatcherOptions {
  /** Opens the store. Called again if it fails. */
  readonly open: () => Promise<Engine>;
  readonly storeUrl: string;
  readonly settings: WatchSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly onSent?: (sent: SentNotice) => void;
}

export interface CheckReport {
  readonly at: number;
  /** All raised alerts, including those that were sent before. */
  readonly alerts: readonly Alert[];
  /** Present when the store is unavailable. Nothing else was checked then. */
  readonly trouble?: RedriveError;
  /** The messages of this check, which are being sent in the background. */
  readonly notices: readonly { readonly channel: string; readonly notice: Notice }[];
  readonly sent: Promise<readonly SentNotice[]>;
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #clock: Clock;
  readonly #id = `${hostname()}:${process.pid}:${randomName(6)}`;
  readonly #state = new SharedAlertState();
  readonly #stop = new AbortController();
  readonly #busy = new Map<string, Promise<SentNotice>>();
  #engine: Engine | null = null;
  #eventsSeen = 0;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get eventsSeen(): number {
    return this.#eventsSeen;
  }

  /** Returns the store, which is opened on first use. Throws when it cannot be opened. */
  async engine(): Promise<Engine> {
    this.#engine ??= await this.#options.open();
    return this.#engine;
  }

  async check(): Promise<CheckReport> {
    const { settings } = this.#options;
    try {
      const engine = await this.engine();
      const sight = await findWrong(engine, settings.rules, await this.#state.read(engine));
      const { state, trouble } = await this.#state.change(engine, (before) => this.#checked(before, sight));
      if (trouble !== null) throw trouble;
      this.#eventsSeen = sight.eventsSeen;
      return this.#report(state, sight.at, engine);
    } catch (error) {
      if (!isStoreTrouble(error)) throw error;
      return this.#checkWithout(error);
    }
  }

  /** Returns what a check would find and send. Sends and writes nothing. */
  async preview(): Promise<Omit<CheckReport, "sent">> {
    const { settings, storeUrl: store } = this.#options;
    const engine = await this.engine();
    const before = await this.#state.read(engine);
    const sight = await findWrong(engine, settings.rules, before);
    const state = this.#looked(before, sight);
    const notices = settings.channels
      .map(({ name }) => ({
        channel: name,
        notifications: notificationsFor(name, state, settings, sight.at),
      }))
      .filter(({ notifications }) => notifications.length > 0)
      .map(({ channel, notifications }) => ({
        channel,
        notice: noticeOf(notifications, { at: sight.at, store }),
      }));
    return { at: sight.at, alerts: wrongIn(state), notices };
  }

  /** Cancels messages in progress, which the next watcher sends. Resolves when all work has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#busy.values());
    await this.#engine?.close();
    this.#engine = null;
  }

  /** Checks only the store's own rules, and keeps the new state until the store can be written. */
  async #checkWithout(trouble: RedriveError): Promise<CheckReport> {
    const { rules } = this.#options.settings;
    const at = this.#clock.now();
    const ofStore = rules.filter(({ condition }) => condition.kind === "store_unhealthy");
    const findings = findTrouble(rules, trouble.message);
    const { state } = await this.#state.change(null, (before) =>
      this.#claimed(advance(before, { findings, rules: ofStore, at }), at),
    );
    return { ...this.#report(state, at, null), trouble };
  }

  #checked(before: AlertState, sight: Sight): AlertState {
    return this.#claimed(this.#looked(before, sight), sight.at);
  }

  #looked(before: AlertState, { findings, at, eventsSeen, writeFailures }: Sight): AlertState {
    const { settings } = this.#options;
    const rose = before.writeFailures !== null && writeFailures > before.writeFailures;
    const state = advance(before, { findings, rules: settings.rules, at });
    return forgetOld(
      {
        ...state,
        eventsSeen: Math.max(eventsSeen, before.eventsSeen ?? 0),
        writeFailures: Math.max(writeFailures, before.writeFailures ?? 0),
        writeFailuresRoseAt: rose ? at : before.writeFailuresRoseAt,
      },
      settings,
      at,
    );
  }

  #claimed(state: AlertState, at: number): AlertState {
    let next = state;
    for (const { name, timeoutMs } of this.#listeners()) {
      if (this.#busy.has(name)) continue;
      next = unclaim(next, name, this.#id);
      if (notificationsFor(name, next, this.#options.settings, at).length === 0) continue;
      next = claim(next, name, { by: this.#id, until: at + timeoutMs * TRIES_MAX + WAITS_MS, at });
    }
    return next;
  }

  #listeners(): readonly { readonly name: string; readonly timeoutMs: number }[] {
    return [{ name: EVENT_LOG, timeoutMs: EVENTS_MS }, ...this.#options.settings.channels];
  }

  #report(state: AlertState, at: number, engine: Engine | null): CheckReport {
    const { settings, storeUrl: store, env } = this.#options;
    const stop = this.#stop.signal;
    const claimed = (name: string) => {
      const isOurs = state.claims[name]?.by === this.#id && !this.#busy.has(name);
      return noticeOf(isOurs ? notificationsFor(name, state, settings, at) : [], { at, store });
    };
    const log = claimed(EVENT_LOG);
    const logged =
      engine !== null && log.notifications.length > 0
        ? this.#send(EVENT_LOG, log, () => writeAlertEvents(engine, log.notifications))
        : null;
    const notices = settings.channels
      .map((channel) => ({ channel, notice: claimed(channel.name) }))
      .filter(({ notice }) => notice.notifications.length > 0);
    const sent = Promise.all(
      notices.map(({ channel, notice }) =>
        this.#send(channel.name, notice, () => send(channel, notice, { env, stop })),
      ),
    );
    return {
      at,
      alerts: wrongIn(state),
      notices: notices.map(({ channel, notice }) => ({ channel: channel.name, notice })),
      sent: Promise.all([sent, logged]).then(([messages]) => messages),
    };
  }

  #send(name: string, notice: Notice, once: () => Promise<SendResult>): Promise<SentNotice> {
    const sending = this.#delivered(name, notice, once).finally(() => this.#busy.delete(name));
    this.#busy.set(name, sending);
    return sending;
  }

  async #delivered(name: string, notice: Notice, once: () => Promise<SendResult>): Promise<SentNotice> {
    const { random = Math.random } = this.#options;
    const delivery = await deliver(once, { clock: this.#clock, random, stop: this.#stop.signal });
    const sentAlerts = notice.notifications.map(({ alert, state }) => ({
      key: alert.key,
      raisedAt: alert.raisedAt,
      isOver: state === "recovered" || state === "passed",
    }));
    const at = await this.#now();
    await this.#state.change(this.#engine, (state) =>
      unclaim(delivery.ok ? recordSent(state, sentAlerts, { channel: name, at }) : state, name, this.#id),
    );
    const sent = { channel: name, notice, ...delivery };
    if (!delivery.ok && name !== EVENT_LOG && this.#engine) await writeUndelivered(this.#engine, sent);
    if (name !== EVENT_LOG) this.#options.onSent?.(sent);
    return sent;
  }

  /** Returns the time of the store's clock, which all watchers share, or the local time if the store is unavailable. */
  async #now(): Promise<number> {
    try {
      return (await this.#engine?.now()) ?? this.#clock.now();
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return this.#clock.now();
    }
  }
}

/** Added to claims, so that they last longer than all attempts and the delays between them. */
const WAITS_MS = 150_000;
const EVENTS_MS = 10_000;

function wrongIn({ alerts }: AlertState): readonly Alert[] {
  return Object.values(alerts)
    .filter(({ recoveredAt }) => recoveredAt === undefined)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Writes one event per alert, or two if it recovered before it was written. */
async function writeAlertEvents(engine: Engine, notifications: readonly Notification[]): Promise<SendResult> {
  return trying(async () => {
    for (const { alert, state } of notifications) {
      if (alert.queue === null) continue;
      const { rule, kind, severity, value, limit, text, overText, raisedAt } = alert;
      const data = { rule, condition: kind, severity, value, limit, raised_at: toRfc3339(raisedAt) };
      if (state === "raised" || state === "passed")
        await engine.changeJob(alert.queue, { event: { type: "alert_raised", data: { ...data, text } } });
      if (state === "recovered" || state === "passed") {
        const over: JsonObject = { ...data, text: overText };
        await engine.changeJob(alert.queue, { event: { type: "alert_recovered", data: over } });
      }
    }
  });
}

async function writeUndelivered(engine: Engine, { channel, notice, tries, reason = "" }: SentNotice) {
  const queue = notice.notifications.find(({ alert }) => alert.queue !== null)?.alert.queue;
  if (!queue) return;
  const data = { channel, reason, tries, alerts: notice.notifications.length };
  await trying(() => engine.changeJob(queue, { event: { type: "alert_undelivered", data } }));
}

/** Returns store errors as `refused`, because the next check tries again. */
async function trying(action: () => Promise<unknown>): Promise<SendResult> {
  try {
    await action();
    return { kind: "sent" };
  } catch (error) {
    if (!isStoreError(error)) throw error;
    return { kind: "refused", reason: error.message };
  }
}
