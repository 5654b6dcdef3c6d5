/**
 * Server-sent events with backpressure: nothing is produced while a chunk waits to be read, so a slow client
 * uses no memory. A client that reads nothing for a while is disconnected; it can reconnect with its last id.
 */
import type { Clock } from "../std/clock.ts";
import { stringifyJson } from "../std/json.ts";

export interface ServerEvent {
  /** The position to continue from. */
  readonly id?: string;
  /** The name of the event. Default: `message`, which `EventSource.onmessage` receives. */
  readonly event?: string;
  readonly data: unknown;
}

export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Default 15 seconds. */
  readonly heartbeatMs?: number;
  /** How long a chunk may wait to be read. Default 60 seconds. */
  readonly patienceMs?: number;
}

const HEARTBEAT_MS = 15_000;
const PATIENCE_MS = 60_000;

/** Converts a generator of events, or of already formatted events, to a response. */
export function eventStream(
  { signal, clock, heartbeatMs = HEARTBEAT_MS, patienceMs = PATIENCE_MS }: StreamOptions,
  produce: (stop: AbortSignal) => AsyncGenerator<ServerEvent | string>,
): Response {
  const stop = new AbortController();
  const end = () => stop.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const events = produce(stop.signal);
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<ServerEvent | string>> | undefined;
  let forgetPatience: () => void = () => undefined;

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode("retry: 1000\n\n"));
      },
      async pull(controller) {
        forgetPatience();
        next ??= events.next();
        const chunk = await soonerOf(next, heartbeatMs, clock);
        if (chunk === "heartbeat") {
          if (stop.signal.aborted) return finish(controller);
          controller.enqueue(encoder.encode(": heartbeat\n\n"));
        } else {
          next = undefined;
          if (chunk.done) return finish(controller);
          controller.enqueue(encoder.encode(textOf(chunk.value)));
        }
        // `pull` is not called while the chunk waits.
        forgetPatience = clock.after(patienceMs, () => {
          finish();
          controller.error(new Error("the client is too slow"));
        });
      },
      cancel: () => finish(),
    },
    { highWaterMark: 1 },
  );

  const finish = (controller?: ReadableStreamDefaultController<Uint8Array>) => {
    forgetPatience();
    signal.removeEventListener("abort", end);
    stop.abort();
    void events.return(undefined); // a generator suspended at a `yield` would never release its resources
    controller?.close();
  };
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
  });
}

async function soonerOf<T>(next: Promise<T>, ms: number, clock: Clock): Promise<T | "heartbeat"> {
  let cancel: () => void = () => undefined;
  const late = new Promise<"heartbeat">((resolve) => {
    cancel = clock.after(ms, () => resolve("heartbeat"));
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    cancel();
  }
}

/** JSON has no line breaks, so one `data` line is enough. */
export function textOf(event: ServerEvent | string): string {
  if (typeof event === "string") return event;
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  const name = event.event === undefined ? "" : `event: ${event.event}\n`;
  return `${id}${name}data: ${stringifyJson(event.data)}\n\n`;
}
