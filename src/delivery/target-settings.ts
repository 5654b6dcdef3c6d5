/**
 * Creates targets of receipts and changes their settings. Settings are what people give, `target-spec.ts` is what the store
 * keeps. Everything is checked before anything is written.
 */

import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { requireTarget } from "../queue/find-job.ts";
import {
  changedSettings,
  type QueueSettings,
  requireNumber,
  requireQueueName,
  specWith,
} from "../queue/queue-settings.ts";
import type { WorkPlan } from "../queue/worker.ts";
import type { Clock } from "../std/clock.ts";
import { compact, type Json } from "../std/json.ts";
import type { GroupRule } from "../triage/grouping.ts";
import type { DeliverFunction } from "./function.ts";
import type { Protocol } from "./protocol.ts";
import {
  DEFAULT_TARGET,
  DELIVERY_PROTOCOLS,
  type DeliveryProtocol,
  type DeliverySpec,
  receiptBackoff,
  type TargetSpec,
  type TokenSource,
  targetSpecOf,
  targetSpecToJson,
} from "./target-spec.ts";
import type { Environment } from "./token.ts";

/** What a target is told. What is left out keeps its default, or what it was; null takes it away. */
export interface TargetSettings
  extends DeliverySettings,
    Pick<
      QueueSettings,
      "backoff" | "breaker" | "onOutage" | "outageMsMax" | "rate" | "leaseMs" | "lossesMax" | "description"
    > {
  /** How often a receipt is tried after the first try; 0 means once. Default 4. */
  readonly retries?: number;
  /** The waits are its powers in seconds. Default 2: 2, 4, 8 and 16 s. */
  readonly backoffBase?: number;
}

/** Makes the target, or changes what is given of the one that is there. Letters that were imported under the name become its own. */
export async function setTarget(engine: Engine, name: string, settings: TargetSettings = {}): Promise<Job> {
  requireQueueName(name);
  const found = await engine.findJob(name);
  if (found !== null) return change(engine, found, { name, settings });
  const spec = targetSpecToJson(await targetSpecWith(DEFAULT_TARGET, settings));
  try {
    return await engine.createJob({ id: name, name, kind: "target", spec });
  } catch (error) {
    const other = await engine.findJob(name); // another process created it first
    if (other === null) throw error;
    return change(engine, other, { name, settings });
  }
}

/** Changes what is given and leaves the rest; one that changes nothing writes nothing. */
export async function changeTarget(engine: Engine, name: string, settings: TargetSettings): Promise<Job> {
  return change(engine, await requireTarget(engine, name), { name, settings });
}

interface Wanted {
  readonly name: string;
  readonly settings: TargetSettings;
}

async function change(engine: Engine, found: Job, { name, settings }: Wanted): Promise<Job> {
  if (found.kind === "imported" && found.id === name) {
    const spec = targetSpecToJson(await targetSpecWith(DEFAULT_TARGET, settings));
    const event = { type: "queue_created", data: { was: "imported" } } as const;
    return engine.changeJob(name, { kind: "target", status: "running", restarted: true, spec, event });
  }
  if (found.kind !== "target") throw taken(found, name);
  const before = targetSpecOf(found);
  const after = await targetSpecWith(before, settings);
  const changed = [
    ...changedSettings(withoutDelivery(before), withoutDelivery(after)),
    ...changedSettings(before.delivery as never, after.delivery as never),
  ].sort();
  if (changed.length === 0) return found;
  const event = { type: "queue_changed", data: { settings: changed } } as const;
  return engine.changeJob(found.id, { spec: targetSpecToJson(after), event });
}

function taken({ id, kind }: Job, name: string): WorkError {
  return new WorkError(
    "job_changed",
    `The name ${name} is taken by the ${kind === "queue" ? "queue" : `${kind} job`} ${id}.`,
    {
      hint: "Choose another name for the target.",
    },
  );
}

function withoutDelivery({ delivery: _, ...spec }: TargetSpec): Omit<TargetSpec, "delivery"> {
  return spec;
}

const BASE = { min: 0, max: 60 };

