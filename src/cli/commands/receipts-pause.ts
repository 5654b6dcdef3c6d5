/** `redrive receipts pause` and `receipts resume`: whether anything is sent to a target. */
import { summariseTarget, targetToJson } from "../../delivery/look.ts";
import { requireTarget } from "../../queue/find-queue.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireText } from "../option.ts";
import { pauseText } from "../queue-text.ts";

export async function receiptsPause(
  context: Context,
  name: string,
  flags: { readonly reason?: string },
): Promise<number> {
  const reason = flags.reason === undefined ? "" : requireText("--reason", flags.reason);
  const { wasPaused, target } = await change(context, name, {
    author: authorOf(context.terminal.env),
    reason,
  });
  context.answer(targetToJson(target), () => {
    const how = target.pause ? pauseText(target.pause) : "";
    return wasPaused ? `${name} was paused already: ${how}.\n` : `${name} is paused: receipts are kept.\n`;
  });
  return EXIT.done;
}

export async function receiptsResume(context: Context, name: string): Promise<number> {
  const { wasPaused, target } = await change(context, name, null);
  const { ready } = target.counts;
  const waiting = ready === 1 ? "1 receipt waits" : `${ready} receipts wait`;
  context.answer(targetToJson(target), () =>
    wasPaused ? `${name} goes on: ${waiting}.\n` : `${name} was not paused.\n`,
  );
  if (ready > 0 && target.workers.length === 0 && !context.isJson)
    context.note(`Nobody delivers now: redrive receipts deliver ${name}`);
  return EXIT.done;
}

function change(context: Context, name: string, pause: { author: string; reason: string } | null) {
  return context.withStore(async (engine) => {
    const before = await requireTarget(engine, name);
    const wasPaused = before.pause !== undefined;
    const isSame = wasPaused && pause !== null; // the first reason is the one that counts
    const job = isSame ? before : await engine.changeJob(before.id, { pause });
    return { wasPaused, target: await summariseTarget(engine, job) };
  });
}
