import { describe, expect, test } from "vitest";
import { compileCommand } from "../../src/attempt/template.ts";
import { RedriveError } from "../../src/errors.ts";
import { asText, type Json } from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";

const ITEM: Json = {
  name: "a b",
  n: 3,
  list: ["x", { y: true }],
  nothing: null,
  "odd key": "o",
  "dash-ed": "d",
};
const VARS = { item: ITEM, item_id: "id-1", index: 6 };

/** Fills a single argument. */
function fillOne(text: string, vars: { item: Json; item_id: string; index: number } = VARS) {
  const filled = compileCommand([text])(vars);
  return filled.ok ? { ok: true, value: filled.value[0] } : filled;
}

test.each([
  ["plain", "plain"],
  ["${item_id}", "id-1"],
  ["${item.name}", "a b"],
  ["${item.n}/${item.list[0]}", "3/x"],
  ["${item.list}", '["x",{"y":true}]'],
  ["${item.list[1].y}", "true"],
  ["${item.nothing}", "null"],
  ['${item["odd key"]}${item.dash-ed}', "od"],
  ["${item.x:-none}", "none"],
  ["${item.x:-}", ""],
  ["${item.x.y[3]:-a:-b}", "a:-b"],
  ["${item.name:-none}", "a b"],
  ["${item.nothing:-none}", "none"],
  ["$${item.name} $HOME $$ ${item.n}", "${item.name} $HOME $$ 3"],
])("%s becomes %s", (text, value) => {
  expect(fillOne(text)).toEqual({ ok: true, value });
});

test.each([
  "${item.x}",
  "${item.name.y}",
  "${item.name[0]}",
  "${item.list[2]}",
  "${item.list.length}",
  "${item.__proto__}",
])("%s fails the item that has no such field, and says which", (text) => {
  const filled = fillOne(`--x=${text}`);
  expect(filled).toMatchObject({ ok: false, message: expect.stringContaining(text) });
  expect(filled).toMatchObject({ message: expect.stringContaining("id-1") });
});

describe("an argument that cannot be intended is refused before anything runs", () => {
  test("an unknown variable is named, with the known ones", () => {
    const error = thrownBy(() => compileCommand(["echo", "${itme.name}"]));
    expect(error).toBeInstanceOf(RedriveError);
    expect(error).toMatchObject({ code: "usage", message: expect.stringContaining('"itme"') });
    expect(error).toMatchObject({ hint: expect.stringContaining("${item}, ${item_id}") });
  });

  test.each(["${", "${}", "${item", "${item.}", "${item[x]}", "${item name}", "${toString}", "${HOME}"])(
    "%s",
    (text) => {
      expect(thrownBy(() => compileCommand([text]))).toMatchObject({ code: "usage" });
    },
  );
});

test("{} in a command is the item", () => {
  const fill = compileCommand(["cp", "{}", "--to={}/${item_id}", "$${}"]);
  expect(fill({ item: "$(rm) 'x'", item_id: "1", index: 0 })).toEqual({
    ok: true,
    value: ["cp", "$(rm) 'x'", "--to=$(rm) 'x'/1", "${}"],
  });
});

test.each([
  ["{.}", "docs/a.tar"],
  ["{/}", "a.tar.gz"],
  ["{//}", "docs"],
  ["{/.}", "a.tar"],
  ["{#}", "7"],
  ["${index}", "6"],
  ["out/{/.}-{#}.txt", "out/a.tar-7.txt"],
])("in a command %s is as in GNU parallel", (argument, value) => {
  const fill = compileCommand([argument]);
  expect(fill({ item: "docs/a.tar.gz", item_id: "1", index: 6 })).toEqual({ ok: true, value: [value] });
});

test.each([
  [".profile", ".profile .profile . .profile"],
  ["a.b/c", "a.b/c c a.b c"],
  ["/x.y", "/x x.y / x"],
])("paths without an extension or a folder: %s", (item, value) => {
  const filled = compileCommand(["{.} {/} {//} {/.}"])({ item, item_id: "1", index: 0 });
  expect(filled).toEqual({ ok: true, value: [value] });
});

test("one argument without a value fails the whole command", () => {
  expect(compileCommand(["echo", "{}", "${item.gone}"])(VARS)).toMatchObject({ ok: false });
});

test("item data is inserted unchanged and never read as a template again", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const item = value as Json;
      const filled = compileCommand(["<${item}>", "--", "{}"])({ item, item_id: "1", index: 0 });
      expect(filled).toEqual({ ok: true, value: [`<${asText(item)}>`, "--", asText(item)] });
    }),
  );
  expect(fillOne("${item}", { item: "${item_id}", item_id: "1", index: 0 })).toEqual({
    ok: true,
    value: "${item_id}",
  });
});

test.each([
  [["rm", "{}"], false],
  [["rm", "-f", "${item}"], false],
  [["cmd", "--file", "{}"], false],
  [["cmd", "{}", "--", "{}"], false],
  [["cmd", "--file={}"], true],
  [["rm", "./{}"], true],
  [["rm", "--", "{}"], true],
  [["sh", "-c", 'rm -- "$1"', "sh", "{}"], true],
  [["env", "A=1", "bash", "-ec", "x", "-", "{}"], true],
  [["sh", "-c", "{}"], false],
  [["cmd", "{#}"], true],
])("invariant 11: an item that begins with - is no option: %j is filled: %s", (command, isFilled) => {
  const vars = { item: "-rf", item_id: "-rf", index: 0 };
  const filled = compileCommand(command)(vars);
  expect(filled.ok).toBe(isFilled);
  if (!filled.ok) expect(filled.message).toMatch(/Put -- before .*--allow-options/);
  expect(compileCommand(command, { allowOptions: true })(vars).ok).toBe(true);
  expect(compileCommand(command)({ ...vars, item: "rf" }).ok).toBe(true);
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
