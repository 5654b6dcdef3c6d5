/** Alerts in the event log of the queues that they are about. An alert about the store itself belongs to no queue, and has none. */
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import type { SendResult } from "./channels/send.ts";
import type { SentNotice } from "./deliver.ts";
import type { Telling } from "./due.ts";

/** One event for each; of one that is over before it was written down, both. */
export async function writeAlertEvents(engine: Engine, tellings: readonly Telling[]): Promise<SendResult> {
  return trying(async () => {
    for (const { alert, state } of tellings) {
      if (alert.queue === null) continue;
      const { rule, kind, severity, value, limit, text, overText, raisedAt } = alert;
      const data = { rule, condition: kind, severity, value, limit, raised_at: toRfc3339(raisedAt) };
      if (state === "raised" || state === "passed")
        await engine.changeJob(alert.queue, { event: { type: "alert_raised", data: { ...data, text } } });
      if (state === "recovered" || state === "passed") {
        const over: JsonObject = { ...data, text: overText };
        await engine.changeJob(alert.queue, { event: { type: "alert_recovered", data: over } });
      }
    }
  });
}

/** That a channel could not be told, on the first queue that it is about. */
export async function writeUndelivered(
  engine: Engine,
  { channel, notice, tries, reason = "" }: SentNotice,
): Promise<void> {
  const queue = notice.tellings.find(({ alert }) => alert.queue !== null)?.alert.queue;
  if (!queue) return;
  const data = { channel, reason, tries, alerts: notice.tellings.length };
  await trying(() => engine.changeJob(queue, { event: { type: "alert_undelivered", data } }));
}

/** A store that cannot be written now is told by the next check. */
async function trying(action: () => Promise<unknown>): Promise<SendResult> {
  try {
    await action();
    return { kind: "sent" };
  } catch (error) {
    if (!isStoreError(error)) throw error;
    return { kind: "refused", reason: error.message };
  }
}
