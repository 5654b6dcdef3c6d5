/** `redrive dlq edit|fix|note`: corrects the data of letters manually or by a rule, and adds notes. */
import { letterToJson } from "../../item/letter.ts";
import { requireLetter } from "../../queue/find-item.ts";
import { editLetters, editToJson, previewEdit, schemasOf } from "../../redrive/amend.ts";
import { countFixable, type FixMatch, type FixRule, planFixes } from "../../redrive/fix.ts";
import { compileRecipe, type Recipe } from "../../redrive/recipe.ts";
import { type FixOutcome, fixesToJson, fixLetters } from "../../run/retry.ts";
import { requireHandler } from "../../run/run-job.ts";
import { compact } from "../../std/json.ts";
import { diffJson } from "../../std/json-diff.ts";
import { finishToJson } from "../../workspace/workspace.ts";
import {
  changeExitCode,
  changeLetters,
  confirmCount,
  emptyCounts,
  findLetters,
  type SelectedLetters,
} from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { editByHand } from "../editor.ts";
import { EXIT, userError } from "../exit-code.ts";
import { withProgress } from "../interactive-run.ts";
import { readJsonFile, readRecipe } from "../json-input.ts";
import { refreshDirectories } from "../maintenance.ts";
import {
  count,
  dryRun,
  list,
  note,
  ofJob,
  quiet,
  repeated,
  requireText,
  unknownValue,
  word,
  yes,
} from "../options.ts";
import { changeLines, editPreviewText, editResultText } from "../render/operation.ts";
import { counted, fit, lettersText, listed, type Screen, some } from "../render/text.ts";
import { selectionOptions } from "../selection.ts";

const edit = command({
  summary: "Edit the data of letters, in an editor or by a rule.",
  description:
    "The original data is kept, and `redrive ops undo` restores it. Without --set or --patch one letter opens in $VISUAL or $EDITOR.",
  examples: [
    "redrive dlq edit order-7",
    'redrive dlq edit --job nightly --type ValidationFailed --set \'url=item.url.replace("http:", "https:")\'',
    "redrive dlq edit --group 160a1b20 --patch '{\"retry\": true}' --dry-run",
  ],
  arguments: { items: argument("[items...]", "item ids or unique prefixes (default: all selected letters)") },
  options: {
    ...selectionOptions,
    dryRun,
    yes,
    set: repeated("--set <path=cel>", "set a field, e.g. 'size=item.size * 2'"),
    patch: word("--patch <json>", "apply a JSON merge patch (RFC 7396), or @FILE"),
    schema: word("--schema <file>", "refuse data that does not match this JSON Schema"),
    note,
    show: count("--show <n>", "how many changes the preview shows (default: 5)", 0),
  },
  run: async (context, { show, note: noted, set, patch, schema, ...flags }) => {
    const { cwd } = context.terminal;
    const schemas = schema === undefined ? [] : [readJsonFile(schema, { option: "--schema", cwd })];
    const given = { ...readRecipe(compact({ set, patch }), cwd), schemas };
    await compileRecipe(given); // reports mistakes before the store is opened
    const letters = await context.withStore((engine) => findLetters(engine, "edit", flags));
    const recipe = letters && (await recipeFor(context, letters, given));
    if (letters === null || recipe === null) {
      const selected = letters ? 1 : 0;
      const counts = { selected, changed: 0, unchanged: selected };
      const text = letters ? "Nothing was changed.\n" : "No letters.\n";
      return context.answer(emptyCounts("edit", letters?.job.id ?? null, counts), () => text);
    }
    const { job, selection } = letters;
    const showMax = show ?? SHOWN_DEFAULT;
    const preview = () => context.withStore((engine) => previewEdit(engine, { selection, recipe, showMax }));
    if (flags.dryRun) {
      const { shown, ...counts } = await preview();
      const changes = shown.map((one) => ({ item_id: one.itemId, changes: one.changes }));
      const text = () => `${editPreviewText({ shown, ...counts }, context)}\n`;
      return context.answer(emptyCounts("edit", job.id, { dry_run: true, ...counts, changes }), text);
    }
    if (!flags.yes || show !== undefined) {
      const shown = await preview();
      const { columns, paintNotes: paint } = context;
      if (shown.selected > 0) context.note(editPreviewText(shown, { paint, columns }));
      if (!flags.yes && shown.changed > 1)
        await context.confirm(`Change ${lettersText(shown.changed)} of ${job.id}?`);
    }
    const request = { queue: job.id, selection, recipe, author: context.author, ...compact({ note: noted }) };
    const changed = await changeLetters(context, (engine, signal) =>
      editLetters(engine, { ...request, signal }),
    );
    const { result } = changed;
    return context.answer(editToJson(result), () => editResultText(result), changeExitCode(changed));
  },
});

const SHOWN_DEFAULT = 5;

/** Adds the schema of the queue. Without --set and --patch, opens an editor; null if the user changed nothing. */
async function recipeFor(context: Context, letters: SelectedLetters, given: Recipe): Promise<Recipe | null> {
  const recipe = { ...given, schemas: [...schemasOf(letters.job.spec), ...(given.schemas ?? [])] };
  return given.set || given.patch !== undefined ? recipe : editByHand(context, letters, recipe);
}