/** The settings that come of it; refuses what cannot be. */
export async function targetSpecWith(before: TargetSpec, settings: TargetSettings): Promise<TargetSpec> {
  const { retries, backoffBase, backoff, breaker, rate, leaseMs, lossesMax, description } = settings;
  const { onOutage, outageMsMax } = settings;
  if (backoffBase !== undefined) requireNumber("backoffBase", backoffBase, BASE);
  const curve = backoff ?? (backoffBase === undefined ? undefined : receiptBackoff(backoffBase));
  const queue = compact({
    maxRetries: retries,
    backoff: curve,
    breaker,
    onOutage,
    outageMsMax,
    rate,
    leaseMs,
    lossesMax,
    description,
  });
  const spec = await specWith(withoutDelivery(before), queue as QueueSettings);
  return { ...spec, delivery: checkDelivery(before.delivery, settings) };
}

/** Null when no setting is given: then the target is used as it is. */
export function splitOptions(options: TargetOptions): TargetSettings | null {
  const { deliver, isDelivering, concurrency, ownRate, onSettled, onPaused, onError, ...rest } = options;
  const { storeWaitMs, env, clock, poisonAfter, groupRules, alongside, ...settings } = rest;
  const given: TargetSettings = compact({
    ...settings,
    protocol: settings.protocol ?? (deliver === undefined ? undefined : "function"),
  });
  return Object.keys(given).length === 0 ? null : given;
}

/**
 * How this process treats the target. Settings that are given are written to the store: the target is made with them, or
 * changed to them. Without any it has to be there.
 */
export interface TargetOptions extends TargetSettings {
  /** How receipts travel when the target's protocol is `function`: a function that sends one, or a way of your own. */
  readonly deliver?: DeliverFunction | Protocol;
  /** Whether this process delivers; if not, it only takes receipts in for one that does. Default true. */
  readonly isDelivering?: boolean;
  /** How many receipts are on their way at a time. Default 10. */
  readonly concurrency?: number;
  /** What this process alone may begin, besides the target's own rate. Default: no limit. */
  readonly ownRate?: Rate;
  /** Told of every try once the store has its end. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Told when the target was found paused, and when it is not any more. */
  readonly onPaused?: (isPaused: boolean) => void;
  /** Told when the store does not answer, and when the target cannot deliver any more. */
  readonly onError?: (error: unknown) => void;
  /** How long a store that does not answer is waited for by what delivers; `send` never waits. Default: for ever. */
  readonly storeWaitMs?: number;
  /** Where tokens are looked up. Default: the environment of the process. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** From how many redrives a letter may come back before it is poison. Default 5. */
  readonly poisonAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Opened with the deliveries and stopped with them: it looks after the letters. Default: nothing. */
  readonly alongside?: NonNullable<WorkPlan["alongside"]>;
}

/** How one receipt is sent. */
export interface SendOptions {
  /**
   * What the receipt is known by, for ever: the same key and the same receipt again is the one that was sent, another receipt
   * under the same key is a `receipt_conflict`. Default: made from its content.
   */
  readonly key?: string;
  /** Receipts of the same order are delivered one after the other. Default: as the target's `orderField` says. */
  readonly order?: string;
  /** False: resolves as soon as the receipt is kept. Default true: resolves when it is delivered or dead. */
  readonly wait?: boolean;
  /** Aborted to wait no longer; the receipt is kept and delivered all the same. */
  readonly signal?: AbortSignal;
}

/** A receipt that is kept: it will be delivered, or become a letter, whatever happens to this process. */
export interface KeptReceipt {
  readonly key: string;
  /** False when it was sent before. */
  readonly isNew: boolean;
  /** Resolves true when it is delivered and false when it is dead; rejects with `interrupted` when nobody here will know. */
  delivered(signal?: AbortSignal): Promise<boolean>;
}

/** What was left when the target was closed. */
export interface DrainReport {
  /** Receipts that wait in the store; whoever opens the target next goes on with them. */
  readonly left: number;
}

/** Anything that JSON can say. */
export type Receipt = Json;

