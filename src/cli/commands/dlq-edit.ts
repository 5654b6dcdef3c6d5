/** `redrive dlq edit`: corrects the data of letters, one in an editor or many by a rule. */
import type { JsonObject } from "../../kit/json.ts";
import { type EditPreview, editLetters, editToJson, previewEdit, schemasOf } from "../../redrive/amend.ts";
import { compileRecipe, parseSetting, type Recipe } from "../../redrive/recipe.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import { type BulkFlags, emptyBooks, findMeant, type Meant } from "../bulk.ts";
import { changeExitCode, changeLetters } from "../change-letters.ts";
import { editPreviewText, editResultText } from "../change-text.ts";
import type { Context } from "../context.ts";
import { editByHand } from "../edit-by-hand.ts";
import { EXIT } from "../exit-code.ts";
import { readJsonFile, readJsonOption } from "../json-word.ts";
import { lettersText } from "../operation-text.ts";
import { countOption, requireText } from "../option.ts";

export interface EditFlags extends BulkFlags {
  readonly set?: readonly string[];
  readonly patch?: string;
  readonly schema?: string;
  readonly note?: string;
  readonly show?: string;
}

const SHOWN_DEFAULT = 5;

export async function dlqEdit(context: Context, items: string[], flags: EditFlags): Promise<number> {
  const showMax = countOption("--show", flags.show, 0) ?? SHOWN_DEFAULT;
  const given = recipeFrom(context, flags);
  await compileRecipe(given); // a mistake is told before anything is looked at
  const meant = await context.withStore((engine) => findMeant(engine, "edit", { items, flags }));
  const recipe = meant && (await recipeFor(context, meant, given));
  if (meant === null || recipe === null) return sayNothing(context, meant);
  const preview = () => context.withStore((engine) => previewEdit(engine, { ...meant, recipe, showMax }));
  if (flags.dryRun) return sayPreview(context, meant, await preview());
  if (!flags.yes || flags.show !== undefined)
    await confirm(context, meant, { preview: await preview(), flags });
  const request = { queue: meant.job.id, selection: meant.selection, recipe, ...authored(context, flags) };
  const changed = await changeLetters(context, (engine, signal) =>
    editLetters(engine, { ...request, signal }),
  );
  context.answer(editToJson(changed.result), () => editResultText(changed.result));
  return changeExitCode(changed);
}

function recipeFrom({ terminal: { cwd } }: Context, flags: EditFlags): Recipe {
  return {
    ...(flags.set && { set: flags.set.map(parseSetting) }),
    ...(flags.patch !== undefined && { patch: readJsonOption(flags.patch, { option: "--patch", cwd }) }),
    ...(flags.schema !== undefined && { schemas: [readJsonFile(flags.schema, { option: "--schema", cwd })] }),
  };
}

/** With the schema of the queue, and without words to change by with what the person writes; null when that is nothing. */
async function recipeFor(context: Context, meant: Meant, given: Recipe): Promise<Recipe | null> {
  const recipe = { ...given, schemas: [...schemasOf(meant.job.spec), ...(given.schemas ?? [])] };
  return given.set || given.patch !== undefined ? recipe : editByHand(context, meant, recipe);
}

function authored({ terminal: { env } }: Context, { note }: EditFlags): { author: string; note?: string } {
  return { author: authorOf(env), ...(note !== undefined && { note: requireText("--note", note) }) };
}

function sayNothing(context: Context, meant: Meant | null): number {
  const counts = { selected: meant ? 1 : 0, changed: 0, unchanged: meant ? 1 : 0 };
  const text = meant ? "Nothing was changed.\n" : "There are no letters.\n";
  context.answer(emptyBooks("edit", meant?.job.id ?? null, counts), () => text);
  return EXIT.done;
}

function sayPreview(context: Context, { job }: Meant, preview: EditPreview): number {
  const { paint, columns } = context;
  context.answer(
    emptyBooks("edit", job.id, previewToJson(preview)),
    () => `${editPreviewText(preview, { paint, columns })}\nNothing was written.\n`,
  );
  return EXIT.done;
}

function previewToJson({ shown, refusals, ...counts }: EditPreview): JsonObject {
  return {
    dry_run: true,
    ...counts,
    refusals: refusals.map((refusal) => ({ ...refusal })),
    changes: shown.map(({ itemId, changes }) => ({
      item_id: itemId,
      changes: changes.map((one) => ({ ...one })),
    })),
  };
}

async function confirm(
  context: Context,
  { job }: Meant,
  { preview, flags }: { preview: EditPreview; flags: EditFlags },
): Promise<void> {
  const { columns, paintNotes: paint } = context;
  if (preview.selected > 0) context.note(editPreviewText(preview, { paint, columns }));
  if (!flags.yes && preview.changed > 1)
    await askFirst(context, `Change ${lettersText(preview.changed)} of ${job.id}?`);
}
