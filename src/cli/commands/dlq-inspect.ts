/** `redrive dlq inspect`: everything about one letter. */
import { readHistory } from "../../dead-letter/history.ts";
import { eventToJson } from "../../item/event.ts";
import { letterToJson } from "../../item/letter.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireLetter } from "../find-letter.ts";
import { letterText } from "../letter-text.ts";

export async function dlqInspect(
  context: Context,
  itemName: string,
  flags: { job?: string },
): Promise<number> {
  const { letter, history } = await context.withStore(async (engine) => {
    const found = await requireLetter(engine, itemName, flags.job);
    return { letter: found, history: await readHistory(engine, found) };
  });
  const { paint, columns } = context;
  const document = {
    ...letterToJson(letter),
    group_count: history.groupCount,
    events: history.events.map(eventToJson),
  };
  context.answer(document, () => letterText(letter, { paint, columns, history }));
  return EXIT.done;
}
