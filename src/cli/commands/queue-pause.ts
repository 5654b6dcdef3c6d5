/** `redrive queue pause` and `queue resume`: whether workers get items of a queue. */
import { requireQueue } from "../../queue/find-queue.ts";
import { queueToJson, summariseQueue } from "../../queue/look.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireText } from "../option.ts";
import { pauseText } from "../queue-text.ts";

export async function queuePause(
  context: Context,
  name: string,
  flags: { readonly reason?: string },
): Promise<number> {
  const reason = flags.reason === undefined ? "" : requireText("--reason", flags.reason);
  const pause = { author: authorOf(context.terminal.env), reason };
  const { wasPaused, queue } = await change(context, name, pause);
  context.answer(queueToJson(queue), () => {
    const { leased } = queue.counts;
    const rest = leased > 0 ? ` What runs (${leased}) comes to its end.` : "";
    const how = queue.pause ? pauseText(queue.pause) : "";
    return wasPaused ? `${name} was paused already: ${how}.\n` : `${name} is paused.${rest}\n`;
  });
  return EXIT.done;
}

export async function queueResume(context: Context, name: string): Promise<number> {
  const { wasPaused, queue } = await change(context, name, null);
  const ready = queue.counts.ready === 1 ? "1 item waits" : `${queue.counts.ready} items wait`;
  context.answer(queueToJson(queue), () =>
    wasPaused ? `${name} goes on: ${ready}.\n` : `${name} was not paused.\n`,
  );
  return EXIT.done;
}

function change(context: Context, name: string, pause: { author: string; reason: string } | null) {
  return context.withStore(async (engine) => {
    const before = await requireQueue(engine, name);
    const job = await engine.changeJob(before.id, { pause });
    return { wasPaused: before.pause !== undefined, queue: await summariseQueue(engine, job) };
  });
}
