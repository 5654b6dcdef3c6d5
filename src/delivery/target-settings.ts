/**
 * The settings of targets, in the form that users give and in the form that the store keeps. A target is a queue with
 * `delivery` settings. The store keeps the location of a token, never the token.
 */
import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { requireTarget } from "../queue/find-job.ts";
import {
  applyChanges,
  applySettings,
  type Changes,
  changeSpec,
  createStanding,
  type QueueSettings,
} from "../queue/queue-settings.ts";
import { DEFAULT_QUEUE, type QueueSpec, queueSpecOf } from "../queue/queue-spec.ts";
import {
  listStanding,
  type QueueSummary,
  queueToJson,
  settingsToJson,
  summariseStanding,
} from "../queue/queue-status.ts";
import { type Backoff, DEFAULT_POLICY } from "../retry/policy.ts";
import { compact, type JsonObject } from "../std/json.ts";
import type { DeliveryProtocol } from "./protocol.ts";

/** The location of the token. It is read for every attempt, so that a new token takes effect immediately. */
export type TokenSource =
  /** The name of an environment variable. */
  | { readonly env: string }
  /** The path of a file that contains only the token. */
  | { readonly file: string };

/** How receipts are delivered. */
export interface DeliverySpec {
  /** `http` posts JSON, `mcp` calls a tool, `function` calls a function of this process. Default `http`. */
  readonly protocol: DeliveryProtocol;
  /** The URL that receipts are sent to. Required for `http` and `mcp`. */
  readonly url?: string;
  /**
   * Headers for every request. A change replaces all of them. They must not contain secrets, because they are
   * stored. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** The location of the token, which is sent as `Authorization: Bearer …`. Default: no token is sent. */
  readonly token?: TokenSource;
  /** The tool that `mcp` calls. Default `asyncgate.complete`. */
  readonly tool: string;
  /** The tool argument that receives the idempotency key. Default: none; `_meta` always contains the key. */
  readonly keyArgument?: string;
  /** The time limit of one attempt, from connecting to the last byte of the response. Default 10 s. */
  readonly timeoutMs: number;
  /** The maximum size of a response. Default 1 MiB. */
  readonly answerBytesMax: number;
  /** The header that carries the idempotency key. Default `Idempotency-Key`. */
  readonly idHeader: string;
  /**
   * Receipts with the same value in this field (`a.b` for a nested field) are delivered in order. Default: in
   * any order.
   */
  readonly orderField?: string;
}

/** The settings of a delivery. An omitted setting keeps its value or default; null removes it. */
export type DeliverySettings = Changes<DeliverySpec, keyof DeliverySpec>;

/** The settings of a target, as the store keeps them. */
export interface TargetSpec extends QueueSpec {
  readonly delivery: DeliverySpec;
}

/** The settings of a target. An omitted setting keeps its value or default; null removes it. */
export interface TargetSettings
  extends DeliverySettings,
    Pick<
      QueueSettings,
      "backoff" | "breaker" | "onOutage" | "outageMsMax" | "rate" | "leaseMs" | "lossesMax" | "description"
    > {
  /** The number of retries after the first attempt. Default 4. */
  readonly retries?: number;
  /** The delay before retry n is this base to the power of n, in seconds. Default 2: 2, 4, 8 and 16 s. */
  readonly backoffBase?: number;
}

/** Waits base, base², base³ … seconds before the retries, at most one hour. */
function receiptBackoff(base: number): Backoff {
  return { kind: "exponential", initialMs: base * 1000, factor: base, maxMs: 3_600_000, jitter: false };
}

/**
 * A receipt becomes a letter after five attempts. There is no breaker, so receipts do not wait for each other. `lossesMax`
 * is higher than for queues, because a receipt hardly ever crashes the process that delivers it.
 */
export const DEFAULT_TARGET: TargetSpec = {
  ...DEFAULT_QUEUE,
  unique: "return",
  policy: { ...DEFAULT_POLICY, maxAttempts: 5, lossesMax: 20, backoff: receiptBackoff(2) },
  delivery: {
    protocol: "http",
    tool: "asyncgate.complete",
    timeoutMs: 10_000,
    answerBytesMax: 1_048_576,
    idHeader: "Idempotency-Key",
  },
};

/** Reads the settings of a target. Settings that an older version did not store get their defaults. */
export function targetSpecOf(job: Pick<Job, "spec">): TargetSpec {
  const spec = queueSpecOf(job, DEFAULT_TARGET);
  return { ...spec, delivery: { ...DEFAULT_TARGET.delivery, ...spec.delivery } };
}

/** Creates the target, or changes the settings of an existing one. Adopts letters that were imported under its name. */
export async function setTarget(engine: Engine, name: string, settings: TargetSettings = {}): Promise<Job> {
  const found = await engine.findJob(name);
  if (found?.kind === "target") return change(engine, found, settings);
  const spec = await targetSpecWith(DEFAULT_TARGET, settings);
  return createStanding(engine, { name, kind: "target", spec }, (other) => change(engine, other, settings));
}

export async function changeTarget(engine: Engine, name: string, settings: TargetSettings): Promise<Job> {
  return change(engine, await requireTarget(engine, name), settings);
}

async function change(engine: Engine, target: Job, settings: TargetSettings): Promise<Job> {
  const before = targetSpecOf(target);
  return changeSpec(engine, target, { before, after: await targetSpecWith(before, settings) });
}

