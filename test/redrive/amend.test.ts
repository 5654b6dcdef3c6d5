/** Edits: each letter is changed from its own data, as one operation, and taken back as one. */
import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import type { Operation } from "../../src/item/operation.ts";
import { continueEdit, editLetters, editToJson, previewEdit, schemasOf } from "../../src/redrive/amend.ts";
import { discardLetters } from "../../src/redrive/discard.ts";
import {
  compileRecipe,
  parseSetting,
  type Recipe,
  recipeFromJson,
  recipeToJson,
} from "../../src/redrive/recipe.ts";
import { undoOperation } from "../../src/redrive/undo.ts";
import { AUTHOR, dataOf, QUEUE, sampleLetter, storeWithLetters } from "./sample-letters.ts";

const ALL = { filter: { queue: QUEUE } };

function edit(
  engine: Engine,
  recipe: Recipe,
  more: { note?: string; where?: string } = {},
): Promise<Operation> {
  const { where, ...rest } = more;
  const selection = where === undefined ? ALL : { ...ALL, where };
  return editLetters(engine, { queue: QUEUE, selection, recipe, author: AUTHOR, ...rest });
}

const sets = (...texts: string[]): Recipe => ({ set: texts.map(parseSetting) });

async function undo(engine: Engine, operation: Operation): Promise<Operation> {
  const undone = await undoOperation(engine, operation, { author: "bob" });
  if (undone.by !== "operation") throw new Error("it was no operation");
  return undone.operation;
}

describe("the recipe of an edit", () => {
  it.each([
    ["a=1", "a", "1"],
    ['.=item + "!"', ".", 'item + "!"'],
    ["a.b[0] = item.x == 2", "a.b[0]", "item.x == 2"],
    ['["k=v"].x="y=z"', '["k=v"].x', '"y=z"'],
  ])("%s is a path and a value", (text, path, value) => {
    expect(parseSetting(text)).toEqual({ path, value });
  });

  it.each(["a", "=1", "a=", ""])('"%s" is refused', (text) => {
    expect(() => parseSetting(text)).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it.each<[string, Recipe, string]>([
    ["a path", sets("a..b=1"), "usage"],
    ["an expression", sets("a=item."), "filter_invalid"],
    ["an unknown variable", sets("a=itm.x"), "filter_invalid"],
    ["a schema", { schemas: [{ type: "strnig" }] }, "usage"],
  ])("%s that is wrong begins nothing", async (_, recipe, code) => {
    const { engine } = await storeWithLetters([{ n: 1 }]);
    await expect(edit(engine, recipe)).rejects.toMatchObject({ code });
    expect(await engine.listOperations({})).toEqual([]);
  });

  it("is stored in the operation's plan and read back", () => {
    const recipe: Recipe = {
      set: [{ path: "a", value: "1" }],
      patch: null,
      replace: { data: null, revision: 3 },
      schemas: [true],
    };
    expect(recipeFromJson(JSON.parse(JSON.stringify(recipeToJson(recipe))))).toEqual(recipe);
  });

  it("sees the data before the edit, whatever was set before", async () => {
    const amend = await compileRecipe({
      ...sets("a=item.b", "b=item.a", "c=letter.item_id + failure.step_failed"),
      patch: { p: 1 },
    });
    expect(amend(sampleLetter({ itemData: { a: 1, b: 2 } }))).toEqual({
      ok: true,
      data: { a: 2, b: 1, p: 1, c: "o1ship" },
    });
  });
});

describe("edit", () => {
  it("changes every letter from its own data, never from the first one's", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 2 }, { n: 3 }]);
    const operation = await edit(engine, sets("n=item.n * 10"), { note: "times ten" });
    expect(editToJson(operation)).toMatchObject({
      kind: "edit",
      status: "ended",
      selected: 3,
      changed: 3,
      unchanged: 0,
    });
    expect(await dataOf(engine)).toEqual({ o1: { n: 10 }, o2: { n: 20 }, o3: { n: 30 } });
    const [letter] = (await engine.listLetters({ itemIds: ["o2"], limit: 1 })).letters;
    expect(letter).toMatchObject({
      revision: 2,
      amendments: [{ revision: 2, author: AUTHOR, note: "times ten", before: { n: 2 } }],
    });
  });

  it("counts unchanged data, and refuses what cannot be computed or violates the schema, with the reason", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 5 }, { m: 1 }, { n: 100 }]);
    const recipe = { ...sets("n=item.n > 4 ? item.n : 5"), schemas: [{ properties: { n: { maximum: 9 } } }] };
    const preview = await previewEdit(engine, { selection: ALL, recipe, showMax: 1 });
    expect(preview).toMatchObject({ selected: 4, changed: 1, unchanged: 1, refused: 2 });
    expect(preview.shown).toEqual([{ itemId: "o1", changes: [{ path: "n", before: 1, after: 5 }] }]);
    expect(await dataOf(engine)).toMatchObject({ o1: { n: 1 } });
    const operation = await edit(engine, recipe);
    expect(editToJson(operation)).toMatchObject({
      selected: 4,
      changed: 1,
      unchanged: 1,
      refused: 2,
      remaining: 0,
    });
    const reasons = (await engine.listRefusals(operation.id)).map(({ reason }) => reason);
    expect(reasons).toEqual(preview.refusals.map(({ reason }) => reason).sort());
    expect(reasons.join()).toContain("n (100) is more than 9");
    expect(reasons.join()).toContain('there is no field "n"');
    expect(await dataOf(engine)).toEqual({ o1: { n: 5 }, o2: { n: 5 }, o3: { m: 1 }, o4: { n: 100 } });
  });

  it("selects by CEL, and only dead letters", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await discardLetters(engine, {
      queue: QUEUE,
      selection: { filter: { itemIds: ["o3"] } },
      author: AUTHOR,
      reason: "x",
    });
    const operation = await edit(engine, { patch: { done: true } }, { where: "item.n > 1.0" });
    expect(operation).toMatchObject({ selected: 1, done: 1, status: "ended" });
    expect(await dataOf(engine)).toEqual({ o1: { n: 1 }, o2: { n: 2, done: true }, o3: { n: 3 } });
  });

  it("never overwrites a concurrent change", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }]);
    const racing: Engine = Object.create(engine, {
      advance: {
        value: async (...args: Parameters<Engine["advance"]>) => {
          await edit(engine, { patch: { by: "somebody else" } });
          return engine.advance(...args);
        },
      },
    });
    const operation = await edit(racing, sets("n=item.n + 1"));
    expect(operation).toMatchObject({ done: 0, refused: 1 });
    expect(await dataOf(engine)).toEqual({ o1: { n: 1, by: "somebody else" } });
  });

  it("refuses data from an editor that was based on an older revision", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }]);
    await edit(engine, { patch: { n: 2 } });
    const operation = await edit(engine, { replace: { data: { n: 9 }, revision: 1 } });
    expect(operation.refused).toBe(1);
    expect(await edit(engine, { replace: { data: { n: 9 }, revision: 2 } })).toMatchObject({ done: 1 });
    expect(await dataOf(engine)).toEqual({ o1: { n: 9 } });
  });

  it("continues from its plan alone after a kill, and does nothing twice", async () => {
    const { engine } = await storeWithLetters(Array.from({ length: 450 }, (_, n) => ({ n })));
    let steps = 0;
    const dying: Engine = Object.create(engine, {
      advance: {
        value: (...args: Parameters<Engine["advance"]>) => {
          steps += 1;
          if (steps > 1) throw new Error("killed");
          return engine.advance(...args);
        },
      },
    });
    await expect(edit(dying, sets("n=item.n + 1"))).rejects.toThrow("killed");
    const [left] = await engine.listOperations({ open: true });
    expect(left).toMatchObject({ selected: 450, done: 200 });
    const ended = await continueEdit(engine, left as Operation);
    expect(editToJson(ended)).toMatchObject({ selected: 450, changed: 450, unchanged: 0, refused: 0 });
    const data = Object.values(await dataOf(engine));
    expect(data).toEqual(Array.from({ length: 450 }, (_, n) => ({ n: n + 1 })));
  });

  it("does nothing while it is paused", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }]);
    const begun = await engine.beginOperation({
      ...{ id: "op-1", kind: "edit", queue: QUEUE, author: AUTHOR, force: false },
      ...{ filter: { queue: QUEUE }, plan: recipeToJson({ patch: { n: 2 } }) },
    });
    await engine.changeOperation("op-1", { status: "paused" });
    expect(await continueEdit(engine, begun)).toMatchObject({ status: "paused", done: 0 });
    expect(await dataOf(engine)).toEqual({ o1: { n: 1 } });
    const open = await engine.changeOperation("op-1", { status: "open" });
    expect(await continueEdit(engine, open)).toMatchObject({ status: "ended", done: 1 });
  });

  it("uses the schema of the job's queue", () => {
    expect(schemasOf({ schema: { type: "object" } })).toEqual([{ type: "object" }]);
    expect(schemasOf({ schema: false })).toEqual([false]);
    expect(schemasOf({ command: ["x"] })).toEqual([]);
  });
});