const fix = command({
  summary: "Apply the fixes in redrive.yml to matching letters, and retry those letters.",
  examples: ["redrive dlq fix nightly --dry-run", "redrive dlq fix nightly --rule https-links --yes"],
  arguments: { name: argument("[job]", "id or name (default: the only job with letters)") },
  options: {
    ...selectionOptions,
    dryRun,
    yes,
    names: list("--rule <names>", "only these fixes"),
    quiet,
  },
  run: async (context, { names, ...flags }) => {
    const rules = rulesNamed((await context.config()).fixes, names);
    const letters = await context.withStore((engine) => findLetters(engine, "edit", flags));
    if (letters === null)
      return context.answer({ ...fixesToJson("", []), job_id: null }, () => "No letters.\n");
    const { job, selection: within } = letters;
    requireHandler(job);
    const plan = { queue: job.id, rules, within };
    if (flags.dryRun) return previewFixes(context, plan);
    const question = (count: string) => `Change and retry ${count} of ${job.id}?`;
    await confirmCount(context, flags.yes, (engine) => countFixable(engine, plan), question);
    const { result, interrupt, finish } = await withProgress(context, flags, (deps, watch) =>
      fixLetters(deps, { ...watch, job, rules, within, author: context.author }),
    );
    const counts = fixesToJson(job.id, result);
    const document = { ...counts, ...(job.kind === "workflow" && { merge: finishToJson(finish) }) };
    const isLeft = [counts.failed, counts.refused, counts.remaining].some((left) => left !== 0);
    const code = finish.isRefused ? EXIT.refused : isLeft ? EXIT.lettersLeft : EXIT.done;
    const text = () => result.map(outcomeText).join("") || noFixText(job.id);
    return context.answer(document, text, interrupt.exitCode ?? code);
  },
});

function rulesNamed(rules: readonly FixRule[], names: readonly string[] | undefined): readonly FixRule[] {
  if (rules.length === 0) {
    const hint = "Define some under `fixes:`, each with a name, a match and a change.";
    throw userError("usage", "redrive.yml defines no fixes.", hint);
  }
  const known = rules.map(({ name }) => name);
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownValue("--rule", unknown, known, { noun: "rule" });
  return rules.filter(({ name }) => names?.includes(name) ?? true);
}

/** Prints each match immediately, or with `--json` all matches at the end. */
async function previewFixes(context: Context, plan: Parameters<typeof planFixes>[1]): Promise<number> {
  const counts = { selected: 0, changed: 0, refused: 0 };
  const matches: object[] = [];
  await context.withStore(async (engine) => {
    for await (const match of planFixes(engine, plan)) {
      counts.selected += 1;
      counts[match.answer.ok ? "changed" : "refused"] += 1;
      if (context.isJson) matches.push(matchToJson(match));
      else context.terminal.stdout.write(matchText(match, context));
    }
  });
  const { selected, changed, refused } = counts;
  const none = { redriven: 0, succeeded: 0, failed: 0, remaining: 0 };
  const document = { operation_id: null, job_id: plan.queue, dry_run: true, ...counts, ...none, matches };
  return context.answer(document, () => {
    if (selected === 0) return noFixText(plan.queue);
    const not = refused > 0 ? `; ${refused} would be refused` : "";
    return `Would change ${lettersText(changed)} of ${plan.queue} and retry them${not}.\n`;
  });
}

function noFixText(jobId: string): string {
  return `No fix matches a letter of ${jobId}.\n`;
}

function matchText({ rule, letter, answer }: FixMatch, { paint, columns }: Screen): string {
  const title = `${paint.bold(fit(letter.itemId, columns))}  ${paint.dim(rule.name)}\n`;
  if (!answer.ok) return `${title}  ${paint.red(fit(`refused: ${answer.reason}`, columns - 2))}\n`;
  const lines = changeLines(diffJson(letter.itemData, answer.data), { paint, columns: columns - 2 });
  const shown = lines.length > 0 ? lines : [paint.dim("data unchanged, will be retried")];
  return `${title}${shown.map((line) => `  ${line}\n`).join("")}`;
}

function matchToJson({ rule, letter, answer }: FixMatch): object {
  const base = { item_id: letter.itemId, rule: rule.name };
  if (!answer.ok) return { ...base, refused: answer.reason };
  return { ...base, changes: diffJson(letter.itemData, answer.data) };
}

function outcomeText({ rule, edit, redrive, refusals }: FixOutcome): string {
  const parts = listed([
    `changed ${lettersText(edit.done)}`,
    redrive && `${redrive.succeeded} succeeded, ${redrive.failed} failed again`,
    some(edit.refused, "refused"),
  ]);
  const why = refusals.map(({ reason, count }) => `  ${count}  ${reason}\n`).join("");
  const undo = redrive && redrive.failed > 0 ? ` To undo its changes: redrive ops undo ${edit.id}` : "";
  return `${rule}: ${parts}.${undo}\n${why}`;
}

const addNote = command({
  summary: "Add a note to a letter, with your name and the time.",
  examples: ["redrive dlq note order-7 'the customer was called'"],
  arguments: {
    item: argument("<item>", "an item id or a unique prefix"),
    text: argument("<text>", "the note"),
  },
  options: { job: ofJob("the item's job") },
  run: async (context, { item, text: given, job }) => {
    const text = requireText("The note", given);
    const { author } = context;
    const letter = await context.withStore(async (engine) => {
      const { ref, itemId } = await requireLetter(engine, item, job);
      const noted = (await engine.addNote(ref, { author, text })) ? await engine.readLetter(ref) : null;
      if (noted === null) {
        const message = `The letter of ${itemId} was deleted before the note was added.`;
        throw userError("item_not_found", message, "List the letters: redrive dlq list");
      }
      await refreshDirectories(context, engine, { jobIds: [noted.jobId], itemIds: [noted.itemId], count: 1 });
      return noted;
    });
    const notes = counted(letter.notes?.length ?? 0, "note");
    const answer = `Added a note by ${author} to ${letter.itemId}; it now has ${notes}.\n`;
    return context.answer(letterToJson(letter), () => answer);
  },
});

export const commands = { edit, fix, note: addNote };
