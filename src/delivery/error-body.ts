/**
 * Extracts the error code, status, delay and key from a response body. Plain text is used only if there is no
 * JSON. Pure.
 */
import { bounded, retryAfterMsOf } from "../retry/retry-after.ts";
import { compact } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";

export type Meaning = "already" | "in_progress" | "rate_limit" | "auth" | "unavailable" | "server" | "client";

export interface Said {
  readonly meaning?: Meaning;
  /** Set when the body contains an error code, even an unknown one. */
  readonly isCoded?: true;
  /** An HTTP status from a field of the body. */
  readonly status?: number;
  readonly message?: string;
  readonly retryAfterMs?: number;
  readonly key?: string;
}

type Fields = Readonly<Record<string, unknown>>;

export function readSaid(value: unknown, now: number): Said {
  const json = typeof value === "string" ? jsonOf(value) : value;
  const levels = levelsOf(json);
  if (levels.length === 0) return typeof value === "string" ? readText(value) : {};
  const codes = levels.flatMap((level) => CODE_FIELDS.flatMap((name) => wordOf(level[name])));
  const meaning = codes.map(meaningOf).find((found) => found !== undefined);
  const message = firstText(levels, MESSAGE_FIELDS) ?? codes[0];
  const status = levels.map(statusOf).find((found) => found !== undefined);
  const retryAfterMs = levels.map((level) => waitOf(level, now)).find((found) => found !== undefined);
  const key = firstText(levels, KEY_FIELDS);
  const isCoded = codes.length > 0 ? (true as const) : undefined;
  return compact({ meaning, isCoded, status, message, retryAfterMs, key });
}

export function jsonOf(text: string): unknown {
  return /^\s*[[{"]/.test(text) ? tryTo((): unknown => JSON.parse(text)) : undefined;
}

const INNER_FIELDS = ["error", "data", "detail", "details"];
const LEVELS_MAX = 4;

/** Returns the object and its nested error objects, outermost first. */
function levelsOf(json: unknown, depth = 0): readonly Fields[] {
  if (typeof json !== "object" || json === null || Array.isArray(json) || depth === LEVELS_MAX) return [];
  const fields = json as Fields;
  return [fields, ...INNER_FIELDS.flatMap((name) => levelsOf(fields[name], depth + 1))];
}

const CODE_FIELDS = ["code", "error_code", "errorCode", "error", "type", "reason", "status", "kind"];
const MESSAGE_FIELDS = ["message", "error_description", "detail", "title", "error"];
const KEY_FIELDS = ["idempotency_key", "idempotencyKey"];
const CODE_CHARS_MAX = 60;

/** Returns the normalized error code. Text with spaces is a message, not a code. */
function wordOf(value: unknown): readonly string[] {
  if (typeof value !== "string" || value.length > CODE_CHARS_MAX || /\s/.test(value.trim())) return [];
  const word = value
    .trim()
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
  return word === "" || SAYS_NOTHING.has(word) ? [] : [word];
}

const SAYS_NOTHING = new Set(["error", "err", "fail", "failed", "failure", "false", "about_blank"]);

const WORDS: readonly (readonly [Meaning, RegExp])[] = [
  [
    "already",
    /^(?:error_)?(?:already_\w+|(?:\w+_)?already_(?:completed?|done|processed|delivered|received|accepted|exists)|duplicate(?:_\w+)?|idempotent_repla[y\w]*)$/,
  ],
  ["in_progress", /in_progress|idempotency_key_in_use|^concurrent_|^conflict_retry$|^locked$/],
  ["rate_limit", /rate_?limit|too_many_requests|throttl|quota_exceeded|^slow_down$/],
  [
    "auth",
    /^(?:unauthori[sz]ed|unauthenticated|forbidden|permission_denied|access_denied|(?:invalid|expired|missing)_(?:api_)?(?:token|key|credentials)|token_(?:expired|invalid|revoked)|invalid_grant|authentication_\w+)$/,
  ],
  ["unavailable", /unavailable|^overloaded(?:_\w+)?$|^maintenance$|^try_again_later$/],
  [
    "server",
    /^(?:internal(?:_\w+)?|server_error|timeout|deadline_exceeded|temporary_\w+|database_\w+|upstream_\w+)$/,
  ],
  [
    "client",
    /^(?:invalid_\w+|bad_request|validation_\w+|not_found|\w+_not_found|expired|lease_expired|unknown_\w+|unsupported_\w+|conflict|gone)$/,
  ],
];

function meaningOf(word: string): Meaning | undefined {
  return WORDS.find(([, pattern]) => pattern.test(word))?.[0];
}

const TEXTS: readonly (readonly [Meaning, RegExp])[] = [
  [
    "already",
    /\balready (?:been )?(?:completed?|done|processed|delivered|received|accepted)\b|\bduplicate (?:request|receipt|delivery)\b/i,
  ],
  ["rate_limit", /\brate[ _-]?limit|\btoo many requests\b/i],
  ["auth", /\bunauthori[sz]ed\b|\bunauthenticated\b/i],
  ["unavailable", /\bservice unavailable\b|\btemporarily unavailable\b/i],
  ["server", /\binternal (?:server )?error\b/i],
  ...[
    /\b(?:invalid|missing|unknown|unexpected|unsupported|malformed|bad|required) (?:[\w"'`.-]+ ){0,3}(?:arguments?|parameters?|params|fields?|propert(?:y|ies)|inputs?|payload|request|value|lease)\b/i,
    /\b(?:argument|parameter|field|property)s?\b[^.\n]{0,80}\b(?:required|missing|invalid|unknown|not valid|must (?:not )?be)\b/i,
    /\bvalidation (?:error|failed)\b|\bdoes not match the schema\b/i,
    /\b(?:expired|stale|wrong|no such) lease\b/i,
    /\blease\b[^.\n]{0,80}\b(?:expired|not found|unknown|invalid|does not exist|not held|not owned|revoked|belongs to|held by another)\b/i,
    /\bpermission denied\b|\baccess (?:is )?denied\b|\bforbidden\b|\bnot (?:permitted|allowed|authori[sz]ed)\b|\b(?:lacks?|missing|insufficient) (?:[\w:.-]+ )?(?:permissions?|privileges?|scope)\b/i,
  ].map((pattern) => ["client", pattern] as const),
];
const TEXT_CHARS_MAX = 4096;

function readText(text: string): Said {
  const head = text.slice(0, TEXT_CHARS_MAX);
  const meaning = TEXTS.find(([, pattern]) => pattern.test(head))?.[0];
  return meaning === undefined ? {} : { meaning };
}

function statusOf(level: Fields): number | undefined {
  return [level.status, level.status_code, level.statusCode, level.http_status, level.code].find(
    (value): value is number => Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599,
  );
}

function waitOf(level: Fields, now: number): number | undefined {
  const ms = level.retry_after_ms ?? level.retryAfterMs;
  if (typeof ms === "number" && ms >= 0) return bounded(ms);
  return retryAfterMsOf(level.retry_after ?? level.retryAfter ?? level.retry_after_seconds, now);
}

function firstText(levels: readonly Fields[], names: readonly string[]): string | undefined {
  const values = levels.flatMap((level) => names.map((name) => level[name]));
  return values.find((value): value is string => typeof value === "string" && value.trim() !== "");
}
