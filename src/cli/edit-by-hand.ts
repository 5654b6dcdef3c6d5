/** One letter's data in the person's editor: from what it is now to a recipe that makes it what they wrote. */
import { WorkError } from "../errors.ts";
import { isSameJson } from "../redrive/json-diff.ts";
import { compileRecipe, type Recipe } from "../redrive/recipe.ts";
import type { Meant } from "./bulk.ts";
import type { Context } from "./context.ts";
import { editJson } from "./editor.ts";

/** Null when they changed nothing. The store is not open meanwhile; a change by somebody else is found out afterwards. */
export async function editByHand(
  context: Context,
  { selection }: Meant,
  { schemas = [] }: Recipe,
): Promise<Recipe | null> {
  const { itemIds = [] } = selection.filter;
  if (itemIds.length !== 1) {
    throw new WorkError("usage", "Only one letter can be opened in an editor.", {
      hint: "Name one item, or say how all are changed: --set path=CEL or --patch JSON.",
    });
  }
  const [letter] = (
    await context.withStore((engine) => engine.listLetters({ ...selection.filter, limit: 1 }))
  ).letters;
  if (letter === undefined)
    throw new WorkError("item_not_found", `${itemIds[0]} does not match the other flags.`);
  const { itemId, itemData, revision } = letter;
  const check = async (data: typeof itemData) => {
    const amended = (await compileRecipe({ replace: { data, revision }, schemas }))(letter);
    return amended.ok ? undefined : amended.reason;
  };
  const data = await editJson(context, { itemId, data: itemData, refuse: check });
  return isSameJson(data, itemData) ? null : { replace: { data, revision }, schemas };
}
