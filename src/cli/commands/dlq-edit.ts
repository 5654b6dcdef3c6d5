/** `redrive dlq edit|fix|note`: corrects the data of letters by hand or by a rule, and adds notes. */
import { RedriveError } from "../../errors.ts";
import type { Job } from "../../item/job.ts";
import { letterToJson } from "../../item/letter.ts";
import { requireLetter } from "../../queue/find-item.ts";
import { type EditPreview, editLetters, editToJson, previewEdit, schemasOf } from "../../redrive/amend.ts";
import { countFixable, type FixMatch, type FixRule, planFixes } from "../../redrive/fix.ts";
import { diffJson } from "../../redrive/json-diff.ts";
import { compileRecipe, parseSetting, type Recipe } from "../../redrive/recipe.ts";
import { type FixOutcome, fixesToJson, fixLetters } from "../../run/retry.ts";
import { requireHandler } from "../../run/run-job.ts";
import { nearest } from "../../std/nearest.ts";
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
import { EXIT } from "../exit-code.ts";
import { withProgress } from "../interactive-run.ts";
import { readJsonFile, readJsonOption } from "../json-input.ts";
import { refreshDirectories } from "../maintenance.ts";
import { count, dryRun, list, note, ofJob, quiet, repeated, requireText, word, yes } from "../options.ts";
import { changeLines, editPreviewText, editResultText } from "../render/operation.ts";
import { counted, fit, lettersText, listed, some } from "../render/text.ts";
import { selectionOptions } from "../selection.ts";

