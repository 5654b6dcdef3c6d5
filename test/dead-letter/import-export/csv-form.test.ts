import { expect, test } from "vitest";
import {
  CSV_COLUMNS,
  CSV_HEADER,
  csvRow,
  letterFromRow,
} from "../../../src/dead-letter/import-export/csv.ts";
import { type Letter, letterFromJson, letterToJson } from "../../../src/item/letter.ts";

const letter: Letter = letterFromJson({
  item_id: "a",
  item_data: { n: 1 },
  first_attempt: "2025-01-11T10:25:00.000Z",
  last_attempt: "2025-01-11T10:30:00.000Z",
  failure_count: 1,
  failure_history: [
    {
      attempt_number: 1,
      timestamp: "2025-01-11T10:30:00.000Z",
      error_type: "Timeout",
      error_message: "too slow",
    },
  ],
  error_signature: "0123456789abcdef",
  error_pattern: "Timeout::too slow",
  job_id: "job-1",
  queue: "job-1",
  reason: "out of retries",
});

/** Cells of a row without quotes, as a spreadsheet shows them. */
const cells = (row: string) => row.trimEnd().split(",");

test("a row has the most wanted fields in columns of their own", () => {
  expect(CSV_HEADER).toBe(`${CSV_COLUMNS.join(",")}\n`);
  const row = cells(csvRow(letter));
  expect(row[CSV_COLUMNS.indexOf("item_id")]).toBe("a");
  expect(row[CSV_COLUMNS.indexOf("error_type")]).toBe("Timeout");
  expect(row[CSV_COLUMNS.indexOf("error_message")]).toBe("too slow");
  expect(row[CSV_COLUMNS.indexOf("last_attempt")]).toBe("2025-01-11T10:30:00.000Z");
});

test.each(["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=x", "''@x", "＝1", "＋1", "－1", "＠x", "'＝x"])(
  "no cell begins like a formula, and %j is read as it was",
  (text) => {
    const row = csvRow({ ...letter, reason: text, itemData: text });
    for (const cell of row.split(/,"?/)) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    const [quoted] = /"?'+[=+\-@\t\r＝＋－＠][^,"]*/.exec(row) ?? [];
    expect(quoted?.replace('"', "")).toBe(`'${text}`);
    expect(letterFromRow(["reason"], [`'${text}`])).toEqual({ reason: text });
  },
);

test("a quote in front of anything else is part of the text", () => {
  expect(letterFromRow(["reason"], ["'tis"])).toEqual({ reason: "'tis" });
  expect(csvRow({ ...letter, reason: "'tis" })).toContain(",'tis,");
});

test("half a character is written to the details, because a file cannot contain it", () => {
  const row = csvRow({ ...letter, reason: "\ud800" });
  expect(row).toContain('""reason"":""\\ud800""');
});

test("the details have everything without a column", () => {
  const details = (letterFromRow(["details"], ['{"failure_history":[],"poison":true}']) ?? {}) as object;
  expect(details).toEqual({ failure_history: [], poison: true });
  expect(Object.keys(letterToJson(letter)).filter((name) => !CSV_COLUMNS.includes(name))).toEqual([
    "failure_history",
  ]);
});

test("cells that a spreadsheet rewrote are understood, and invalid ones are refused", () => {
  expect(letterFromRow(["reprocess_eligible", "revision"], ["TRUE", "2"])).toEqual({
    reprocess_eligible: true,
    revision: 2,
  });
  expect(letterFromRow(["revision"], ["two"])).toBe("the cell revision is invalid: two");
  expect(letterFromRow(["item_data"], ["{"])).toBe("the cell item_data is invalid: {");
});
