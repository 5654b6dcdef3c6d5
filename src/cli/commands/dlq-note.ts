/** `redrive dlq note`: writes a note on a letter, with its author and time. */
import { WorkError } from "../../errors.ts";
import { letterToJson } from "../../item/letter.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireLetter } from "../find-letter.ts";
import { refreshDirectories } from "../refresh-directories.ts";

export async function dlqNote(
  context: Context,
  itemName: string,
  text: string,
  flags: { job?: string },
): Promise<number> {
  if (text.trim() === "") throw new WorkError("usage", "The note is empty.");
  const author = authorOf(context.terminal.env);
  const letter = await context.withStore(async (engine) => {
    const { ref, itemId } = await requireLetter(engine, itemName, flags.job);
    const noted = (await engine.addNote(ref, { author, text })) ? await engine.readLetter(ref) : null;
    if (noted !== null) {
      await refreshDirectories(context, engine, { jobIds: [noted.jobId], itemIds: [noted.itemId], count: 1 });
      return noted;
    }
    throw new WorkError("item_not_found", `The letter of ${itemId} was deleted meanwhile.`);
  });
  const count = letter.notes?.length ?? 0;
  context.answer(
    letterToJson(letter),
    () => `Noted on ${letter.itemId} by ${author} (${count === 1 ? "its first note" : `${count} notes`}).\n`,
  );
  return EXIT.done;
}
