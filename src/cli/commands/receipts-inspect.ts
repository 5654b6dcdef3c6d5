/** `redrive receipts inspect`: one receipt with all its tries. */
import { WorkError } from "../../errors.ts";
import { requireTarget } from "../../queue/find-queue.ts";
import { itemViewToJson } from "../../queue/item-json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { itemText } from "../item-text.ts";

export async function receiptsInspect(
  context: Context,
  key: string,
  flags: { readonly target?: string },
): Promise<number> {
  const view = await context.withStore(async (engine) => {
    const { target } = flags;
    const named = target === undefined ? undefined : (await requireTarget(engine, target)).id;
    const targets = await engine.listJobs({ limit: TARGETS_MAX, kinds: ["target"] });
    const ids = new Set(targets.map(({ id }) => id));
    const item = await requireItem(engine, key, named, ({ queue }) => ids.has(queue)).catch((error) => {
      throw inReceiptWords(error, key, named);
    });
    if (!ids.has(item.queue)) throw noReceipt(key, item.queue);
    return { item, attempts: await engine.listAttempts(item.ref), notes: await engine.listNotes(item.ref) };
  });
  const { itemId, queue } = view.item;
  context.answer({ key: itemId, target: queue, ...itemViewToJson(view) }, () =>
    itemText(view, context, "receipt"),
  );
  return EXIT.done;
}

const TARGETS_MAX = 1000;

/** Finding is the same for items and receipts, but nobody who sends receipts has heard of items. */
function inReceiptWords(error: unknown, key: string, target: string | undefined): unknown {
  if (!(error instanceof WorkError)) return error;
  if (error.code === "ambiguous") {
    return new WorkError("ambiguous", error.message.replace("several items", "several receipts"), {
      hint: "Give more of the key, or the target with --target.",
    });
  }
  if (error.code !== "item_not_found") return error;
  return new WorkError("item_not_found", `There is no receipt ${key}${target ? ` for ${target}` : ""}.`, {
    hint: `\`redrive receipts list ${target ?? "TARGET"}\` lists them; a key may be cut short.`,
  });
}

function noReceipt(key: string, queue: string): WorkError {
  return new WorkError("item_not_found", `There is no receipt ${key}: it is an item of ${queue}.`, {
    hint: `\`redrive queue show ${queue} ${key}\` shows it.`,
  });
}
