/**
 * Makes named queues and changes what they are told to do. Settings are what people give, spec.ts is what the store keeps;
 * a change is an event, and workers obey it from their next look on.
 */
import type { Engine } from "../engine.ts";
import { isStoreError, WorkError } from "../errors.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import {
  type Backoff,
  type BreakerPolicy,
  DEFAULT_BREAKER,
  type OnItemFailure,
  type OnOutage,
  OUTAGE_ACTIONS,
  type Policy,
} from "../retry/policy.ts";
import type { Clock } from "../std/clock.ts";
import { canonicalJson, compact, type Json } from "../std/json.ts";
import { requireQueue } from "./find-job.ts";
import {
  DEFAULT_QUEUE,
  type QueueSpec,
  queueSpecOf,
  queueSpecToJson,
  UNIQUE_RULES,
  type UniqueRule,
} from "./queue-spec.ts";

/** What a queue is told. What is left out keeps its default, or what it was; null takes a limit away. */
export interface QueueSettings {
  /** How often an item is tried after the first try. Default 2. */
  readonly maxRetries?: number;
  /** Default: exponential from 1 s to 30 s, with full jitter. */
  readonly backoff?: Backoff;
  /** What becomes of an item whose tries are spent. Default `dlq`: a letter. */
  readonly onItemFailure?: Exclude<OnItemFailure, "custom">;
  /** How often the worker may vanish under an item before it is buried. Default 3. */
  readonly lossesMax?: number;
  /** How long a worker may be silent before its items go to others. Default 8 s. */
  readonly leaseMs?: number;
  /** Of items that come without one. Default `normal`. */
  readonly priority?: Priority;
  /** What becomes of an item whose key the queue knows. Default `reject`. */
  readonly unique?: UniqueRule;
  /** A JSON Schema that every item's data has to fit. Default: none. */
  readonly schema?: Json;
  /** How long after it is due an item without an expiry of its own expires. Default: never. */
  readonly expiresAfterMs?: number | null;
  /** Failures in a row pause the queue, then a few probes decide. Default: no breaker. */
  readonly breaker?: Partial<BreakerPolicy> | null;
  /**
   * Whether an outage of the service that the work needs spends attempts (`retry`) or is waited for (`wait`). Default
   * `retry`.
   */
  readonly onOutage?: OnOutage;
  /** How long `wait` waits through one outage before attempts count again. Default: a day. */
  readonly outageMsMax?: number | null;
  /** What all workers together may begin. Default: no limit. */
  readonly rate?: Rate | null;
  /** What the queue is for. Default: nothing is said. */
  readonly description?: string | null;
}

/**
 * Makes a queue. The same again with the same settings is the queue that is there; with others it is a `job_changed`
 * error. Letters that were imported under the name become the queue's.
 */
export async function createQueue(engine: Engine, name: string, settings: QueueSettings = {}): Promise<Job> {
  requireQueueName(name);
  const spec = await specWith(DEFAULT_QUEUE, settings);
  const found = await engine.findJob(name);
  if (found !== null) return adopt(engine, found, { name, spec });
  try {
    return await engine.createJob({ id: name, name, kind: "queue", spec: queueSpecToJson(spec) });
  } catch (error) {
    const other = await engine.findJob(name); // another process created it first
    if (other === null) throw error;
    return adopt(engine, other, { name, spec });
  }
}

/** Changes what is given and leaves the rest. The event says which settings changed; one that changes nothing has none. */
export async function changeQueue(engine: Engine, name: string, settings: QueueSettings): Promise<Job> {
  const job = await requireQueue(engine, name);
  const before = queueSpecOf(job);
  const after = await specWith(before, settings);
  const changed = changedSettings(before, after);
  if (changed.length === 0) return job;
  const event = { type: "queue_changed", data: { settings: changed } } as const;
  return engine.changeJob(job.id, { spec: queueSpecToJson(after), event });
}

const NAME_CHARS_MAX = 100;