async function targetSpecWith(before: TargetSpec, settings: TargetSettings): Promise<TargetSpec> {
  (await import("./settings-schema.ts")).checkTargetSettings(settings);
  const { retries, backoffBase, backoff, breaker, rate, leaseMs, lossesMax, description } = settings;
  const { onOutage, outageMsMax } = settings;
  const queue: QueueSettings = compact({
    maxRetries: retries,
    backoff: backoff ?? (backoffBase === undefined ? undefined : receiptBackoff(backoffBase)),
    ...{ breaker, onOutage, outageMsMax, rate, leaseMs, lossesMax, description },
  });
  return { ...(await applySettings(before, queue)), delivery: deliveryWith(before.delivery, settings) };
}

const DELIVERY_KEYS = [
  ...(["protocol", "url", "headers", "token", "tool", "keyArgument"] as const),
  ...(["timeoutMs", "answerBytesMax", "idHeader", "orderField"] as const),
];

function deliveryWith(before: DeliverySpec, settings: DeliverySettings): DeliverySpec {
  const delivery = applyChanges(before, settings, DELIVERY_KEYS);
  const { protocol, url, headers = {}, token, idHeader, keyArgument, orderField } = delivery;
  if (url !== undefined || protocol !== "function") requireUrl(url);
  requireHeader("idHeader", idHeader, "key");
  for (const [name, value] of Object.entries(headers)) requireHeader("headers", name, value);
  if (token !== undefined) requireToken(token);
  return compact({
    ...delivery,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    keyArgument: keyArgument || undefined,
    orderField: orderField || undefined,
  });
}

function requireUrl(text: string | undefined): void {
  if (text === undefined)
    throw wrong("url", "The target has no URL.", "Add the address, e.g. https://asyncgate.example/complete.");
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw wrong(
      "url",
      "The target URL must be an http or https address.",
      "Write the full address, e.g. https://asyncgate.example/complete.",
    );
  if (url.username !== "" || url.password !== "")
    throw wrong("url", "The target URL contains a user or a password, which would be stored.", TOKEN_HINT);
}

const TOKEN_HINT = 'Give the location of the token: token: {env: "NAME"} or {file: "PATH"}.';
const SECRET_HEADERS = /^(?:authorization|proxy-authorization|cookie)$/i;
const OWN_HEADERS =
  /^(?:host|content-length|transfer-encoding|connection|content-type|expect|upgrade|te|trailer)$/i;

function requireHeader(field: "headers" | "idHeader", name: string, value: string): void {
  if (SECRET_HEADERS.test(name))
    throw wrong(field, `The header ${name} is a secret, and it would be stored.`, TOKEN_HINT);
  if (OWN_HEADERS.test(name))
    throw wrong(field, `The header ${name} cannot be set.`, "Remove it: Redrive sets this header itself.");
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw wrong(
      field,
      `"${name}" cannot be sent as a header.`,
      "Names have letters, digits and dashes; values are one line of text.",
    );
  }
}

/** Checked without zod, because an error must not print a token that was given instead of its location. */
function requireToken(token: TokenSource): void {
  const [[name, text] = [], ...others] = Object.entries(token);
  const isSource = (name === "env" || name === "file") && typeof text === "string" && text !== "";
  if (!isSource || others.length > 0)
    throw wrong("token", "The token of a target must be given as a location.", TOKEN_HINT);
}

function wrong(field: keyof DeliverySettings, message: string, hint: string): RedriveError {
  return new RedriveError("usage", message, { field, hint });
}

export function isDeliverable(job: Job): boolean {
  return job.kind === "target" && targetSpecOf(job).delivery.protocol !== "function";
}

/**
 * Throws a `usage` error for the protocol `function`, because only the service with the function can deliver.
 */
export function requireDeliverable(target: Job): void {
  if (isDeliverable(target)) return;
  throw new RedriveError(
    "usage",
    `The receipts of ${target.id} are delivered by a function in the service that created the target.`,
    {
      hint: `Start that service; it resumes delivery. \`redrive dlq retry ${target.id}\` makes its letters ready for delivery.`,
    },
  );
}

export type TargetSummary = QueueSummary<TargetSpec>;

export function listTargets(engine: Engine): Promise<readonly TargetSummary[]> {
  return listStanding(engine, "target", targetSpecOf);
}

export function summariseTarget(engine: Engine, job: Job): Promise<TargetSummary> {
  return summariseStanding(engine, job, targetSpecOf);
}

const QUEUE_ONLY = new Set(["max_retries", "on_failure", "priority", "unique", "expires_after_ms", "schema"]);

export function targetToJson(target: TargetSummary): JsonObject {
  const { spec } = target;
  const shared = Object.entries(settingsToJson(spec)).filter(([name]) => !QUEUE_ONLY.has(name));
  const settings = { ...deliveryToJson(spec.delivery), retries: spec.policy.maxAttempts - 1 };
  return { ...queueToJson(target), settings: { ...settings, ...Object.fromEntries(shared) } };
}

function deliveryToJson(delivery: DeliverySpec): JsonObject {
  const { protocol, url, tool, keyArgument, headers, token } = delivery;
  return compact({
    protocol,
    url: url === undefined ? undefined : addressOf(url),
    ...(protocol === "mcp" && { tool, key_argument: keyArgument ?? null }),
    headers: { ...headers },
    token: token === undefined ? null : { ...token },
    timeout_ms: delivery.timeoutMs,
    answer_bytes_max: delivery.answerBytesMax,
    id_header: delivery.idHeader,
    order_field: delivery.orderField ?? null,
  }) as JsonObject;
}

/** Returns the URL with `?…` in place of its query string, which may contain a secret. */
export function addressOf(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}
