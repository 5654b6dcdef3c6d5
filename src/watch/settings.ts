/** What a watcher is told: when it checks, what it takes for wrong, and whom it tells. The nouns of alerts; nothing here acts. */

/** How bad it is. A critical alert is told in quiet hours too. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
/** One of `SEVERITIES`. */
export type Severity = (typeof SEVERITIES)[number];

/** What can be wrong. */
export const CONDITION_KINDS = [
  "depth",
  "oldest",
  "arrival_rate",
  "new_group",
  "breaker_open",
  "store_unhealthy",
] as const;
/** One of `CONDITION_KINDS`. */
export type ConditionKind = (typeof CONDITION_KINDS)[number];

/** What is taken for wrong, with its limit. */
export type Condition =
  /** So many letters wait, or more. */
  | { readonly kind: "depth"; readonly letters: number }
  /** The oldest letter has waited so long, or longer. */
  | { readonly kind: "oldest"; readonly ageMs: number }
  /** So many letters came within the time, or more; counted by the minute. */
  | { readonly kind: "arrival_rate"; readonly letters: number; readonly withinMs: number }
  /** A failure that was not known, or that came back after it was resolved. */
  | { readonly kind: "new_group" }
  | { readonly kind: "breaker_open" }
  /** The store cannot be read or written, or a runner could not write it. */
  | { readonly kind: "store_unhealthy" };

/** One rule. */
export interface AlertRule {
  /** What its alerts are known by: two rules may not share one. */
  readonly name: string;
  readonly condition: Condition;
  /** Patterns of queues, `*` for anything and `!` before those that are left out. Empty: all. */
  readonly queues: readonly string[];
  readonly severity: Severity;
  /** The names of the channels. Absent: all. */
  readonly channels?: readonly string[];
  /** How long an alert that was told is not told again. */
  readonly coolDownMs: number;
}

/** Where a secret is: in the settings, or in a variable of the environment. */
export type UrlSource = { readonly url: string } | { readonly urlEnv: string };

/** Whom alerts are told. */
export type Channel = {
  readonly name: string;
  /** How long one try may take. */
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

/** The kinds of channels. */
export const CHANNEL_TYPES = ["teams", "slack", "webhook", "command"] as const;

/** When only critical alerts are told, by the clock on the wall. */
export interface QuietHours {
  /** Minutes since midnight. */
  readonly from: number;
  readonly to: number;
  /** Default: that of the machine. */
  readonly timeZone?: string;
}

/** Everything that a watcher is told. */
export interface WatchSettings {
  /** A cron pattern. */
  readonly schedule: string;
  /** Of the schedule. Default: that of the machine. */
  readonly timeZone?: string;
  /** Whether it also checks when letters come, breakers open and the like. */
  readonly onArrival: boolean;
  /** How long it gathers what comes at once before it checks. */
  readonly gatherMs: number;
  /** Whether it is told that something is well again. */
  readonly recovery: boolean;
  readonly quietHours?: QuietHours;
  readonly rules: readonly AlertRule[];
  readonly channels: readonly Channel[];
}

/** How long an alert that was told is not told again, unless the settings say otherwise. */
export const COOL_DOWN_MS = 3_600_000;

const everywhere = { queues: [], coolDownMs: COOL_DOWN_MS } as const;

/** What holds where no rules are set: whatever died is told, and so is what keeps the work from being done. */
export const DEFAULT_RULES: readonly AlertRule[] = [
  { name: "depth 1", condition: { kind: "depth", letters: 1 }, severity: "warning", ...everywhere },
  { name: "breaker_open", condition: { kind: "breaker_open" }, severity: "warning", ...everywhere },
  { name: "store_unhealthy", condition: { kind: "store_unhealthy" }, severity: "critical", ...everywhere },
];

/** What holds where nothing is set. */
export const DEFAULT_WATCH: WatchSettings = {
  schedule: "*/30 * * * *",
  onArrival: true,
  gatherMs: 5000,
  recovery: true,
  rules: DEFAULT_RULES,
  channels: [],
};