/** Names go into commands, addresses and names of files: no spaces, no slashes, nothing that reads as an option. */
export function requireQueueName(name: string): void {
  const problem = problemOfName(name);
  if (problem === null) return;
  throw new WorkError("usage", `"${name}" cannot be the name of a queue: ${problem}.`, {
    hint: `Use letters, digits, dots, dashes and underscores, at most ${NAME_CHARS_MAX}, e.g. invoices or acme.invoices.`,
  });
}

function problemOfName(name: string): string | null {
  if (name === "") return "it is empty";
  if ([...name].length > NAME_CHARS_MAX) return `it has more than ${NAME_CHARS_MAX} characters`;
  if (!/^[\p{L}\p{N}_]/u.test(name)) return "it does not begin with a letter or a digit";
  return /^[\p{L}\p{M}\p{N}_.:@+-]+$/u.test(name) ? null : "it has a space, a slash or another sign in it";
}

interface Wanted {
  readonly name: string;
  readonly spec: QueueSpec;
}

async function adopt(engine: Engine, found: Job, { name, spec }: Wanted): Promise<Job> {
  const json = queueSpecToJson(spec);
  if (found.kind === "queue") {
    if (canonicalJson(queueSpecToJson(queueSpecOf(found))) === canonicalJson(json)) return found;
    throw new WorkError("job_changed", `There is a queue ${name} already, with other settings.`, {
      hint: `\`redrive queue show ${name}\` shows them, \`redrive queue set ${name}\` changes them.`,
    });
  }
  if (found.kind === "imported" && found.id === name) {
    const event = { type: "queue_created", data: { was: "imported" } } as const;
    return engine.changeJob(name, { kind: "queue", status: "running", restarted: true, spec: json, event });
  }
  throw new WorkError("job_changed", `The name ${name} is taken by the ${found.kind} job ${found.id}.`, {
    hint: "Choose another name for the queue.",
  });
}

/** Everything that can be wrong is found here, before anything is written. */
export async function specWith(before: QueueSpec, settings: QueueSettings): Promise<QueueSpec> {
  const { leaseMs = before.leaseMs, priority = before.priority, unique = before.unique } = settings;
  requireNumber("leaseMs", leaseMs, LEASE_MS);
  requireWord("priority", priority, PRIORITIES);
  requireWord("unique", unique, UNIQUE_RULES);
  const expiresAfterMs = given(settings.expiresAfterMs, before.expiresAfterMs);
  if (expiresAfterMs !== undefined) requireNumber("expiresAfterMs", expiresAfterMs, DURATION_MS);
  const rate = given(settings.rate, before.rate);
  if (rate !== undefined) requireNumber("rate.perSecond", rate.perSecond, RATE);
  const schema = given(settings.schema, before.schema);
  if (schema !== undefined) await requireSchema(schema);
  const description = given(settings.description, before.description)?.trim() || undefined;
  const policy = policyWith(before.policy, settings);
  return compact({ policy, leaseMs, priority, unique, schema, expiresAfterMs, rate, description });
}

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly isWhole?: boolean;
}

/** Shorter, and a slow disk or a busy machine looks like a dead worker. */
const LEASE_MS: Range = { min: 1000, max: 86_400_000 };
const DURATION_MS: Range = { min: 1, max: 10 * 366 * 86_400_000 };
/** From one a day on. */
const RATE: Range = { min: 1 / 86_400, max: 1_000_000 };
const COUNT: Range = { min: 1, max: 1_000_000, isWhole: true };

function policyWith(before: Policy, settings: QueueSettings): Policy {
  const maxAttempts = settings.maxRetries === undefined ? before.maxAttempts : settings.maxRetries + 1;
  requireNumber("maxRetries", maxAttempts - 1, { min: 0, max: 1000, isWhole: true });
  const lossesMax = settings.lossesMax ?? before.lossesMax;
  requireNumber("lossesMax", lossesMax, COUNT);
  const outage = outageWith(before, settings);
  return compact({
    ...before,
    ...outage,
    maxAttempts,
    lossesMax,
    backoff: settings.backoff ?? before.backoff,
    onItemFailure: settings.onItemFailure ?? before.onItemFailure,
    breaker: breakerWith(before.breaker, settings.breaker),
  }) as Policy;
}

