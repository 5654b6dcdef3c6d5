/** Sends a message until it is sent, with a growing wait in between, or says after some tries why it could not be. */
import type { Clock } from "../kit/clock.ts";
import type { Random } from "../kit/random.ts";
import { backoffMs } from "../retry/backoff.ts";
import type { SendResult } from "./channels/send.ts";
import type { Notice } from "./notice.ts";

/** How it went. */
export type Delivery =
  | { readonly ok: true; readonly tries: number }
  | { readonly ok: false; readonly tries: number; readonly reason: string };

/** What became of one message to one channel. */
export interface SentNotice {
  readonly channel: string;
  readonly notice: Notice;
  readonly ok: boolean;
  readonly tries: number;
  /** Why not. */
  readonly reason?: string;
}

export interface DeliverOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly stop: AbortSignal;
}

export const TRIES_MAX = 5;
const BACKOFF = { kind: "exponential", initialMs: 1000, factor: 2, maxMs: 30_000, jitter: true } as const;
/** Who asks for more than this is asked again at the next check. */
const RETRY_AFTER_MS_MAX = 30_000;

/** It is told again at the next check if it fails. */
export async function deliver(
  send: () => Promise<SendResult>,
  { clock, random, stop }: DeliverOptions,
): Promise<Delivery> {
  for (let tries = 1; ; tries += 1) {
    const result = await send();
    if (result.kind === "sent") return { ok: true, tries };
    const { reason } = result;
    const isLast = result.kind === "refused" || tries >= TRIES_MAX || stop.aborted;
    if (isLast || (result.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return { ok: false, tries, reason };
    await clock.sleep(Math.max(backoffMs(BACKOFF, tries, random), result.retryAfterMs ?? 0), stop);
    if (stop.aborted) return { ok: false, tries, reason };
  }
}
