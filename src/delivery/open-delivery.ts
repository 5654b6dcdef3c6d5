/**
 * The delivery of a target for a process that takes no receipts in: the handler of its queue, and whether anybody is on the
 * other side. `Target` is the same for a service that sends.
 */
import type { Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Clock } from "../kit/clock.ts";
import { requireDeliverable } from "./deliverable.ts";
import { deliveryHandler } from "./handler.ts";
import { LiveDelivery } from "./live-delivery.ts";
import { LiveProtocol } from "./open-protocol.ts";
import type { Reachability } from "./protocol.ts";
import { targetSpecOf } from "./spec.ts";
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
