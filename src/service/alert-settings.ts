/** The settings of alerts: when to check, which rules, which channels. Types and defaults only. */

/** Critical alerts are sent in quiet hours too. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const CONDITION_KINDS = [
  "depth",
  "oldest",
  "arrival_rate",
  "new_group",
  "breaker_open",
  "store_unhealthy",
] as const;
export type ConditionKind = (typeof CONDITION_KINDS)[number];

export type Condition =
  /** At least so many letters wait. */
  | { readonly kind: "depth"; readonly letters: number }
  /** The oldest letter has waited at least so long. */
  | { readonly kind: "oldest"; readonly ageMs: number }
  /** At least so many letters came within the time; counted by the minute. */
  | { readonly kind: "arrival_rate"; readonly letters: number; readonly withinMs: number }
  /** A failure that was not known, or that came back after it was resolved. */
  | { readonly kind: "new_group" }
  | { readonly kind: "breaker_open" }
  /** The store cannot be read or written, or a runner could not write it. */
  | { readonly kind: "store_unhealthy" };

export interface AlertRule {
  /** Identifies its alerts; must be unique. */
  readonly name: string;
  readonly condition: Condition;
  /** Patterns of queue names; `*` matches anything, `!` excludes. Empty: all queues. */
  readonly queues: readonly string[];
  readonly severity: Severity;
  /** The names of the channels. Absent: all. */
  readonly channels?: readonly string[];
  /** How long an alert is not sent again. */
  readonly coolDownMs: number;
}

/** Where a secret is: in the settings, or in a variable of the environment. */
export type UrlSource = { readonly url: string } | { readonly urlEnv: string };

export type Channel = {
  readonly name: string;
  readonly timeoutMs: number;
} & (
  | { readonly type: "teams"; readonly to: UrlSource }
  | { readonly type: "slack"; readonly to: UrlSource }
  /** Headers and the variables that their values come from. */
  | {
      readonly type: "webhook";
      readonly to: UrlSource;
      readonly headersEnv: Readonly<Record<string, string>>;
    }
  | { readonly type: "command"; readonly command: readonly [string, ...string[]]; readonly cwd: string }
);

export const CHANNEL_TYPES = ["teams", "slack", "webhook", "command"] as const;

/** Local hours in which only critical alerts are sent. */
export interface QuietHours {
  readonly from: number;
  readonly to: number;
  /** Default: that of the machine. */
  readonly timeZone?: string;
}

export interface WatchSettings {
  readonly schedule: string;
  /** Of the schedule. Default: that of the machine. */
  readonly timeZone?: string;
  /** Whether it also checks when letters come, breakers open and the like. */
  readonly onArrival: boolean;
  /** How long events are gathered before a check. */
  readonly gatherMs: number;
  readonly recovery: boolean;
  readonly quietHours?: QuietHours;
  readonly rules: readonly AlertRule[];
  readonly channels: readonly Channel[];
}

export const COOL_DOWN_MS = 3_600_000;

const everywhere = { queues: [], coolDownMs: COOL_DOWN_MS } as const;

/** The default rules: new dead letters, and whatever blocks the work. */
export const DEFAULT_RULES: readonly AlertRule[] = [
  { name: "depth 1", condition: { kind: "depth", letters: 1 }, severity: "warning", ...everywhere },
  { name: "breaker_open", condition: { kind: "breaker_open" }, severity: "warning", ...everywhere },
  { name: "store_unhealthy", condition: { kind: "store_unhealthy" }, severity: "critical", ...everywhere },
];

export const DEFAULT_WATCH: WatchSettings = {
  schedule: "*/30 * * * *",
  onArrival: true,
  gatherMs: 5000,
  recovery: true,
  rules: DEFAULT_RULES,
  channels: [],
};
