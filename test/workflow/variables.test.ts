/** Values in the texts of a workflow: what can be named, and what is shown of a script. */
import { expect, test } from "vitest";
import { fillScript } from "../../src/workflow/shell-values.ts";
import { expand, expandKnown, quoteForShell } from "../../src/workflow/variables.ts";

const VARIABLES = {
  item: { name: "a b", n: 3, list: ["x", { y: true }], cmd: "echo hi" },
  item_id: "id-1",
  index: 4,
  map: { total: 10, successful: 8, failed: 2, results: [{ ok: true }], results_file: "/tmp/r.json" },
  setup: { files: ["a", "b"] },
  env: { HOME: "/home/me" },
  out: "captured",
};

test.each([
  ["${item.name}/${item.list[1].y}", "a b/true"],
  ["${item_id} ${index}", "id-1 4"],
  ["${map.total}-${map.successful}-${map.failed} ${map.results_file}", "10-8-2 /tmp/r.json"],
  ["${map.results}", '[{"ok":true}]'],
  ["${setup.files[1]} ${env.HOME} ${out}", "b /home/me captured"],
  ["${gone:-default} ${item.x:-}|", "default |"],
  ["${raw:item.cmd}", "echo hi"],
  ["$${item.name} $HOME", "${item.name} $HOME"],
])("%s is %s where there is no shell", (template, value) => {
  expect(expand(template, VARIABLES)).toBe(value);
});

test.each([
  ["${itm.name}", 'there is no variable "itm". Did you mean ${item}?'],
  [
    "${HOME}",
    'there is no variable "HOME". For an environment variable write $HOME in a script, or ${env.HOME}.',
  ],
  ["${item.gone}", "item id-1 has no value at item.gone"],
  ["${map.gone}", "there is no value at map.gone"],
  ["${VAR%.*}", "is not a variable"],
  ["${toString}", 'there is no variable "toString"'],
])("%s is an error that says why, and never an empty text", (template, message) => {
  for (const fill of [expand, fillScript]) {
    expect(() => fill(`a ${template}`, VARIABLES)).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringContaining(message) }),
    );
  }
});

test("a script is shown with its values, quoted, and unchanged without values", () => {
  const script = "f ${item.name} \"${item.name}\" '${item.name}' ${gone} # ${item.name}";
  expect(expandKnown(script, VARIABLES, "shell")).toBe("f 'a b' \"a b\" 'a b' ${gone} # ${item.name}");
});

test("a quoted word is one word", () => {
  expect(quoteForShell("a'b")).toBe("'a'\\''b'");
});
