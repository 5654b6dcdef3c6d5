/** From a target's settings to the way to the other side. Each is loaded when it is asked for, and kept until the end. */
import { WorkError } from "../errors.ts";
import type { Json } from "../kit/json.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import type { DeliveryCall, Protocol, Reachability } from "./protocol.ts";
import type { DeliveryProtocol, DeliverySpec } from "./spec.ts";
import type { TargetOptions } from "./target-options.ts";

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
    case "mcp":
      return new (await import("./mcp.ts")).McpProtocol(env);
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
