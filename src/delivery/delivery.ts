/** The built-in handler of a target's queue. It sends one receipt with the protocol from the target's current settings. */
import type { AttemptContext, Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import { isStoreError, RedriveError } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { receiptCounts, receiptKeyOf } from "../item/receipt.ts";
import type { Outcome } from "../item/settlement.ts";
import { type LiveSettings, liveSettings } from "../queue/queue-settings.ts";
import type { Clock } from "../std/clock.ts";
import { messageOf } from "../std/thrown.ts";
import type { DeliverFunction } from "./function.ts";
import type { DeliveryOutcome, NotDelivered } from "./outcome.ts";
import type { DeliveryProtocol, Protocol, Reachability } from "./protocol.ts";
import { type DeliverySpec, requireDeliverable, type TargetSpec, targetSpecOf } from "./target-settings.ts";
import type { Environment } from "./token.ts";

export interface DeliveryOptions {
  readonly clock: Clock;
  /** The environment variables that tokens are read from. Default: `process.env`. */
  readonly env?: Environment;
  /** The implementation of the protocol `function`. Default: none; this process cannot deliver to targets with this protocol. */
  readonly deliver?: DeliverFunction | Protocol;
}

/** Opens a delivery in a process other than the user's service. Throws if the protocol is `function`. */
export async function openDelivery(engine: Engine, target: Job, options: DeliveryOptions): Promise<Delivery> {
  requireDeliverable(target);
  const delivery = new Delivery(engine, target, options);
  await delivery.open();
  return delivery;
}

export class Delivery {
  readonly settings: LiveSettings<TargetSpec>;
  readonly #engine: Engine;
  readonly #options: DeliveryOptions;
  readonly #opened = new Map<DeliveryProtocol, Promise<Protocol>>();

  constructor(engine: Engine, target: Job, options: DeliveryOptions) {
    this.#engine = engine;
    this.#options = options;
    this.settings = liveSettings(engine, target, { clock: options.clock, specOf: targetSpecOf });
  }

  /** Loads the protocol before any item is leased. Rejects when this process does not support it. */
  async open(): Promise<void> {
    await this.#protocolOf(this.settings.now().delivery);
  }

  readonly handler: Handler = async (item, attempt) => {
    const { delivery: settings } = await this.settings.current();
    const { signal } = attempt;
    const startedAt = performance.now();
    const call = { key: receiptKeyOf(item), attempt: item.attempt, signal, settings };
    const tried = await this.#protocolOf(settings)
      .then((protocol) => protocol.deliver(item.data, call))
      .catch((error: unknown) => ({ error }));
    const durationMs = Math.round(performance.now() - startedAt);
    if (signal.aborted && !("status" in tried && tried.status === "delivered"))
      return { kind: "released", why: "the delivery was stopped" };
    // The protocol threw, e.g. because the token is unreadable. The operator has to fix that, so the attempt does not count.
    if ("error" in tried) return { kind: "released", why: messageOf(tried.error) };
    return this.#outcomeOf(tried, { item, attempt, settings, durationMs });
  };

  async probe(signal?: AbortSignal): Promise<Reachability> {
    const { delivery: settings } = await this.settings.current();
    const limit = AbortSignal.timeout(settings.timeoutMs);
    const protocol = await this.#protocolOf(settings);
    const answer = await protocol.probe?.(settings, signal ? AbortSignal.any([signal, limit]) : limit);
    return answer ?? { isReachable: true, detail: "it cannot be probed" };
  }

  async close(): Promise<void> {
    for (const opened of this.#opened.values()) await (await opened.catch(() => null))?.close?.();
  }

  #protocolOf({ protocol }: DeliverySpec): Promise<Protocol> {
    const opened = this.#opened.get(protocol) ?? openProtocol(protocol, this.#options);
    this.#opened.set(protocol, opened);
    return opened;
  }

  async #outcomeOf(tried: DeliveryOutcome, attempt: Attempted): Promise<Outcome> {
    const counts = receiptCounts(tried.status, attempt.durationMs);
    if (tried.status === "delivered")
      return { kind: "succeeded", counts, ...(tried.isRepeat && { result: { already_done: true } }) };
    if (tried.status !== "auth") return { ...failed(tried, attempt, this.#options.clock.now()), counts };
    await this.#pause(attempt.item.queue, tried);
    return { kind: "released", why: tried.message, counts };
  }

  /** Pauses the target until a person resumes it. If the store is unavailable, the next attempt pauses the target. */
  async #pause(queue: string, { message }: NotDelivered): Promise<void> {
    const reason = `${message} · replace the token, then resume the target`;
    try {
      await this.#engine.changeJob(queue, { pause: { author: "redrive", reason } });
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }
}

type Attempted = { item: LeasedItem; attempt: AttemptContext; settings: DeliverySpec; durationMs: number };

function failed(tried: NotDelivered, { item, attempt, settings, durationMs }: Attempted, now: number) {
  const { errorType, errorClass, message, retryAfterMs } = tried;
  const failure = {
    attemptNumber: item.attempt,
    timestamp: now,
    errorType,
    errorClass,
    errorMessage: message,
    agentId: attempt.agentId,
    stepFailed: stepOf(settings),
    durationMs,
  };
  return { kind: "failed" as const, failure, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Describes the request in failures, without the query string, which may contain a secret. */
function stepOf({ protocol, url, tool }: DeliverySpec): string {
  if (protocol === "function" || url === undefined) return "deliver";
  const { origin, pathname } = new URL(url);
  return protocol === "mcp" ? `tools/call ${tool} at ${origin}${pathname}` : `POST ${origin}${pathname}`;
}

async function openProtocol(protocol: DeliveryProtocol, { deliver, env = process.env }: DeliveryOptions) {
  switch (protocol) {
    case "http":
      return new (await import("./http.ts")).HttpProtocol(env);
    case "mcp": {
      const { loadSdk, McpProtocol } = await import("./mcp.ts");
      await loadSdk();
      return new McpProtocol(env);
    }
    case "function":
      if (typeof deliver === "function") return (await import("./function.ts")).functionProtocol(deliver);
      if (deliver !== undefined) return deliver;
      throw new RedriveError(
        "usage",
        "The receipts are delivered by a function in the service that created the target.",
        {
          hint: 'Pass the function: redrive.receipts(name, { deliver: async (receipt) => … }), or change the protocol to "http" or "mcp".',
        },
      );
  }
}
