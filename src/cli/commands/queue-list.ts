/** `redrive queue list`: every queue and how it stands. */
import { listQueues, queueToJson } from "../../queue/look.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { queuesText } from "../queue-text.ts";

export async function queueList(context: Context): Promise<number> {
  const queues = await context.withStore(listQueues);
  context.answer({ queues: queues.map(queueToJson) }, () => queuesText(queues, context));
  return EXIT.done;
}
