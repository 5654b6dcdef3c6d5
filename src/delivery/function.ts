/**
 * A user's function as the protocol of a target: it returns when the receipt is delivered, and throws when it is not. Errors
 * are classified as those of a worker's function: by exception name, HTTP status and errno.
 */

import type { Classified } from "../retry/classify.ts";
import { classify } from "../retry/classify.ts";
import { describeThrown, readException } from "../retry/thrown.ts";
import { formatDuration } from "../std/duration.ts";
import type { Json } from "../std/json.ts";
import { compact } from "../std/json.ts";
import { type DeliveryOutcome, type NotDelivered, outcomeOfLostAnswer, outcomeOfStatus } from "./outcome.ts";
import type { DeliveryCall, Protocol } from "./protocol.ts";

/** Sends one receipt. It may be called again with the same key: the other side has to know it again. */
export type DeliverFunction = (
  receipt: Json,
  call: Pick<DeliveryCall, "key" | "attempt" | "signal">,
) => unknown;

export function functionProtocol(deliver: DeliverFunction): Protocol {
  return { deliver: (receipt, call) => deliverInTime(deliver, receipt, call) };
}

/** A function that does not heed its signal is left behind: its end is not waited for, and nobody hears it. */
async function deliverInTime(
  deliver: DeliverFunction,
  receipt: Json,
  { key, attempt, signal, settings: { timeoutMs } }: DeliveryCall,
): Promise<DeliveryOutcome> {
  const ending = new AbortController();
  const onStop = () => ending.abort(signal.reason);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort(new Error(`it took longer than ${formatDuration(timeoutMs)}`));
  }, timeoutMs);
  signal.addEventListener("abort", onStop, { once: true });
  if (signal.aborted) onStop();
  try {
    await Promise.race([
      (async () => deliver(receipt, { key, attempt, signal: ending.signal }))(),
      aborted(ending.signal),
    ]);
    return { status: "delivered" };
  } catch (thrown) {
    return isLate ? late(timeoutMs) : outcomeOfThrown(thrown, key);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onStop);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function late(timeoutMs: number): NotDelivered {
  return outcomeOfLostAnswer(`The function took longer than ${formatDuration(timeoutMs)}`, "ETIMEDOUT");
}

/** The other side was not even reached, so nothing can have been done. */
const NOT_REACHED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

function outcomeOfThrown(thrown: unknown, key: string): DeliveryOutcome {
  const { message, errno, httpStatus } = describeThrown(thrown);
  const { type, retryAfterMs } = readException(thrown);
  if (type === undefined && httpStatus !== undefined)
    return outcomeOfStatus(httpStatus, { said: {}, message, key, retryAfterMs });
  const reported = type === undefined ? {} : { reported: { type: { name: type } } };
  const classified = classify(compact({ message, errno, ...reported }));
  const isOutage = errno !== undefined && type === undefined && NOT_REACHED.includes(errno);
  return compact({
    status: isOutage ? "transport_error" : statusOf(classified),
    errorType: classified.errorType,
    errorClass: isOutage ? "outage" : classified.errorClass,
    message,
    retryAfterMs,
  });
}

function statusOf({ errorType, errorClass }: Classified): NotDelivered["status"] {
  if (errorClass === "permanent") return "refused";
  if (errorClass === "throttled") return "throttled";
  return errorType.name === "TransportError" || errorType.name === "Timeout" ? "unknown" : "server_error";
}
