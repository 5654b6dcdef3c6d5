/** `redrive groups split`: makes the failures of a group that have a text a group of their own, also later ones. */

import { LETTER_STATES } from "../../item/state.ts";
import { splitGroup } from "../../redrive/correct-groups.ts";
import { requireLiveGroup } from "../../redrive/find-group.ts";
import { titleLine, titleToJson } from "../../triage/title.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { movingNotes } from "../correcting.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";
import { requireText } from "../option.ts";
import { clean } from "../paint.ts";

interface SplitFlags {
  readonly text: string;
  readonly name?: string;
  readonly yes?: boolean;
}

export async function groupsSplit(context: Context, word: string, flags: SplitFlags): Promise<number> {
  const text = requireText("--text", flags.text);
  const name = flags.name === undefined ? {} : { name: requireText("--name", flags.name) };
  return context.withStore(async (engine) => {
    const group = await requireLiveGroup(engine, word);
    const filter = { signatures: [group.signature], states: LETTER_STATES, limit: 0 };
    const { total } = await engine.listLetters({ ...filter, text });
    if (!flags.yes)
      await askFirst(
        context,
        `Split ${lettersText(total)} with "${clean(text)}" off ${group.signature}, also later ones?`,
      );
    const options = { author: authorOf(context.terminal.env), onProgress: movingNotes(context) };
    const { target, moved } = await splitGroup(engine, group, { ...options, text, ...name });
    context.answer(
      {
        signature: target.signature,
        ...titleToJson(target.pattern),
        pattern: target.pattern,
        from: group.signature,
        text,
        moved,
      },
      () =>
        `Split off as ${target.signature}: ${clean(titleLine(target.pattern))}\n${lettersText(moved)} moved; later ones will follow.\n`,
    );
    return EXIT.done;
  });
}