/** A limit without `wait` would be accepted and ignored. */
function outageWith(
  before: Policy,
  settings: QueueSettings,
): { readonly onOutage: OnOutage | undefined; readonly outageMsMax: number | undefined } {
  const onOutage = settings.onOutage ?? before.onOutage;
  if (onOutage !== undefined) requireWord("onOutage", onOutage, OUTAGE_ACTIONS);
  const kept = onOutage === "wait" ? before.outageMsMax : undefined;
  const outageMsMax = given(settings.outageMsMax, kept);
  if (outageMsMax === undefined) return { onOutage, outageMsMax };
  requireNumber("outageMsMax", outageMsMax, DURATION_MS);
  if (onOutage === "wait") return { onOutage, outageMsMax };
  throw new WorkError("usage", "outageMsMax (--max-outage) has no meaning without onOutage: wait.", {
    hint: 'Add --on-outage wait, or onOutage: "wait" in a program.',
  });
}

function breakerWith(
  before: BreakerPolicy | undefined,
  wanted: QueueSettings["breaker"],
): BreakerPolicy | undefined {
  if (wanted === undefined) return before;
  if (wanted === null) return undefined;
  const breaker = { ...(before ?? DEFAULT_BREAKER), ...wanted };
  requireNumber("breaker.failureThreshold", breaker.failureThreshold, COUNT);
  requireNumber("breaker.timeoutMs", breaker.timeoutMs, DURATION_MS);
  requireNumber("breaker.successThreshold", breaker.successThreshold, COUNT);
  requireNumber("breaker.halfOpenRequests", breaker.halfOpenRequests, COUNT);
  return breaker;
}

/** Compiled for a look: data is never added under a schema that cannot be understood. */
async function requireSchema(schema: Json): Promise<void> {
  const { compileSchema } = await import("../redrive/data-schema/compile.ts");
  compileSchema(schema);
}

/** Undefined keeps what was there, null takes it away. */
function given<T>(value: T | null | undefined, before: T | undefined): T | undefined {
  return value === undefined ? before : (value ?? undefined);
}

export function requireNumber(name: string, value: number, { min, max, isWhole = false }: Range): void {
  if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return; // NaN is neither
  const what = isWhole ? "a whole number" : "a number";
  throw new WorkError("usage", `${name} of a queue is ${value}: it is ${what} from ${min} to ${max}.`);
}

function requireWord<Word extends string>(name: string, value: Word, known: readonly Word[]): void {
  if (known.includes(value)) return;
  throw new WorkError("usage", `${name} of a queue is "${value}".`, {
    hint: `There are: ${known.join(", ")}.`,
  });
}

/** The names of the settings that are not the same. */
export function changedSettings(before: QueueSpec, after: QueueSpec): readonly string[] {
  const flat = ({ policy, ...spec }: QueueSpec) => queueSpecToJson({ ...policy, ...spec } as never);
  const [old, now] = [flat(before), flat(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return names.filter((name) => canonicalJson(old[name] ?? null) !== canonicalJson(now[name] ?? null));
}

const LOOK_MS = 2000;

export class LiveSettings {
  readonly #engine: Engine;
  readonly #queue: string;
  readonly #clock: Clock;
  #spec: QueueSpec;
  #lookAt: number;
  #isLooking = false;

  constructor(engine: Engine, queue: string, begin: { readonly spec: QueueSpec; readonly clock: Clock }) {
    this.#engine = engine;
    this.#queue = queue;
    this.#clock = begin.clock;
    this.#spec = begin.spec;
    this.#lookAt = begin.clock.now() + LOOK_MS;
  }

  /** As they were at the last look, which is made anew in the background when it is some time ago. */
  readonly now = (): QueueSpec => {
    if (this.#clock.now() >= this.#lookAt && !this.#isLooking) void this.#look();
    return this.#spec;
  };

  /** A store that does not answer leaves the settings as they were; the runner meets the same trouble, and waits. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const job = await this.#engine.findJob(this.#queue);
      if (job !== null && JSON.stringify(job.spec) !== JSON.stringify(this.#spec))
        this.#spec = queueSpecOf(job);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    } finally {
      this.#isLooking = false;
      this.#lookAt = this.#clock.now() + LOOK_MS;
    }
  }
}