describe("undo of an edit", () => {
  it("brings the previous data back as a new revision, and can itself be undone", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 2 }]);
    const first = await edit(engine, sets("n=item.n + 10"));
    const back = await undo(engine, first);
    expect(back).toMatchObject({ kind: "edit", undoes: first.id, author: "bob", selected: 2, done: 2 });
    expect(await dataOf(engine)).toEqual({ o1: { n: 1 }, o2: { n: 2 } });
    const [letter] = (await engine.listLetters({ itemIds: ["o1"], limit: 1 })).letters;
    expect(letter?.revision).toBe(3);
    await undo(engine, back);
    expect(await dataOf(engine)).toEqual({ o1: { n: 11 }, o2: { n: 12 } });
  });

  it("refuses letters whose data was changed since, with the reason, and skips unchanged ones", async () => {
    const { engine } = await storeWithLetters([{ n: 1 }, { n: 2 }, { n: 5 }]);
    const first = await edit(engine, sets("n=5"));
    await editLetters(engine, {
      ...{ queue: QUEUE, author: AUTHOR, recipe: { patch: { more: 1 } } },
      selection: { filter: { itemIds: ["o2"] } },
    });
    const back = await undo(engine, first);
    expect(editToJson(back)).toMatchObject({ selected: 3, changed: 1, unchanged: 1, refused: 1 });
    expect(await engine.listRefusals(back.id)).toEqual([
      { reason: "its data has changed since then (revision 3)", count: 1 },
    ]);
    expect(await dataOf(engine)).toEqual({ o1: { n: 1 }, o2: { n: 5, more: 1 }, o3: { n: 5 } });
  });
});