/** How receipts get to the other side, as people say it. What is left out keeps its default, or what it was; null takes it away. */
export interface DeliverySettings {
  /** `http` posts JSON, `mcp` calls a tool, `function` is code of this process. Default `http`. */
  readonly protocol?: DeliveryProtocol;
  /** Where receipts are sent to; `http` and `mcp` need it. */
  readonly url?: string;
  /** Sent along with every receipt; they replace those that were. Nothing secret: they are kept in the store. */
  readonly headers?: Readonly<Record<string, string>> | null;
  /** Where the token is, never the token itself. Default: none is sent. */
  readonly token?: TokenSource | null;
  /** The tool that `mcp` calls. Default `asyncgate.complete`. */
  readonly tool?: string;
  /** The argument of the tool that takes the idempotency key. Default: it is in `_meta` only. */
  readonly keyArgument?: string | null;
  /** For one try. Default 10 s. */
  readonly timeoutMs?: number;
  /** The longest answer that is read. Default 1 MiB. */
  readonly answerBytesMax?: number;
  /** The header that has the idempotency key. Default `Idempotency-Key`. */
  readonly idHeader?: string;
  /** Receipts with the same value in this field are delivered one after the other. Default: in any order. */
  readonly orderField?: string | null;
}

/** The way with what is given, or a `usage` error. */
export function checkDelivery(before: DeliverySpec, settings: DeliverySettings): DeliverySpec {
  const { protocol = before.protocol, url = before.url } = settings;
  const { timeoutMs = before.timeoutMs, answerBytesMax = before.answerBytesMax } = settings;
  const { tool = before.tool, idHeader = before.idHeader } = settings;
  if (!DELIVERY_PROTOCOLS.includes(protocol))
    throw wrong(`protocol of a target is "${protocol}".`, `There are: ${DELIVERY_PROTOCOLS.join(", ")}.`);
  requireUrl(protocol, url);
  requireNumber("timeoutMs", timeoutMs, { min: 1, max: 3_600_000 });
  requireNumber("answerBytesMax", answerBytesMax, { min: 1, max: 1_073_741_824, isWhole: true });
  if (tool.trim() === "")
    throw wrong("tool of a target is empty.", "Name the tool, e.g. asyncgate.complete.");
  requireHeader(idHeader, "key");
  const headers = given(settings.headers, before.headers) ?? {};
  for (const [name, value] of Object.entries(headers)) requireHeader(name, value);
  const token = given(settings.token, before.token);
  if (token !== undefined) requireToken(token);
  return compact({
    protocol,
    url,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    token,
    tool,
    keyArgument: given(settings.keyArgument, before.keyArgument) || undefined,
    timeoutMs,
    answerBytesMax,
    idHeader,
    orderField: given(settings.orderField, before.orderField) || undefined,
  });
}

/** Undefined keeps what was there, null takes it away. */
function given<T>(value: T | null | undefined, before: T | undefined): T | undefined {
  return value === undefined ? before : (value ?? undefined);
}

function requireUrl(protocol: DeliverySpec["protocol"], text: string | undefined): void {
  if (text === undefined) {
    if (protocol === "function") return;
    throw wrong(
      "The target has no url.",
      "Say where its receipts go, e.g. https://asyncgate.example/complete.",
    );
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw wrong(
      "url of a target is no http or https address.",
      "Write it in full, e.g. https://asyncgate.example/complete.",
    );
  if (url.username !== "" || url.password !== "")
    throw wrong("url of a target has a user or a password in it, and the store would keep it.", TOKEN_HINT);
}

const TOKEN_HINT = 'Say where the token is: token: {env: "NAME"} or {file: "PATH"}.';
/** Those that keep a secret, and those that the connection makes itself. */
const SECRET = ["authorization", "proxy-authorization", "cookie"];
const OWN = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "content-type",
  "expect",
  "upgrade",
  "te",
  "trailer",
];

function requireHeader(name: string, value: string): void {
  const word = name.toLowerCase();
  if (SECRET.includes(word))
    throw wrong(`The header ${name} is a secret, and the store would keep it.`, TOKEN_HINT);
  if (OWN.includes(word))
    throw wrong(`The header ${name} cannot be set.`, "Leave it out: the delivery writes it.");
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw wrong(
      `"${name}" cannot be sent as a header.`,
      "Names have letters, digits and dashes; values are one line of text.",
    );
  }
}

function requireToken(token: TokenSource): void {
  const [name, text] = Object.entries(token)[0] ?? [];
  if (
    Object.keys(token).length === 1 &&
    (name === "env" || name === "file") &&
    typeof text === "string" &&
    text !== ""
  )
    return;
  throw wrong("token of a target is not the place of one.", TOKEN_HINT);
}

function wrong(message: string, hint: string): WorkError {
  return new WorkError("usage", message, { hint });
}
