/** `redrive store check`: verifies the store, and reports what is wrong and what can be saved. */
import type { Problem } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { DamageReport } from "../../item/store-damage.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { thousands } from "../progress-rate.ts";
import { damageTable } from "../salvage-text.ts";
import { shellWord } from "../summary-text.ts";

export async function storeCheck(context: Context): Promise<number> {
  const { problems, tables } = await check(context);
  const isSound = problems.length === 0;
  const document = {
    ok: isSound,
    problems: problems.map((problem) => ({ ...problem })),
    ...(tables.length > 0 && { readable: tables.map((table) => ({ ...table })) }),
  };
  context.answer(document, () =>
    isSound
      ? "The store is sound: nothing is damaged, and every invariant holds.\n"
      : `${problems.map(({ rule, detail }) => `${rule}: ${detail}\n`).join("")}${thousands(problems.length)} problems.\n${readableText(context, tables)}`,
  );
  return isSound ? EXIT.done : EXIT.failed;
}

async function check(context: Context): Promise<DamageReport> {
  let problems: readonly Problem[];
  try {
    problems = await context.withStore((engine) => engine.check(), { mustExist: true });
  } catch (error) {
    if (!isDamage(error)) throw error;
    const damage = await damageOf(context);
    // Another program's database is whole; it is only not a store.
    if (damage === null || damage.problems.length === 0) throw error;
    return damage;
  }
  if (!problems.some(({ rule }) => rule === "integrity")) return { problems, tables: [] };
  return { problems, tables: (await damageOf(context))?.tables ?? [] };
}

/** SQLite reports a damaged table of its text index, or a damaged schema, as any kind of error. */
function isDamage(error: unknown): boolean {
  if (error instanceof WorkError) return error.code === "store_corrupt";
  return error instanceof Error && Reflect.get(error, "code") === "ERR_SQLITE_ERROR";
}

async function damageOf(context: Context): Promise<DamageReport | null> {
  const { findDamage } = await import("../../engines/open.ts");
  return findDamage(context.storeUrl);
}

function readableText(context: Context, tables: DamageReport["tables"]): string {
  if (tables.length === 0) return "";
  const from = shellWord(context.storeUrl) ?? JSON.stringify(context.storeUrl);
  return `\nWhat can be read:\n${damageTable(tables, context.columns)}
Stop every process that uses the store. Restore it from a backup, or save what can be read into a new file:
  redrive store salvage ${from} sqlite:NEW.db\n`;
}
