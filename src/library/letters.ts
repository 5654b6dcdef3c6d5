/**
 * A selection of dead letters and the actions on them. Nothing is read until it is iterated or a method is
 * called.
 */
import * as z from "zod";
import { exportLetters } from "../dead-letter/import-export/export.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../dead-letter/import-export/reading.ts";
import type { StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { requireJob } from "../queue/find-job.ts";
import { type EditLetter, editByFunction, editLetters, schemasFor } from "../redrive/amend.ts";
import { analyseSelected } from "../redrive/analyse-selected.ts";
import { discardLetters, restoreLetters } from "../redrive/discard.ts";
import { previewRedrive, type RedrivePreview, survey } from "../redrive/preview.ts";
import { purgeLetters } from "../redrive/purge.ts";
import { type Amended, compileRecipe } from "../redrive/recipe.ts";
import {
  countSelected,
  type SelectedPage,
  type Selection,
  selectPage,
  selectPages,
} from "../redrive/select.ts";
import type { JobHandler } from "../run/run-job.ts";
import * as t from "../std/check-input.ts";
import { ElementsOfPages } from "../std/elements-of-pages.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import type { Analysis } from "../triage/analyse.ts";
import { titleLine } from "../triage/title.ts";
import { jsonProblem, toJsonData } from "./checked/json-data.ts";
import type { Context } from "./context.ts";
import { type Letter, type LetterGroup, letterOf } from "./letter.ts";
import { type LetterFilter, letterFilter, type ReadFilter, selectionOf } from "./letter-filter.ts";
import { type Operation, operationOf } from "./operations.ts";
import { type RetryOptions, readRetryOptions, retrySelected } from "./retry-letters.ts";
import { type StandardSchemaV1, validate } from "./standard-schema.ts";
import { type Shape, signal } from "./values.ts";

/** A page of letters. */
export interface LetterPage<Data> {
  readonly letters: readonly Letter<Data>[];
  readonly total: number;
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** Computes the new data of a letter; null leaves the letter unchanged. */
export type EditFunction<Data> = (letter: Letter<Data>) => Data | null | Promise<Data | null>;

/** A change of data: a JSON merge patch, then CEL expressions by path, for example `{ set: { total: "item.total * 2" } }`. */
export interface EditRecipe {
  readonly patch?: JsonObject;
  readonly set?: Readonly<Record<string, string>>;
}

/** The options for changing letters. */
export interface ChangeOptions {
  /** The reason for the change, stored with the operation. */
  readonly reason?: string;
  /** Stops the change early. `operations.resume` continues it, unless it is an edit by a function. */
  readonly signal?: AbortSignal;
}

/** The queue or job whose letters are selected. */
export interface LetterScope {
  readonly queue?: string | undefined;
  /** Creates the queue if it does not exist. */
  readonly ready?: () => Promise<void>;
  readonly schema?: StandardSchemaV1 | undefined;
  /** Returns the handler that retries the letters of a map: the function of the map. */
  readonly work?: () => JobHandler;
}

/** A selection of dead letters. */
export class Letters<Data> implements AsyncIterable<Letter<Data>> {
  readonly #context: Context;
  readonly #scope: LetterScope;
  readonly #filter: ReadFilter;

  /** @internal */
  constructor(context: Context, scope: LetterScope, filter: LetterFilter) {
    this.#context = context;
    this.#scope = scope;
    this.#filter = t.parseInput(letterFilter, filter, { caller: "letters", name: "filter" });
  }

  [Symbol.asyncIterator](): AsyncIterator<Letter<Data>> {
    return new ElementsOfPages(this.#pages(), ({ letters }) =>
      letters.map((letter) => letterOf<Data>(letter)),
    );
  }

  async count(): Promise<number> {
    return countSelected(this.#context.engine, await this.#selection());
  }

  /** The first letter in the order of the selection, or null. */
  async first(): Promise<Letter<Data> | null> {
    const { letters } = await this.#page({ limit: 1 }, false);
    return letters[0] ?? null;
  }

  /** One page with the exact total. */
  async page(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<LetterPage<Data>> {
    const given = t.parseInput(pageOptions, options, { caller: "letters.page", name: "options" });
    return this.#page({ limit: given.limit ?? PAGE_MAX, ...compact({ cursor: given.cursor }) }, true);
  }

  /** The groups of the selected letters, largest first. */
  async groups(): Promise<readonly (LetterGroup & { readonly count: number })[]> {
    const { groups } = await survey(this.#context.engine, await this.#selection());
    return groups.map((group) => ({ ...group, title: titleLine(group.pattern) }));
  }

  /** Analyses why the letters died: groups, error types and times. */
  async analyze(): Promise<Analysis> {
    return analyseSelected(this.#context.engine, await this.#selection());
  }

  /** A dry run of `retry`: how many letters it would retry, and why it would refuse the others. */
  async preview(options: { readonly force?: boolean } = {}): Promise<RedrivePreview> {
    const { force = false } = t.parseInput(previewOptions, options, {
      caller: "letters.preview",
      name: "options",
    });
    return previewRedrive(this.#context.engine, await this.#selection(), { force });
  }

  /** Retries the letters. A letter leaves the dead letter queue only when its new attempt has succeeded. */
  async retry(options: RetryOptions = {}): Promise<Operation> {
    const given = readRetryOptions(options);
    const { queue, selection } = await this.#bulk("retry");
    const job = await requireJob(this.#context.engine, queue);
    const work = this.#scope.work?.();
    return retrySelected(this.#context, { job, selection, options: given, work });
  }

  /** Changes the data of the letters. Each change is a new revision, and the old data is kept. */
  async edit(
    change: EditRecipe | EditFunction<Data>,
    options: ChangeOptions & { readonly note?: string } = {},
  ): Promise<Operation> {
    if (typeof change !== "function")
      t.checkInput(editRecipe, change, { caller: "letters.edit", name: "change" });
    const bulk = this.#change(editOptions, options, "edit");
    const request = { ...bulk, ...(await this.#bulk("edit")) };
    const { engine } = this.#context;
    const { schema } = this.#scope;
    if (typeof change === "function")
      return operationOf(await editByFunction(engine, request, checkedBy(byFunction(change), schema)));
    const recipe = recipeOf(change, await schemasFor(engine, request.queue));
    if (schema === undefined || recipe.schemas.length > 0)
      return operationOf(await editLetters(engine, { ...request, recipe }));
    const edit = checkedBy(await compileRecipe(recipe), schema); // the store cannot check this schema
    return operationOf(await editByFunction(engine, request, edit));
  }

  /** Discards the letters with a reason. They can be restored. */
  async discard(options: ChangeOptions & { readonly reason: string }): Promise<Operation> {
    const { reason = "", ...bulk } = this.#change(discardOptions, options, "discard");
    const scope = await this.#bulk("discard");
    return operationOf(await discardLetters(this.#context.engine, { ...bulk, ...scope, reason }));
  }

  /** Makes discarded letters dead again. */
  async restore(options: ChangeOptions = {}): Promise<Operation> {
    const bulk = this.#change(changeOptions, options, "restore");
    return operationOf(
      await restoreLetters(this.#context.engine, { ...bulk, ...(await this.#bulk("restore")) }),
    );
  }

  /** Archives the letters in the home folder, then deletes them. */
  async purge(options: ChangeOptions & { readonly archive?: boolean } = {}): Promise<Operation> {
    const bulk = this.#change(purgeOptions, options, "purge");
    const { engine, home } = this.#context;
    const scope = await this.#bulk("purge");
    return operationOf(await purgeLetters(engine, { ...bulk, ...scope, kind: "purge", home }));
  }

  /** Writes the letters to a file and returns their number. Default format: by the file name. */
  async export(path: string, options: { readonly format?: ExportFormat } = {}): Promise<number> {
    const given = t.parseInput(
      exportOptions,
      { path, ...options },
      { caller: "letters.export", name: "options" },
    );
    return (await exportLetters(this.#stored(), compact(given) as { path: string })).letters;
  }

  /** Adds a note to each letter. Returns the number of letters. */
  async note(text: string): Promise<number> {
    t.checkInput(t.name, text, { caller: "letters.note", name: "text" });
    await this.#bulk("note");
    const { engine, author } = this.#context;
    let noted = 0;
    for await (const { ref } of this.#stored()) if (await engine.addNote(ref, { author, text })) noted += 1;
    return noted;
  }

  #stored(): AsyncIterableIterator<StoredLetter> {
    return new ElementsOfPages(this.#pages(), ({ letters }) => letters);
  }

  async *#pages(): AsyncGenerator<SelectedPage> {
    const { order } = this.#filter;
    yield* selectPages(this.#context.engine, await this.#selection(), order === undefined ? {} : { order });
  }

  async #page(page: { readonly limit: number; readonly cursor?: string }, counted: boolean) {
    const { order } = this.#filter;
    const selection = await this.#selection();
    const request = { ...page, counted, ...compact({ order }) };
    const { letters, total, next } = await selectPage(this.#context.engine, selection, request);
    return { letters: letters.map((letter) => letterOf<Data>(letter)), total, next };
  }

  async #selection(): Promise<Selection> {
    await this.#scope.ready?.();
    return selectionOf(this.#context.engine, this.#scope.queue, this.#filter);
  }

  /** A change requires a queue or a job, so that no call changes the letters of a whole store by mistake. */
  async #bulk(verb: string): Promise<{ readonly queue: string; readonly selection: Selection }> {
    const { queue } = this.#scope;
    if (queue === undefined)
      throw new RedriveError(
        "usage",
        `letters.${verb}: give the queue or the job whose letters are to be changed.`,
        {
          field: "queue",
          hint: `For example redrive.letters({ queue: "invoices" }).${verb}(…) or queue.letters().${verb}(…).`,
        },
      );
    return { queue, selection: await this.#selection() };
  }

  #change(schema: z.ZodType, options: unknown, verb: string) {
    const name = { caller: `letters.${verb}`, name: "options" };
    const { signal: stop, ...given } = compact(t.parseInput(schema, options, name) as object) as ReadChange;
    return { ...given, author: this.#context.author, signal: stop };
  }
}

interface ReadChange extends ChangeOptions {
  readonly note?: string;
  readonly archive?: boolean;
}

function recipeOf({ patch, set = {} }: EditRecipe, schemas: readonly Json[]) {
  const settings = Object.entries(set).map(([path, value]) => ({ path, value }));
  return { set: settings, schemas, ...(patch !== undefined && { patch }) };
}

/** Adapts a function of the caller. Data that JSON cannot represent is refused. */
function byFunction<Data>(edit: EditFunction<Data>): EditLetter {
  return async (letter): Promise<Amended> => {
    const data: unknown = await edit(letterOf<Data>(letter));
    if (data === null) return { ok: true, data: letter.itemData };
    const problem = jsonProblem(data);
    if (problem !== undefined)
      return { ok: false, reason: `its new data cannot be stored as JSON: ${problem}` };
    return { ok: true, data: toJsonData(data) };
  };
}

function checkedBy(edit: EditLetter, schema: StandardSchemaV1 | undefined): EditLetter {
  if (schema === undefined) return edit;
  return async (letter) => {
    const amended = await edit(letter);
    const checked = amended.ok ? await validate(schema, amended.data) : undefined;
    if (checked === undefined || checked.ok) return amended;
    return { ok: false, reason: `does not match the schema: ${checked.problem}` };
  };
}

const PAGE_MAX = 50;
const pageOptions = z.strictObject({ limit: t.wholeNumber(1, 10_000).optional(), cursor: t.text.optional() });
const previewOptions = z.strictObject({ force: t.flag.optional() });
const exportOptions = z.strictObject({ path: t.name, format: t.oneOf(EXPORT_FORMATS).optional() });

const CHANGE = { reason: t.text.optional(), signal: signal.optional() } satisfies Shape<ChangeOptions>;
const changeOptions = z.strictObject(CHANGE);
const editOptions = z.strictObject({ ...CHANGE, note: t.text.optional() });
const purgeOptions = z.strictObject({ ...CHANGE, archive: t.flag.optional() });
const discardOptions = z.strictObject({ ...CHANGE, reason: t.name });

const editRecipe = z.strictObject({
  patch: t.anyThat(isJsonObject, "an object, as a JSON merge patch").optional(),
  set: z.record(z.string(), t.name, { error: "expected an object of paths and CEL expressions" }).optional(),
} satisfies Shape<EditRecipe>);
