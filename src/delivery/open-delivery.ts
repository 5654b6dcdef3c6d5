/**
 * Opens the delivery of a target for a process that only delivers: the handler of its queue, and a probe of the receiver.
 * `Target` does the same for a service that also sends.
 */
import type { Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import { isStoreError, WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Clock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import type { DeliveryCall, Protocol, Reachability } from "./protocol.ts";
import { deliveryHandler } from "./receipt-handler.ts";
import type { TargetOptions } from "./target-settings.ts";
import { type DeliveryProtocol, type DeliverySpec, requireDeliverable, targetSpecOf } from "./target-spec.ts";
import type { Environment } from "./token.ts";

/** A way to the other side that is open. */
export interface Delivery {
  readonly handler: Handler;
  /** Asks whether there is anybody on the other side, without sending a receipt. */
  probe(signal?: AbortSignal): Promise<Reachability>;
  close(): Promise<void>;
}

/** Opens the way that the target's settings name. */
export async function openDelivery(
  engine: Engine,
  target: Job,
  { clock, env = process.env }: { readonly clock: Clock; readonly env?: Environment },
): Promise<Delivery> {
  requireDeliverable(target);
  const { delivery: settings } = targetSpecOf(target);
  const live = new LiveDelivery(engine, target.id, { settings, clock });
  const protocol = new LiveProtocol({ env });
  await protocol.of(settings);
  return {
    handler: deliveryHandler({ engine, protocol, settings: () => live.now(), now: clock.now }),
    probe: async (signal) => {
      const now = await live.now();
      const limit = AbortSignal.timeout(now.timeoutMs);
      return protocol.probe(now, signal ? AbortSignal.any([signal, limit]) : limit);
    },
    close: () => protocol.close(),
  };
}

const LOOK_MS = 2000;

export class LiveDelivery {
  readonly #engine: Engine;
  readonly #target: string;
  readonly #clock: Clock;
  #settings: DeliverySpec;
  #lookAt: number;
  #looking: Promise<void> | null = null;

  constructor(
    engine: Engine,
    target: string,
    begin: { readonly settings: DeliverySpec; readonly clock: Clock },
  ) {
    this.#engine = engine;
    this.#target = target;
    this.#clock = begin.clock;
    this.#settings = begin.settings;
    this.#lookAt = begin.clock.now() + LOOK_MS;
  }

  /** As they were at the last look. */
  get last(): DeliverySpec {
    return this.#settings;
  }

  /** What was changed for these or by others counts from the next receipt on, two seconds later at most. */
  async now(): Promise<DeliverySpec> {
    if (this.#clock.now() < this.#lookAt) return this.#settings;
    this.#looking ??= this.look().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
    return this.#settings;
  }

  /** A store that does not answer leaves them as they were; the runner meets the same trouble, and waits. */
  async look(): Promise<void> {
    try {
      const job = await this.#engine.findJob(this.#target);
      if (job !== null) this.#settings = targetSpecOf(job).delivery;
      this.#lookAt = this.#clock.now() + LOOK_MS;
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }
}

/** The way that the settings name, also when they change. */
export class LiveProtocol implements Protocol {
  readonly #options: Pick<TargetOptions, "deliver" | "env">;
  readonly #opened = new Map<DeliveryProtocol, Promise<Protocol>>();

  constructor(options: Pick<TargetOptions, "deliver" | "env">) {
    this.#options = options;
  }

  /** Rejects when there is no such way here. */
  of({ protocol }: Pick<DeliverySpec, "protocol">): Promise<Protocol> {
    const opened = this.#opened.get(protocol) ?? openProtocol(protocol, this.#options);
    this.#opened.set(protocol, opened);
    return opened;
  }

  async deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome> {
    return (await this.of(call.settings)).deliver(receipt, call);
  }

  async probe(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability> {
    const answer = await (await this.of(settings)).probe?.(settings, signal);
    return answer ?? { isReachable: true, detail: "it cannot be asked" };
  }

  async close(): Promise<void> {
    for (const opened of this.#opened.values()) await (await opened.catch(() => null))?.close?.();
  }
}

async function openProtocol(
  protocol: DeliveryProtocol,
  { deliver, env = process.env }: Pick<TargetOptions, "deliver" | "env">,
): Promise<Protocol> {
  switch (protocol) {
    case "http":
      return new (await import("./http.ts")).HttpProtocol(env);
    case "mcp": {
      const { loadSdk, McpProtocol } = await import("./mcp.ts");
      await loadSdk(); // before anything is leased
      return new McpProtocol(env);
    }
    case "function":
      if (deliver === undefined) throw noFunction();
      if (typeof deliver !== "function") return deliver;
      return (await import("./function.ts")).functionProtocol(deliver);
  }
}

function noFunction(): WorkError {
  return new WorkError("usage", "The target is delivered by a function of the service that made it.", {
    hint: 'Give the function: store.target(name, { deliver: async (receipt) => … }), or change its protocol to "http" or "mcp".',
  });
}
