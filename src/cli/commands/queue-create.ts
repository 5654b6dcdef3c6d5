/** `redrive queue create` and `queue set`: makes a queue, or changes what it is told. */

import { WorkError } from "../../errors.ts";
import { canonicalJson } from "../../kit/json.ts";
import { queueToJson, summariseQueue } from "../../queue/look.ts";
import { changeQueue, createQueue } from "../../queue/settings.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { type SettingFlags, settingsFrom } from "../queue-settings.ts";
import { settingsText } from "../queue-text.ts";

export async function queueCreate(context: Context, name: string, flags: SettingFlags): Promise<number> {
  const settings = settingsFrom(context, flags);
  const { isNew, queue } = await context.withStore(
    async (engine) => {
      const before = await engine.findJob(name);
      const job = await createQueue(engine, name, settings);
      return { isNew: before?.kind !== "queue", queue: await summariseQueue(engine, job) };
    },
    { creates: true },
  );
  context.answer({ ...queueToJson(queue), is_new: isNew }, () =>
    isNew
      ? `Made the queue ${queue.name}.\n${settingsText(queue)}`
      : `The queue ${queue.name} was there, with these settings.\n`,
  );
  if (isNew && !context.isJson) {
    context.note(`Add an item: redrive queue add ${name} --data '{"a": 1}'`);
    context.note(`Work it:     redrive worker --queue ${name} -- COMMAND`);
  }
  return EXIT.done;
}

export async function queueSet(context: Context, name: string, flags: SettingFlags): Promise<number> {
  const settings = settingsFrom(context, flags);
  if (Object.keys(settings).length === 0) {
    throw new WorkError("usage", "No setting was named.", { hint: "`redrive queue set --help` lists them." });
  }
  const { isChanged, queue } = await context.withStore(async (engine) => {
    const before = await engine.findJob(name);
    const job = await changeQueue(engine, name, settings);
    const isOther = canonicalJson(before?.spec ?? null) !== canonicalJson(job.spec);
    return { isChanged: isOther, queue: await summariseQueue(engine, job) };
  });
  context.answer({ ...queueToJson(queue), is_changed: isChanged }, () =>
    isChanged ? `Changed ${name}.\n${settingsText(queue)}` : `${name} has these settings already.\n`,
  );
  return EXIT.done;
}
