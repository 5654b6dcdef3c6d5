/** `redrive groups show`: one group with its letters, notes, and what helped before. */
import { requireGroup, requireLiveGroup } from "../../redrive/find-group.ts";
import { readFixes } from "../../redrive/group-fixes.ts";
import { groupViewToJson, viewGroup } from "../../redrive/groups.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { fixText } from "../group-fix-text.ts";
import { groupText } from "../group-text.ts";

export async function groupsShow(context: Context, word: string): Promise<number> {
  const { view, fixes, asked } = await context.withStore(async (engine) => {
    const named = await requireGroup(engine, word);
    const mark = await requireLiveGroup(engine, named.signature);
    return { view: await viewGroup(engine, mark), fixes: await readFixes(engine, mark.fixes), asked: named };
  });
  const { signature } = view.mark;
  if (asked.signature !== signature) context.note(`${asked.signature} was merged into ${signature}.`);
  const { paint, columns } = context;
  const document = { ...groupViewToJson(view), helped: fixes.map(fixText) };
  context.answer(document, () => groupText(view, fixes, { paint, columns }));
  return EXIT.done;
}
