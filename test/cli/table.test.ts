/** Tables that fit the terminal. */
import { expect, test } from "vitest";
import { type Column, table } from "../../src/cli/render/layout.ts";
import { width } from "../../src/cli/render/text.ts";

type Row = { readonly id: string; readonly job: string; readonly count: number; readonly message: string };

const ROWS: readonly Row[] = [
  { id: "order-1", job: "orders-7h2k9m4x", count: 2, message: "cannot open the connection to the database" },
  { id: "a-much-longer-identifier", job: "orders-7h2k9m4x", count: 12, message: "no" },
];

const COLUMNS: readonly Column<Row>[] = [
  { title: "ITEM", value: (row) => row.id, cutTo: 8 },
  { title: "JOB", value: (row) => row.job, giveUp: 1, cutTo: 6 },
  { title: "N", value: (row) => String(row.count), align: "right", giveUp: 2 },
  { title: "MESSAGE", value: (row) => row.message },
];

const widest = (text: string) => Math.max(...text.split("\n").map(width));

test("has its natural width where there is room", () => {
  expect(table(ROWS, COLUMNS, 200)).toBe(
    [
      "ITEM                      JOB               N  MESSAGE",
      "order-1                   orders-7h2k9m4x   2  cannot open the connection to the database",
      "a-much-longer-identifier  orders-7h2k9m4x  12  no",
      "",
    ].join("\n"),
  );
});

test.each([140, 100, 80, 60, 46, 40, 30])("is never wider than %i columns", (columns) => {
  expect(widest(table(ROWS, COLUMNS, columns))).toBeLessThanOrEqual(columns);
});

test("first cuts what can be cut, with an ellipsis", () => {
  const text = table(ROWS, COLUMNS, 60);
  expect(text).toContain("a-much-lo");
  expect(text).toContain("…");
  expect(text).toContain("JOB");
});

test("then drops optional columns, the least important first", () => {
  const narrow = table(ROWS, COLUMNS, 40);
  expect(narrow).not.toMatch(/ N /);
  expect(narrow).toContain("JOB");
  expect(table(ROWS, COLUMNS, 32)).not.toContain("JOB");
});

test("keeps a column that must not be cut, even if the table becomes too wide", () => {
  const stiff: Column<Row>[] = [{ title: "ITEM", value: (row) => row.id }, ...COLUMNS.slice(3)];
  expect(table(ROWS, stiff, 20)).toContain("a-much-longer-identifier");
});
