/** Handlers of the routes that read and edit letters. */
import {
  type LetterView,
  letterToText,
  letterViewToJson,
  letterViewToText,
  readLetterView,
} from "../../dead-letter/letter-view.ts";
import type { Engine, StoredLetter } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { letterToJson } from "../../item/letter.ts";
import { editLetters, editToJson, schemasFor } from "../../redrive/amend.ts";
import { compileRecipe, type Recipe } from "../../redrive/recipe.ts";
import { countSelected, selectPage } from "../../redrive/select.ts";
import { compact, type Json, type JsonObject } from "../../std/json.ts";
import { diffJson } from "../../std/json-diff.ts";
import { type Handler, Reply, TextReply } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { letterRoutes } from "../contract/letters.ts";
import { type ItemAddress, requireExactLetter } from "../find.ts";
import { RequestError } from "../problem.ts";
import type { Redactor } from "../redact.ts";
import { selectionOf } from "../selection.ts";

type Routes = typeof letterRoutes;

export const letterHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /letters": async ({ engine, redactor }, { query }) => {
    const { sort: order, brief: isBrief, limit = PAGE_DEFAULT, cursor, ...words } = query;
    const { selection } = await selectionOf(engine, words);
    const parts = isBrief && redactor === null ? BRIEF_PARTS : undefined;
    const page = { limit, counted: false, ...compact({ order, cursor, parts }) };
    const { letters, next } = await selectPage(engine, selection, page);
    if (isBrief) return { items: letters.map((letter) => briefOf(letter, redactor)), next };
    return new TextReply({
      document: () => ({ items: letters.map(letterToJson), next }),
      text: () => `{"items":[${letters.map(letterToText).join()}],"next":${JSON.stringify(next)}}`,
    });
  },

  "GET /letters/count": async ({ engine }, { query }) => {
    const { selection } = await selectionOf(engine, query);
    return { total: await countSelected(engine, selection) };
  },

  "GET /letters/{queue}/{item_id}": async ({ engine }, { params }) => {
    const view = await requireLetterView(engine, params);
    const reply = { document: () => letterViewToJson(view), text: () => letterViewToText(view) };
    return new TextReply(reply, { etag: etagOf(view.letter) });
  },

  "PATCH /letters/{queue}/{item_id}": async (context, { params, query, body }) => {
    const { engine, author } = context;
    const letter = await requireExactLetter(engine, params);
    requireRevision(context.headers, letter);
    const { dry_run: isDry = false } = query;
    const schemas = await schemasFor(engine, letter.queue);
    const amended = (await compileRecipe({ ...recipeOf(body, letter), schemas }))(letter);
    if (!amended.ok) throw new RedriveError("usage", `The change was refused: ${amended.reason}.`);
    const changes = diffJson(letter.itemData, amended.data);
    const seen = { dry_run: isDry, changed: changes.length > 0, changes, data: amended.data };
    if (isDry || changes.length === 0) return { ...seen, operation: null, letter: letterToJson(letter) };
    if (letter.state !== "dead") {
      const is = `${letter.itemId} is ${letter.state}`;
      throw new RedriveError("illegal_move", `${is}; an edit needs a dead letter.`);
    }
    const operation = await editLetters(engine, {
      queue: letter.queue,
      selection: { filter: { itemIds: [letter.itemId] } },
      recipe: { replace: { data: amended.data, revision: letter.revision }, schemas },
      author,
      ...compact({ note: body.note }),
    });
    if (operation.done === 0) throw staleRevision();
    const edited = (await engine.readLetter(letter.ref)) ?? letter;
    const document = { ...seen, operation: editToJson(operation), letter: letterToJson(edited) };
    return new Reply(document, { etag: etagOf(edited) });
  },
};

const BRIEF_PARTS = ["record", "times", "last_failure"] as const;

/**
 * Removes the data after masking, because it is needed to mask its values in other fields, such as a failed
 * step's command.
 */
function briefOf(letter: StoredLetter, redactor: Redactor | null): JsonObject {
  const whole = letterToJson(letter);
  const shown = redactor === null ? whole : (redactor.document(whole) as JsonObject);
  const { item_data: _, notes: __, amendments: ___, late_results: ____, ...rest } = shown;
  const failures = Array.isArray(shown.failure_history) ? shown.failure_history : [];
  return { ...rest, failure_history: failures.slice(-1) };
}

async function requireLetterView(engine: Engine, address: ItemAddress): Promise<LetterView> {
  for (;;) {
    const view = await readLetterView(engine, { queue: address.queue, itemId: address.item_id });
    if (view !== null) return view;
    await requireExactLetter(engine, address); // returns only if it became a letter again in the meantime
  }
}

/** Identifies one state of a letter by its burial and its data revision. */
export function etagOf({ revision, letterSequence }: StoredLetter): string {
  return `"${letterSequence}.${revision}"`;
}

/** Throws unless `If-Match` matches the current state, so that no unseen change is overwritten. */
function requireRevision(headers: Headers, letter: StoredLetter): void {
  const given = headers.get("if-match");
  if (given === null)
    throw new RequestError("precondition_required", "The request needs If-Match with the letter's ETag.");
  const tags = given.split(",").map((tag) => tag.trim());
  if (!tags.includes("*") && !tags.includes(etagOf(letter))) throw staleRevision();
}

function staleRevision(): RequestError {
  return new RequestError("precondition_failed", "The letter has changed since you read it.", {
    hint: "Read the letter again, and repeat the change with its new ETag.",
  });
}

export interface EditWords {
  readonly data?: unknown;
  readonly patch?: unknown;
  readonly set?: readonly { readonly path: string; readonly value: string }[] | undefined;
}

/** Converts the requested change to a recipe. Exactly one kind must be given. */
export function recipeOf(body: EditWords, letter?: StoredLetter): Recipe {
  const given = (["data", "patch", "set"] as const).filter((key) => body[key] !== undefined);
  if (given.length !== 1)
    throw new RequestError("request_invalid", "Give exactly one of data, patch and set.", { field: "body" });
  if (body.data !== undefined && letter !== undefined)
    return { replace: { data: body.data as Json, revision: letter.revision } };
  return compact({ patch: body.patch as JsonObject | undefined, set: body.set });
}
