/** Simple expressions are read without the library for CEL, exactly as the library reads them. */
import { expect, it } from "vitest";
import { compiledWhere } from "../../src/redrive/matcher.ts";
import { simpleTree } from "../../src/redrive/simple-expression.ts";
import { fc } from "../support/properties.ts";

/** The operators and operands of a syntax tree, without what the library adds to its nodes. */
function shapeOf(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(shapeOf);
  if (typeof node !== "object" || node === null || !("op" in node) || !("args" in node)) return node;
  return { op: node.op, args: shapeOf(node.args) };
}

it.each([
  "item.number >= 0",
  'item.number % 7 == 3 && letter.queue == "a b"',
  "item.a.b.c<-1.50||item.d != true",
  "item.a == null && item.b == false && item.c == 'x'",
  "item.a == 1 && item.b == 2 || item.c == 3 && item.d == 4 || item.e == 5",
  'failure.error_message != "" || letter.failure_count > 2',
  'item.package == "é ☃" ',
  "\n item . a == 1",
  "item.a == 0 || item.a == 999999999999999",
  'letter.reason == "a && b || c"',
])("%s has the tree of the library", (where) => {
  const tree = simpleTree(where);
  if (tree !== null) expect(shapeOf(tree)).toEqual(shapeOf(compiledWhere(where).tree));
});

it("reads comparisons joined by && and ||", () => {
  for (const where of ["item.number >= 0", "item.n % 5 < 2", 'failure.error_message != "" && item.n == -1.5'])
    expect(simpleTree(where)).not.toBeNull();
});

it.each([
  "item.a == 1u",
  "item.a == 1e3",
  "item.a == 0x10",
  "item.a == 007",
  "item.a == 1.",
  "item.a == 1 == true",
  "item.a == 12345678901234567890",
  'item.a == "\\n"',
  "item.in == 1",
  "item.true == 1",
  "item.a < true",
  "item.a == -true",
  "item == 1",
  "letter.unknown == 1",
  "failure.error_message.size() == 1",
  "map.a == 1",
  "(item.a == 1)",
  "item.a == 1 &&",
  "item.a == 1 & item.b == 2",
  "item.a == 1 // one",
  "item.a % 0 == 1",
  "",
])("leaves %s to the library", (where) => {
  expect(simpleTree(where)).toBeNull();
});

it("accepts nothing that the library refuses, and reads nothing in another way", () => {
  const part = fc.constantFrom(
    ...[
      "item",
      "letter",
      "failure",
      ".a",
      ".queue",
      ".exit_code",
      ".in",
      ".null",
      " ",
      "%",
      "5",
      "0",
      "-",
      "1.5",
    ],
    ...[
      "==",
      "!=",
      "<",
      ">=",
      "&&",
      "||",
      "true",
      "null",
      '"x"',
      '""',
      "item.a == 1",
      "letter.queue",
      "(",
      ")",
      ".",
    ],
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const where = parts.join("");
      const tree = simpleTree(where);
      if (tree !== null) expect(shapeOf(tree)).toEqual(shapeOf(compiledWhere(where).tree));
    }),
    { numRuns: 2000 },
  );
});
