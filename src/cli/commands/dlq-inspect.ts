/** `redrive dlq inspect`: everything about one letter. */
import { readHistory } from "../../dead-letter/history.ts";
import { linksToJson, readLinks } from "../../dead-letter/links.ts";
import { eventToJson } from "../../item/event.ts";
import { groupMarkToJson } from "../../item/group.ts";
import { letterToJson } from "../../item/letter.ts";
import { readFixes } from "../../redrive/group-fixes.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireLetter } from "../find-letter.ts";
import { letterText } from "../letter-text.ts";

export async function dlqInspect(
  context: Context,
  itemName: string,
  flags: { job?: string },
): Promise<number> {
  const { letter, history, fixes, links } = await context.withStore(async (engine) => {
    const found = await requireLetter(engine, itemName, flags.job);
    const told = await readHistory(engine, found);
    return {
      links: await readLinks(engine, found),
      letter: found,
      history: told,
      fixes: told.group ? await readFixes(engine, told.group.fixes) : [],
    };
  });
  const { paint, columns } = context;
  const document = {
    ...letterToJson(letter),
    ...linksToJson(links),
    group_count: history.groupCount,
    group: history.group && groupMarkToJson(history.group),
    events: history.events.map(eventToJson),
  };
  context.answer(document, () => letterText(letter, { paint, columns, history, fixes, links }));
  return EXIT.done;
}
