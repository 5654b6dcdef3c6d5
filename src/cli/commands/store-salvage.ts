/** `redrive store salvage FROM TO`: saves what can be read of a damaged store into a new one. */
import { WorkError } from "../../errors.ts";
import type { Context, SharedOptions } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { salvageText } from "../salvage-text.ts";

export async function storeSalvage(
  context: Context,
  fromUrl: string,
  toUrl: string,
  options: SharedOptions,
): Promise<number> {
  if (options.store !== undefined) {
    throw new WorkError("usage", "`store salvage` takes both stores as arguments, not with --store.");
  }
  const { salvageStore } = await import("../../engines/open.ts");
  const report = await salvageStore(fromUrl, toUrl);
  const { tables, lostItems, repairs, problems } = report;
  const document = {
    ok: problems.length === 0,
    tables: tables.map((table) => ({ ...table })),
    lost_items: lostItems ?? null,
    repairs: repairs.map((repair) => ({ ...repair })),
    problems: problems.map((problem) => ({ ...problem })),
  };
  context.answer(document, () => salvageText(report, context.columns));
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}
