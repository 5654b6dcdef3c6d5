/** Handlers of the routes that read and edit letters. */
import { linksToJson, readHistory, readLinks } from "../../dead-letter/history.ts";
import type { StoredLetter } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { eventToJson } from "../../item/event.ts";
import { groupRecordToJson } from "../../item/group.ts";
import { letterToJson } from "../../item/letter.ts";
import { editLetters, editToJson, schemasFor } from "../../redrive/amend.ts";
import { diffJson } from "../../redrive/json-diff.ts";
import { compileRecipe, type Recipe } from "../../redrive/recipe.ts";
import { countSelected, selectPage } from "../../redrive/select.ts";
import { compact, type Json, type JsonObject } from "../../std/json.ts";
import { type Handler, Reply } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { letterRoutes } from "../contract/letters.ts";
import { requireExactLetter } from "../find.ts";
import { RequestError } from "../problem.ts";
import { selectionOf } from "../selection.ts";

type Routes = typeof letterRoutes;

export const letterHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /letters": async ({ engine }, { query }) => {
    const { sort: order, limit = PAGE_DEFAULT, cursor, ...words } = query;
    const { selection } = await selectionOf(engine, words);
    const page = { limit, counted: false, ...compact({ order, cursor }) };
    const { letters, next } = await selectPage(engine, selection, page);
    return { items: letters.map(letterToJson), next };
  },

  "GET /letters/count": async ({ engine }, { query }) => {
    const { selection } = await selectionOf(engine, query);
    return { total: await countSelected(engine, selection) };
  },

  "GET /letters/{queue}/{item_id}": async ({ engine }, { params }) => {
    const letter = await requireExactLetter(engine, params);
    const history = await readHistory(engine, letter);
    const document = {
      ...letterToJson(letter),
      ...linksToJson(await readLinks(engine, letter)),
      group_count: history.groupCount,
      group: history.group && groupRecordToJson(history.group),
      events: history.events.map(eventToJson),
    };
    return new Reply(document, { etag: etagOf(letter) });
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

/** Names one state of a letter: its burial and the revision of its data. */
export function etagOf({ revision, letterSequence }: StoredLetter): string {
  return `"${letterSequence}.${revision}"`;
}

/** Throws unless `If-Match` names the current state, so that nobody overwrites a change that they have not seen. */
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

/** The change that the request asks for, as a recipe. Exactly one kind must be given. */
export function recipeOf(body: EditWords, letter?: StoredLetter): Recipe {
  const given = (["data", "patch", "set"] as const).filter((key) => body[key] !== undefined);
  if (given.length !== 1)
    throw new RequestError("request_invalid", "Give exactly one of data, patch and set.", { field: "body" });
  if (body.data !== undefined && letter !== undefined)
    return { replace: { data: body.data as Json, revision: letter.revision } };
  return compact({ patch: body.patch as JsonObject | undefined, set: body.set });
}
