/** The words of `--group` become signatures: whole ones, beginnings that fit one group, names; merged groups are followed. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { mergedInto, requireGroup } from "../redrive/find-group.ts";
import type { Selection } from "../redrive/select.ts";
import { words } from "./list-words.ts";
import {
  checkSelection,
  isSignature,
  notAGroup,
  type SelectionFlags,
  selectionFrom,
} from "./selection-words.ts";

/** The selection without the job; words that make no sense are refused before the store is asked. */
export async function selectionIn(engine: Engine, flags: SelectionFlags): Promise<Selection> {
  const selection = checkSelection(flags);
  if (flags.group === undefined) return selection;
  const corrections = await engine.listCorrections();
  const group: string[] = [];
  for (const word of words(flags.group))
    group.push(mergedInto(await signatureFor(engine, word), corrections));
  return selectionFrom({ ...flags, group });
}

/** A whole signature need not be known: it then selects nothing, as it does when its letters are gone. */
async function signatureFor(engine: Engine, word: string): Promise<string> {
  if (isSignature(word)) return word;
  try {
    return (await requireGroup(engine, word)).signature;
  } catch (error) {
    if (error instanceof WorkError && error.code === "group_not_found") throw notAGroup(word);
    throw error;
  }
}
