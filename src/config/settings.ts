/** The settings of `redrive.yml` and their defaults. */

import type { Prices } from "../agent/prices.ts";
import type { FixRule } from "../redrive/fix.ts";
import { DEFAULT_LIMITS } from "../redrive/limits.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import { DEFAULT_WATCH, type WatchSettings } from "../service/alert-settings.ts";
import type { GroupRule } from "../triage/grouping.ts";

export interface Config {
  readonly dlq: LetterSettings;
  readonly jobs: JobSettings;
  readonly fixes: readonly FixRule[];
  /** Rules that group failures; the first match wins. */
  readonly groups: readonly GroupRule[];
  /** Rules that correct the type and class of failures; the first match wins. */
  readonly classify: readonly ClassRule[];
  /** Prices for agents that report tokens but no cost. */
  readonly prices: Prices;
  /** Item values that the server hides from certain roles. */
  readonly redact: readonly RedactRule[];
  /** How people log in without a token. Default: only tokens are accepted. */
  readonly login?: LoginSettings;
  /** Queues that `redrive serve --work` processes. */
  readonly work: readonly WorkSettings[];
  /** The rules, schedule and channels of `redrive watch`. */
  readonly watch: WatchSettings;
}

export interface LetterSettings {
  /** How many waiting letters a job keeps; null means no limit. Default 10,000. */
  readonly maxItems: number | null;
  /** How many days a letter is kept; null means no limit. Default 30. */
  readonly retentionDays: number | null;
  /** After how many failed redrives a letter is poison; null means never. Default 5. */
  readonly poisonAfter: number | null;
  /** Whether a running job writes the letter directory. Default true. */
  readonly mirror: boolean;
  /** The path of the letter directory. Default: `dlq` in the home folder. */
  readonly dlqDir?: string;
}

/** Paths of item data that are hidden from roles below the given one. */
export interface RedactRule {
  readonly paths: readonly string[];
  readonly below: "operator" | "admin";
}

/** Login through an OpenID Connect provider. */
export interface LoginSettings {
  /** The URL of the provider, below which `/.well-known/openid-configuration` is served. */
  readonly issuer: string;
  readonly clientId: string;
  /** The location of the client secret. Without one, the client is public. */
  readonly clientSecret?: { readonly env: string } | { readonly file: string };
  /** The URL of the server as browsers see it, without a trailing slash. */
  readonly url: string;
  readonly scopes: readonly string[];
  /** The claim with the person's name; `a.b` is a key of a nested object. */
  readonly nameClaim: string;
  /** The claim whose value or values determine the role. */
  readonly roleClaim: string;
  /** The values of the claim for each role; `*` matches everybody. */
  readonly roles: Readonly<Partial<Record<"viewer" | "operator" | "admin", readonly string[]>>>;
  /** The lifetime of a session. */
  readonly sessionMs: number;
}

/** A queue and the command that processes its items. */
export interface WorkSettings {
  readonly queue: string;
  readonly command: readonly string[];
  /** How many items run concurrently. Default 10. */
  readonly concurrency?: number;
}

/** How long jobs and logs are kept, in days; null means no limit. Default: no limit. */
export type JobSettings = { readonly retentionDays: number | null; readonly logRetentionDays: number | null };

export const DEFAULT_CONFIG: Config = {
  dlq: { ...DEFAULT_LIMITS, poisonAfter: 5, mirror: true },
  jobs: { retentionDays: null, logRetentionDays: null },
  fixes: [],
  groups: [],
  classify: [],
  prices: {},
  redact: [],
  work: [],
  watch: DEFAULT_WATCH,
};
