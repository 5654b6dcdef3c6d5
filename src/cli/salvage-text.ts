/** What can be read of a damaged store, and what was salvaged of it, as text for people. */
import type { DamageReport, SalvageReport } from "../item/store-damage.ts";
import { thousands } from "./progress-rate.ts";
import { table } from "./table.ts";

/** Tables that are empty and whole are left out. */
export function damageTable(tables: DamageReport["tables"], columns: number): string {
  return table(
    tables.filter(({ rows, gaps }) => rows > 0 || gaps > 0),
    [
      { title: "TABLE", value: (one) => one.table },
      { title: "ROWS", value: (one) => thousands(one.rows), align: "right" },
      { title: "UNREADABLE PLACES", value: (one) => thousands(one.gaps), align: "right" },
    ],
    columns,
  );
}

export function salvageText(report: SalvageReport, columns: number): string {
  const { tables, lostItems, repairs, problems } = report;
  const lost =
    lostItems === undefined
      ? "How many items were lost is not known: the counters of the queues were lost, too.\n"
      : `${thousands(lostItems)} items were lost.\n`;
  const changed = repairs.map(({ what, rows }) => `  ${thousands(rows)} ${what}\n`).join("");
  const wrong = problems.map(({ rule, detail }) => `  ${rule}: ${detail}\n`).join("");
  return [
    damageTable(tables, columns),
    lost,
    changed === "" ? "" : `Changed because something else was lost:\n${changed}`,
    problems.length === 0
      ? "The new store is sound. Look at its held items: `redrive queue items QUEUE --state held`.\n"
      : `The new store has ${thousands(problems.length)} problems:\n${wrong}`,
  ].join("");
}
