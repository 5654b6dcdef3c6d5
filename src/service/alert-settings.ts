/** The settings of alerts: schedule, rules and channels. Types and defaults only. */

/** From least to most severe. Critical alerts are sent in quiet hours too. */
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
  /** At least `letters` letters are waiting. */
  | { readonly kind: "depth"; readonly letters: number }
  /** The oldest letter has been waiting for at least `ageMs`. */
  | { readonly kind: "oldest"; readonly ageMs: number }
  /** At least `letters` letters were buried within `withinMs`, counted by the minute. */
  | { readonly kind: "arrival_rate"; readonly letters: number; readonly withinMs: number }
  /** A new group of letters, or a resolved group with new letters. */
  | { readonly kind: "new_group" }
  | { readonly kind: "breaker_open" }
  /** The store is unavailable, or a runner failed to write to it. */
  | { readonly kind: "store_unhealthy" };

export interface AlertRule {
  /** Identifies the rule's alerts, so it must be unique. */
  readonly name: string;
  readonly condition: Condition;
  /** Patterns of queue names. `*` matches anything, `!` excludes. Empty: all queues. */
  readonly queues: readonly string[];
  readonly severity: Severity;
  /** The names of the channels that receive the alerts. Default: all channels. */
  readonly channels?: readonly string[];
  readonly coolDownMs: number;
}

/** A URL, or the environment variable that contains it, because webhook URLs are secrets. */
export type UrlSource = { readonly url: string } | { readonly urlEnv: string };

export type Channel = {
  readonly name: string;
  readonly timeoutMs: number;
} & (
  | { readonly type: "teams"; readonly to: UrlSource }
  | { readonly type: "slack"; readonly to: UrlSource }
  /** `headersEnv` maps header names to the environment variables with their values. */
  | {
      readonly type: "webhook";
      readonly to: UrlSource;
      readonly headersEnv: Readonly<Record<string, string>>;
    }
  | { readonly type: "command"; readonly command: readonly [string, ...string[]]; readonly cwd: string }
);

export const CHANNEL_TYPES = ["teams", "slack", "webhook", "command"] as const;

/** Hours in which only critical alerts are sent, in minutes since midnight. */
export type QuietHours = { readonly from: number; readonly to: number; readonly timeZone?: string };

export interface WatchSettings {
  readonly schedule: string;
  /** The time zone of the schedule. Default: that of the machine. */
  readonly timeZone?: string;
  /** Whether to check also after relevant events, e.g. when a letter is buried or a breaker opens. */
  readonly onArrival: boolean;
  readonly gatherMs: number;
  readonly recovery: boolean;
  readonly quietHours?: QuietHours;
  readonly rules: readonly AlertRule[];
  readonly channels: readonly Channel[];
}

export const COOL_DOWN_MS = 3_600_000;

const everywhere = { queues: [], coolDownMs: COOL_DOWN_MS } as const;

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
