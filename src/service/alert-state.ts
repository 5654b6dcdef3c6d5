/** The state of alerts, shared in one document of the store: watchers send no alert twice, and a restart loses none. */

import type { Engine } from "../engine.ts";
import { isStoreError, RedriveError } from "../errors.ts";
import { canonicalJson, type Json, type JsonObject } from "../std/json.ts";
import type { ConditionKind, Severity } from "./alert-settings.ts";

export interface AlertFinding {
  /** Stable across checks for the same rule and queue. */
  readonly key: string;
  readonly rule: string;
  readonly kind: ConditionKind;
  readonly queue: string | null;
  readonly severity: Severity;
  /** The measured value; `limit` is the limit of the rule. */
  readonly value: number;
  readonly limit: number;
  readonly text: string;
  readonly overText: string;
}

/** A finding with its history. Times are from the store's clock. */
export interface Alert extends AlertFinding {
  readonly raisedAt: number;
  readonly recoveredAt?: number;
  readonly sent: Readonly<Record<string, LastSent>>;
}

export interface LastSent {
  /** The `raisedAt` of the alert that was sent last. */
  readonly raisedAt: number;
  /** When the alert was last sent; 0 if it never was. */
  readonly at: number;
  readonly isOver: boolean;
}

/** The watcher that is sending to a channel. A claim expires, because its watcher may crash. */
export type Claim = { readonly by: string; readonly until: number };

export interface AlertState {
  readonly alerts: Readonly<Record<string, Alert>>;
  readonly claims: Readonly<Record<string, Claim>>;
  /** The newest event that was checked for new groups; null before the first check. */
  readonly eventsSeen: number | null;
  /** The total number of failed writes at the last check; null before the first check. */
  readonly writeFailures: number | null;
  readonly writeFailuresRoseAt: number;
}

export const NO_ALERTS: AlertState = {
  alerts: {},
  claims: {},
  eventsSeen: null,
  writeFailures: null,
  writeFailuresRoseAt: 0,
};

export interface Checked {
  readonly findings: readonly AlertFinding[];
  /** The evaluated rules. Their alerts without a finding have recovered; alerts of other rules stay unchanged. */
  readonly rules: readonly { readonly name: string }[];
  readonly at: number;
}

/** Raises alerts for the findings, and marks alerts without a finding as recovered. */
export function advance(state: AlertState, { findings, rules, at }: Checked): AlertState {
  const looked = new Set(rules.map(({ name }) => name));
  const found = new Map(findings.map((finding) => [finding.key, finding]));
  const alerts: Record<string, Alert> = {};
  for (const [key, alert] of Object.entries(state.alerts)) {
    if (found.has(key)) continue;
    alerts[key] = looked.has(alert.rule) ? { ...alert, recoveredAt: alert.recoveredAt ?? at } : alert;
  }
  for (const finding of findings) alerts[finding.key] = raised(state.alerts[finding.key], finding, at);
  return { ...state, alerts };
}

function raised(before: Alert | undefined, finding: AlertFinding, at: number): Alert {
  if (before === undefined) return { ...finding, raisedAt: at, sent: {} };
  const { recoveredAt, ...open } = before;
  return { ...open, ...finding, ...(recoveredAt !== undefined && { raisedAt: at }) };
}

type SentAlert = { readonly key: string; readonly raisedAt: number; readonly isOver: boolean };

export function recordSent(
  state: AlertState,
  notifications: readonly SentAlert[],
  { channel, at }: { channel: string; at: number },
): AlertState {
  const alerts = { ...state.alerts };
  for (const { key, raisedAt, isOver } of notifications) {
    const alert = alerts[key];
    if (alert === undefined || (isOver && alert.raisedAt !== raisedAt)) continue; // the alert was raised again
    const last = { raisedAt: alert.raisedAt, at: isOver ? (alert.sent[channel]?.at ?? 0) : at, isOver };
    alerts[key] = { ...alert, sent: { ...alert.sent, [channel]: last } };
  }
  return { ...state, alerts };
}

