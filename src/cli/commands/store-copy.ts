/** `redrive store copy FROM TO`: everything that is in one store, in another one too, proven to be equal. */
import { openStore } from "../../engines/open.ts";
import { WorkError } from "../../errors.ts";
import type { CopyProgress, CopyReport } from "../../store/copy.ts";
import type { Context, SharedOptions } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { thousands } from "../progress-rate.ts";
import { table } from "../table.ts";

export async function storeCopy(
  context: Context,
  fromUrl: string,
  toUrl: string,
  options: SharedOptions,
): Promise<number> {
  if (options.store !== undefined) {
    throw new WorkError("usage", "`store copy` takes both stores as arguments, not with --store.");
  }
  const { copyStore } = await import("../../store/copy.ts");
  const from = await openStore(fromUrl, { mustExist: true });
  try {
    const to = await openStore(toUrl);
    try {
      const report = await copyStore({ from, to, onProgress: teller(context) });
      context.answer(reportToJson(report), () => reportText(context, report));
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
  return EXIT.done;
}

/** Smaller tables are done before their line is read; of larger ones it is told in between, too. */
const TELL_FROM_ROWS = 1000;
const TELL_EVERY_ROWS = 100_000;

/** Lines on stderr. */
function teller(context: Context): (progress: CopyProgress) => void {
  let told = 0;
  return ({ step, table: name, rows, isEnd }) => {
    const isDue = isEnd ? rows >= TELL_FROM_ROWS : rows - told >= TELL_EVERY_ROWS;
    if (isDue) context.note(`redrive: ${step} ${thousands(rows)} ${name}${isEnd ? "" : " so far"}`);
    if (isDue || isEnd) told = isEnd ? 0 : rows;
  };
}

function reportToJson({ how, copied, tables }: CopyReport) {
  return { ok: true, how, copied, tables: tables.map((sum) => ({ ...sum })) };
}

const HOW: Readonly<Record<CopyReport["how"], string>> = {
  fresh: "Copied",
  resumed: "Copied the rest",
  anew: "The source has changed since the last copy. Copied anew",
  none: "Nothing to do: the copy was complete",
};

function reportText({ columns }: Context, { how, copied, tables }: CopyReport): string {
  const shown = tables.filter(({ rows }) => rows > 0);
  const list = table(
    shown,
    [
      { title: "TABLE", value: (sum) => sum.table },
      { title: "ROWS", value: (sum) => thousands(sum.rows), align: "right" },
      { title: "SHA-256", value: (sum) => sum.digest },
    ],
    columns,
  );
  const rows = how === "none" ? "" : `: ${thousands(copied)} rows`;
  return `${list}${HOW[how]}${rows}. Both stores are equal, table by table.\n`;
}
