/** Adapts a user's function to the delivery protocol: returning means delivered, throwing means failed. */
import { type Classified, classify } from "../retry/classify.ts";
import { describeThrown, readException } from "../retry/thrown.ts";
import { formatDuration } from "../std/duration.ts";
import { compact, type Json } from "../std/json.ts";
import { withTimeout } from "../std/timeout.ts";
import { type DeliveryOutcome, type NotDelivered, outcomeOfLostAnswer, outcomeOfStatus } from "./outcome.ts";
import type { DeliveryCall, Protocol } from "./protocol.ts";

/** Sends one receipt. Retries pass the same key, so that the receiver can recognise duplicates. */
export type DeliverFunction = (
  receipt: Json,
  call: Pick<DeliveryCall, "key" | "attempt" | "signal">,
) => unknown;

export function functionProtocol(deliver: DeliverFunction): Protocol {
  return { deliver: (receipt, call) => deliverInTime(deliver, receipt, call) };
}

/** Stops waiting for a function that ignores its abort signal or its time limit. */
async function deliverInTime(
  deliver: DeliverFunction,
  receipt: Json,
  { key, attempt, signal, settings: { timeoutMs } }: DeliveryCall,
): Promise<DeliveryOutcome> {
  const send = (own: AbortSignal) =>
    Promise.race([(async () => deliver(receipt, { key, attempt, signal: own }))(), aborted(own)]);
  try {
    if ((await withTimeout(send, { timeoutMs, signal })) !== "late") return { status: "delivered" };
    return outcomeOfLostAnswer(`The function took longer than ${formatDuration(timeoutMs)}`, "ETIMEDOUT");
  } catch (thrown) {
    return outcomeOfThrown(thrown, key);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Connection errors after which the receiver cannot have processed anything. */
const NOT_REACHED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

function outcomeOfThrown(thrown: unknown, key: string): DeliveryOutcome {
  const { message, errno, httpStatus } = describeThrown(thrown);
  const { type, retryAfterMs } = readException(thrown, Date.now());
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
