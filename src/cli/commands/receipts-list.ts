/** `redrive receipts list`: the targets and how they stand, or a page of the receipts of one. */
import { listTargets, targetToJson } from "../../delivery/look.ts";
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { requireTarget } from "../../queue/find-queue.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { answerItems, type ItemFlags, readItemPage } from "../item-page.ts";
import { targetsText } from "../target-text.ts";

export async function receiptsList(
  context: Context,
  name: string | undefined,
  flags: ItemFlags,
): Promise<number> {
  if (name === undefined) return listAll(context, flags);
  const list = "receipts";
  const find = async (engine: Engine) => (await requireTarget(engine, name)).id;
  const page = await readItemPage(context, flags, { list, find });
  answerItems(context, page, { list, command: `redrive receipts list ${name}`, name, flags });
  return EXIT.done;
}

async function listAll(context: Context, { state, cursor }: ItemFlags): Promise<number> {
  if (state !== undefined || cursor !== undefined) {
    throw new WorkError("usage", "Which target's receipts are meant?", {
      hint: "redrive receipts list TARGET --state dead",
    });
  }
  const targets = await context.withStore(listTargets);
  context.answer({ targets: targets.map(targetToJson) }, () => targetsText(targets, context));
  return EXIT.done;
}
