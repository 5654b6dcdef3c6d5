/** `redrive dlq capsule`: packs all that is known of a letter into one file, or opens one. */
import { resolve } from "node:path";
import { writeCapsule } from "../../dead-letter/capsule.ts";
import { WorkError } from "../../errors.ts";
import { fileNameOf } from "../../item/item-path.ts";
import { requireJob } from "../../job/find-job.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";

interface Flags {
  readonly job?: string;
  readonly output?: string;
  readonly env?: readonly string[];
}

const USAGE = "redrive dlq capsule ITEM -o FILE makes a capsule; redrive dlq capsule open FILE opens one.";

export async function dlqCapsule(
  context: Context,
  itemName: string,
  file: string | undefined,
  flags: Flags,
): Promise<number> {
  if (itemName === "open" && file !== undefined) {
    const { openCapsule } = await import("../open-capsule.ts");
    return openCapsule(context, file, flags.output);
  }
  if (file !== undefined) {
    throw new WorkError("usage", `What is ${file}?`, {
      hint: USAGE,
    });
  }
  const { makeCapsule } = await import("../../job/capsule.ts");
  const { env, version, cwd } = context.terminal;
  const capsule = await context.withStore(async (engine) => {
    const job = flags.job === undefined ? undefined : (await requireJob(engine, flags.job)).id;
    const item = await requireItem(engine, itemName, job, (one) => one.state !== "done").catch((error) => {
      if (itemName !== "open") throw error;
      throw new WorkError("usage", "Which capsule is to be opened?", { hint: USAGE, cause: error });
    });
    const letter = await engine.readLetter(item.ref);
    if (letter === null) {
      throw new WorkError("item_not_found", `Item ${item.itemId} is no letter: it is ${item.state}.`, {
        hint: `redrive logs ${item.queue} ${item.itemId} shows what it wrote.`,
      });
    }
    return makeCapsule(engine, letter, {
      env,
      version,
      names: (flags.env ?? []).flatMap((text) => text.split(",")),
    });
  });
  const itemId = String(capsule.letter.item_id);
  const path = resolve(cwd, flags.output ?? `${fileNameOf(itemId)}.capsule.json.gz`);
  const bytes = await writeCapsule(path, capsule);
  for (const sentence of capsule.missing) context.note(`Not in it: ${sentence}`);
  const { attempts, files, missing, changes } = capsule;
  const document = {
    ...{ path, bytes, job_id: String(capsule.letter.job_id), item_id: itemId },
    ...{ attempts: attempts.length, files: files.length, has_changes: changes !== null, missing },
  };
  context.answer(document, () => `${path}\n`);
  return EXIT.done;
}
