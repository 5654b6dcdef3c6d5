/**
 * Writes the results of a campaign to `bench/TORTURE.md`: appends one row per kind and campaign, and recomputes the totals
 * at the top.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const COLUMNS = [
  "date",
  "commit",
  "seed",
  "kind",
  "rounds",
  "strikes",
  "items",
  "attempts",
  "violations",
  "strikes by fault",
];
const HEAD = `# Torture campaigns

\`npm run torture -- --campaign [--minutes N] [--strikes N] [--seed S]\` appends to this file. A strike is one injected fault that hit
a running process: a fault that found nothing to hit is not counted. A violation is a broken promise: an item lost, a success repeated,
an attempt without a record, counters that differ from the records, a process that survived, a command that ended as it never should, or
a finding of \`store check\`. A violation in a row is of the commit in that row; the section at the end says what became of it.

## Totals

`;
const ROW = /^\| \d{4}-/;
const ROWS = "\n## Campaigns\n\n";

/** Appends the results of one campaign to the file `path`. The notes below the rows stay unchanged. */
export function appendReport(path, { seed, results, date = new Date(), commit = commitOf() }) {
  const rows = existsSync(path) ? rowsOf(readFileSync(path, "utf8")) : [];
  const notes = existsSync(path) ? notesOf(readFileSync(path, "utf8")) : "";
  const kinds = [...new Set(results.map(({ kind }) => kind))].sort();
  const fresh = kinds.map((kind) =>
    rowOf(
      kind,
      results.filter((result) => result.kind === kind),
    ),
  );
  const common = { date: date.toISOString().slice(0, 16).replace("T", " "), commit, seed: String(seed) };
  const all = [...rows, ...fresh.map((row) => ({ ...common, ...row }))];
  writeFileSync(path, `${HEAD}${totals(all)}${ROWS}${tableOf(COLUMNS, all)}${notes}`);
}

function rowOf(kind, results) {
  const figure = (name) => String(sum(results.map(({ figures }) => figures[name] ?? 0)));
  const faults = {};
  for (const result of results)
    for (const [name, count] of Object.entries(result.faults ?? {}))
      faults[name] = (faults[name] ?? 0) + count;
  return {
    kind,
    rounds: String(results.length),
    strikes: String(sum(results.map(({ strikes }) => strikes))),
    items: figure("items"),
    attempts: figure("attempts"),
    violations: String(sum(results.map(({ violations }) => violations.length))),
    "strikes by fault": faultText(faults),
  };
}

function faultText(faults) {
  return Object.entries(faults)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

/** The totals by kind and overall. */
function totals(rows) {
  const kinds = [...new Set(rows.map(({ kind }) => kind))].sort();
  const names = ["rounds", "strikes", "items", "attempts", "violations"];
  const add = (kind, own) => ({
    kind,
    ...Object.fromEntries(names.map((name) => [name, String(sum(own.map((row) => Number(row[name]))))])),
  });
  const lines = [
    ...kinds.map((kind) =>
      add(
        kind,
        rows.filter((row) => row.kind === kind),
      ),
    ),
    add("**all**", rows),
  ];
  return tableOf(["kind", ...names], lines);
}

function tableOf(columns, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |\n`;
  return (
    line(columns) +
    line(columns.map(() => "---")) +
    rows.map((row) => line(columns.map((name) => row[name] ?? ""))).join("")
  );
}

function rowsOf(text) {
  const [, table = ""] = text.split(ROWS);
  return table
    .split("\n")
    .filter((line) => ROW.test(line))
    .map((line) => line.slice(2, -2).split(" | "))
    .map((cells) => Object.fromEntries(COLUMNS.map((name, index) => [name, cells[index] ?? ""])));
}

/** The hand-written text after the table. */
function notesOf(text) {
  const [, table = ""] = text.split(ROWS);
  const lines = table.split("\n");
  const last = lines.findLastIndex((line) => ROW.test(line));
  return lines.slice(last + 1).join("\n");
}

function commitOf() {
  return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
