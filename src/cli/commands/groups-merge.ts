/** `redrive groups merge`: makes groups one, also for later failures. */
import { WorkError } from "../../errors.ts";
import { mergeGroups } from "../../redrive/correct-groups.ts";
import { requireGroup } from "../../redrive/find-group.ts";
import { titleLine, titleToJson } from "../../triage/title.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { movingNotes } from "../correcting.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";
import { clean } from "../paint.ts";

interface MergeFlags {
  readonly into: string;
  readonly yes?: boolean;
}

/** All groups are found before anything is written. */
export async function groupsMerge(context: Context, words: string[], flags: MergeFlags): Promise<number> {
  return context.withStore(async (engine) => {
    const into = await requireGroup(engine, flags.into);
    const groups = [];
    for (const word of words) groups.push(await requireGroup(engine, word));
    if (groups.some(({ signature }) => signature === into.signature)) {
      throw new WorkError("usage", `${into.signature} cannot be merged into itself.`, {
        hint: "Nothing was done.",
      });
    }
    const what = groups.map(({ pattern }) => `  ${clean(titleLine(pattern))}`).join("\n");
    if (!flags.yes)
      await askFirst(
        context,
        `Merge\n${what}\ninto\n  ${clean(titleLine(into.pattern))}\nalso for later failures?`,
      );
    const options = { author: authorOf(context.terminal.env), onProgress: movingNotes(context) };
    const { target, moved } = await mergeGroups(engine, { groups, into }, options);
    const merged = groups.map(({ signature }) => signature);
    context.answer(
      { signature: target.signature, ...titleToJson(target.pattern), pattern: target.pattern, merged, moved },
      () =>
        `Merged into ${target.signature}: ${clean(titleLine(target.pattern))}\n${lettersText(moved)} moved; later ones will follow.\n`,
    );
    return EXIT.done;
  });
}