export function claim(
  state: AlertState,
  channel: string,
  { by, until, at }: Claim & { at: number },
): AlertState {
  const held = state.claims[channel];
  if (held !== undefined && held.until > at && held.by !== by) return state;
  return { ...state, claims: { ...state.claims, [channel]: { by, until } } };
}

export function unclaim(state: AlertState, channel: string, by: string): AlertState {
  if (state.claims[channel]?.by !== by) return state;
  const { [channel]: _, ...claims } = state.claims;
  return { ...state, claims };
}

export function alertStateToJson(state: AlertState): JsonObject {
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}

/** Reads the state from its document. A missing or unknown document counts as empty. */
export function alertStateFromJson(json: Json | undefined): AlertState {
  if (typeof json !== "object" || json === null || !("alerts" in json)) return NO_ALERTS;
  const state = { ...NO_ALERTS, ...(json as unknown as StoredState) };
  const alerts = Object.entries(state.alerts).map(([key, { told = {}, sent = told, ...alert }]) => [
    key,
    { ...alert, sent },
  ]);
  return { ...state, alerts: Object.fromEntries(alerts) };
}

/** Documents of earlier versions have `told` instead of `sent`. */
type StoredState = Omit<AlertState, "alerts"> & {
  readonly alerts: Readonly<
    Record<string, Omit<Alert, "sent"> & Partial<Record<"sent" | "told", Alert["sent"]>>>
  >;
};

export const DOCUMENT_NAME = "watch/alerts";

export type Change = (state: AlertState) => AlertState;

/** A retry is needed only when another watcher wrote first, which rarely happens twice in a row. */
const TRIES_MAX = 50;

/** Beyond this number, pending changes are merged into one that overwrites the changes of other watchers. */
const UNSAVED_MAX = 100;

export class SharedAlertState {
  /** The last known state, including changes that could not be written yet. */
  #known: AlertState = NO_ALERTS;
  #unsaved: readonly Change[] = [];
  #last: Promise<unknown> = Promise.resolve();

  async read(engine: Engine): Promise<AlertState> {
    const { state } = await this.#look(engine);
    return state;
  }

  /** Applies a change to the stored state. If the store is unavailable (null or an error), the change stays pending. */
  change(engine: Engine | null, change: Change) {
    const made = this.#last.then(() => this.#change(engine, change));
    this.#last = made.catch(() => undefined); // the caller gets the error
    return made;
  }

  async #change(engine: Engine | null, change: Change) {
    if (engine === null) return { state: this.#keep(change), trouble: null };
    try {
      return { state: await this.#write(engine, change), trouble: null };
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return { state: this.#keep(change), trouble: error };
    }
  }

  async #write(engine: Engine, change: Change): Promise<AlertState> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const { state, version, stored } = await this.#look(engine);
      const next = change(state);
      const isNews = canonicalJson(alertStateToJson(next)) !== canonicalJson(alertStateToJson(stored));
      if (
        isNews &&
        !(await engine.writeDocument(DOCUMENT_NAME, { seen: version, body: alertStateToJson(next) }))
      )
        continue;
      this.#unsaved = [];
      this.#known = next;
      return next;
    }
    throw new RedriveError("store_busy", `Other watchers kept changing ${DOCUMENT_NAME}.`, {
      hint: "Stop some of this store's watchers; one or two are enough.",
    });
  }

  async #look(engine: Engine): Promise<{ state: AlertState; stored: AlertState; version: number }> {
    const document = await engine.readDocument(DOCUMENT_NAME);
    const stored = alertStateFromJson(document?.body);
    const state = this.#unsaved.reduce((before, change) => change(before), stored);
    this.#known = state;
    return { state, stored, version: document?.version ?? 0 };
  }

  /** Keeps a change for later. Drops it if it has no effect, because the store may be unavailable for long. */
  #keep(change: Change): AlertState {
    const next = change(this.#known);
    const isNews = canonicalJson(alertStateToJson(next)) !== canonicalJson(alertStateToJson(this.#known));
    this.#known = next;
    if (isNews)
      this.#unsaved = this.#unsaved.length < UNSAVED_MAX ? [...this.#unsaved, change] : [() => next];
    return next;
  }
}