const edit = command({
  summary: "Correct the data of letters, in an editor or by a rule.",
  description:
    "The original data is kept, and `redrive ops undo` restores it. Without --set or --patch one letter opens in $VISUAL or $EDITOR.",
  examples: [
    "redrive dlq edit order-7",
    'redrive dlq edit --job nightly --type ValidationFailed --set \'url=item.url.replace("http:", "https:")\'',
    "redrive dlq edit --group 160a1b20 --patch '{\"retry\": true}' --dry-run",
  ],
  arguments: { items: argument("[items...]", "ids, or beginnings of them (default: all selected letters)") },
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
  run: async (context, { items, show, note: noted, set, patch, schema, ...flags }) => {
    const { cwd } = context.terminal;
    const given: Recipe = {
      ...(set && { set: set.map(parseSetting) }),
      ...(patch !== undefined && { patch: readJsonOption(patch, { option: "--patch", cwd }) }),
      ...(schema !== undefined && { schemas: [readJsonFile(schema, { option: "--schema", cwd })] }),
    };
    await compileRecipe(given); // reports mistakes before the store is opened
    const letters = await context.withStore((engine) => findLetters(engine, "edit", { items, flags }));
    const recipe = letters && (await recipeFor(context, letters, given));
    if (letters === null || recipe === null) return answerUnchanged(context, letters);
    const { job, selection } = letters;
    const preview = () =>
      context.withStore((engine) =>
        previewEdit(engine, { selection, recipe, showMax: show ?? SHOWN_DEFAULT }),
      );
    if (flags.dryRun) return answerPreview(context, job, await preview());
    if (!flags.yes || show !== undefined) {
      const shown = await preview();
      const { columns, paintNotes: paint } = context;
      if (shown.selected > 0) context.note(editPreviewText(shown, { paint, columns }));
      if (!flags.yes && shown.changed > 1)
        await context.confirm(`Change ${lettersText(shown.changed)} of ${job.id}?`);
    }
    const request = { queue: job.id, selection, recipe, author: context.author };
    const changed = await changeLetters(context, (engine, signal) =>
      editLetters(engine, { ...request, ...(noted !== undefined && { note: noted }), signal }),
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

function answerUnchanged(context: Context, letters: SelectedLetters | null): number {
  const selected = letters ? 1 : 0;
  const document = emptyCounts("edit", letters?.job.id ?? null, {
    selected,
    changed: 0,
    unchanged: selected,
  });
  return context.answer(document, () => (letters ? "Nothing was changed.\n" : "No letters.\n"));
}

function answerPreview(context: Context, { id }: Job, preview: EditPreview): number {
  const { shown, refusals, ...counts } = preview;
  const document = {
    dry_run: true,
    ...counts,
    refusals,
    changes: shown.map(({ itemId, changes }) => ({
      item_id: itemId,
      changes,
    })),
  };
  return context.answer(emptyCounts("edit", id, document), () => `${editPreviewText(preview, context)}\n`);
}

const fix = command({
  summary: "Apply the fixes in redrive.yml to matching letters, and retry those letters.",
  examples: ["redrive dlq fix nightly --dry-run", "redrive dlq fix nightly --rule https-links --yes"],
  arguments: { name: argument("[job]", "id or name (default: the only job with letters)") },
  options: {
    ...selectionOptions,
    dryRun,
    yes,
    names: list("--rule <names>", "apply only these fixes"),
    quiet,
  },
  run: async (context, { name, names, ...flags }) => {
    const rules = rulesNamed((await context.config()).fixes, names);
    const letters = await context.withStore((engine) => findLetters(engine, "edit", { job: name, flags }));
    if (letters === null)
      return context.answer({ ...fixesToJson("", []), job_id: null }, () => "No letters.\n");
    const { job, selection: within } = letters;
    requireHandler(job);
    const plan = { queue: job.id, rules, within };
    if (flags.dryRun) {
      const shown = new FixPreview(context, job.id);
      await context.withStore(async (engine) => {
        for await (const match of planFixes(engine, plan)) shown.add(match);
      });
      return shown.end();
    }
    await confirmCount(context, {
      flags,
      question: (letters) => `Change and retry ${letters} of ${job.id}?`,
      count: (engine) => countFixable(engine, plan),
    });
    const { result, interrupt, finish } = await withProgress(context, flags, (deps, watch) =>
      fixLetters(deps, { ...watch, job, rules, within, author: context.author }),
    );
    const document = fixesToJson(job.id, result);
    const merge = job.kind === "workflow" ? { merge: finishToJson(finish) } : {};
    const isLeft = [document.failed, document.refused, document.remaining].some((left) => left !== 0);
    const code = finish.isRefused ? EXIT.refused : isLeft ? EXIT.lettersLeft : EXIT.done;
    return context.answer(
      { ...document, ...merge },
      () => fixesText(job.id, result),
      interrupt.exitCode ?? code,
    );
  },
});

function rulesNamed(rules: readonly FixRule[], names: readonly string[] | undefined): readonly FixRule[] {
  if (rules.length === 0) {
    throw new RedriveError("usage", "redrive.yml has no fixes.", {
      hint: "Add some under `fixes:`, each with a name, a match and a change.",
    });
  }
  if (names === undefined) return rules;
  const known = rules.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return rules.filter(({ name }) => names.includes(name));
  const meant = nearest(unknown, known);
  const question = meant ? `; did you mean ${meant}?` : ".";
  const hint = `Valid fixes: ${known.join(", ")}.`;
  throw new RedriveError("usage", `--rule: unknown fix "${unknown}"${question}`, { hint });
}

const addNote = command({
  summary: "Add a note to a letter, with your name and the time.",
  examples: ["redrive dlq note order-7 'the customer was called'"],
  arguments: {
    item: argument("<item>", "id, or the beginning of one"),
    text: argument("<text>", "the note"),
  },
  options: { job: ofJob("the job of the item") },
  run: async (context, { item, text: given, job }) => {
    const text = requireText("The note", given);
    const { author } = context;
    const letter = await context.withStore(async (engine) => {
      const { ref, itemId } = await requireLetter(engine, item, job);
      const noted = (await engine.addNote(ref, { author, text })) ? await engine.readLetter(ref) : null;
      if (noted === null)
        throw new RedriveError("item_not_found", `The letter of ${itemId} was deleted meanwhile.`);
      await refreshDirectories(context, engine, { jobIds: [noted.jobId], itemIds: [noted.itemId], count: 1 });
      return noted;
    });
    const notes = counted(letter.notes?.length ?? 0, "note");
    return context.answer(
      letterToJson(letter),
      () => `Added a note to ${letter.itemId} by ${author}; it has ${notes}.\n`,
    );
  },
});

export const commands = { edit, fix, note: addNote };

/** Prints each match immediately, or with `--json` all matches at the end. */
export class FixPreview {
  readonly #context: Context;
  readonly #jobId: string;
  readonly #counts = { selected: 0, changed: 0, refused: 0 };
  readonly #matches: object[] = [];

  constructor(context: Context, jobId: string) {
    this.#context = context;
    this.#jobId = jobId;
  }

  add(match: FixMatch): void {
    this.#counts.selected += 1;
    this.#counts[match.answer.ok ? "changed" : "refused"] += 1;
    if (this.#context.isJson) this.#matches.push(matchToJson(match));
    else this.#context.terminal.stdout.write(this.#textOf(match));
  }

  /** Prints the counts and returns the exit code. */
  end(): number {
    const { selected, changed, refused } = this.#counts;
    const document = {
      operation_id: null,
      job_id: this.#jobId,
      dry_run: true,
      selected,
      changed,
      refused,
      redriven: 0,
      succeeded: 0,
      failed: 0,
      remaining: 0,
      matches: this.#matches,
    };
    return this.#context.answer(document, () => {
      if (selected === 0) return `No fix matches a letter of ${this.#jobId}.\n`;
      const not = refused > 0 ? `; ${refused} would be refused` : "";
      return `Would change ${lettersText(changed)} of ${this.#jobId} and retry them${not}.\n`;
    });
  }

  #textOf({ rule, letter, answer }: FixMatch): string {
    const { paint, columns } = this.#context;
    const title = `${paint.bold(fit(letter.itemId, columns))}  ${paint.dim(rule.name)}\n`;
    if (!answer.ok) return `${title}  ${paint.red(fit(`refused: ${answer.reason}`, columns - 2))}\n`;
    const lines = changeLines(diffJson(letter.itemData, answer.data), { paint, columns: columns - 2 });
    const shown = lines.length > 0 ? lines : [paint.dim("data unchanged, will be retried")];
    return `${title}${shown.map((line) => `  ${line}\n`).join("")}`;
  }
}

function matchToJson({ rule, letter, answer }: FixMatch): object {
  const base = { item_id: letter.itemId, rule: rule.name };
  if (!answer.ok) return { ...base, refused: answer.reason };
  return { ...base, changes: diffJson(letter.itemData, answer.data) };
}

/** Formats the result of each rule. */
export function fixesText(jobId: string, outcomes: readonly FixOutcome[]): string {
  if (outcomes.length === 0) return `No fix matches a letter of ${jobId}.\n`;
  return outcomes.map(outcomeText).join("");
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
