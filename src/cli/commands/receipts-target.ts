/** `redrive receipts target`: makes a target of receipts, changes what it is told, or shows it. */
import { summariseTarget, targetToJson } from "../../delivery/look.ts";
import { setTarget } from "../../delivery/settings.ts";
import { canonicalJson } from "../../kit/json.ts";
import { requireTarget } from "../../queue/find-queue.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { type TargetFlags, targetSettingsFrom } from "../target-settings.ts";
import { targetSettingsText, targetText } from "../target-text.ts";

export async function receiptsTarget(context: Context, name: string, flags: TargetFlags): Promise<number> {
  const settings = targetSettingsFrom(context, flags);
  if (Object.keys(settings).length === 0) return show(context, name);
  const { isNew, isChanged, target } = await context.withStore(
    async (engine) => {
      const before = await engine.findJob(name);
      const job = await setTarget(engine, name, settings);
      const isOther = canonicalJson(before?.spec ?? null) !== canonicalJson(job.spec);
      const summary = await summariseTarget(engine, job);
      return { isNew: before?.kind !== "target", isChanged: isOther, target: summary };
    },
    { creates: true },
  );
  context.answer({ ...targetToJson(target), is_new: isNew, is_changed: isChanged }, () => {
    if (!isChanged) return `${name} has these settings already.\n`;
    return `${isNew ? "Made the target" : "Changed"} ${name}.\n${targetSettingsText(target)}`;
  });
  if (isNew && !context.isJson) {
    context.note(`Send a receipt:    redrive receipts send ${name} --data '{"task_id": "t-1"}'`);
    context.note(`Deliver for good:  redrive receipts deliver ${name}`);
  }
  return EXIT.done;
}

async function show(context: Context, name: string): Promise<number> {
  const target = await context.withStore(async (engine) =>
    summariseTarget(engine, await requireTarget(engine, name)),
  );
  context.answer(targetToJson(target), () => targetText(target, context));
  return EXIT.done;
}
