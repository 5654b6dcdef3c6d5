/** `redrive store …`: shows, checks, copies, migrates and salvages the store. */
import { openStore } from "../../engines/open.ts";
import { RedriveError } from "../../errors.ts";
import type { DamageReport, Problem, SalvageReport } from "../../item/store-queries.ts";
import type { CopyProgress, CopyReport } from "../../store/copy.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";
import { table } from "../render/layout.ts";
import { counted, shellWord, thousands } from "../render/text.ts";

const info = command({
  summary: "Print the location, size and contents of the store.",
  examples: ["redrive store info", "redrive store info --store postgres://me@host/work --json"],
  run: async (context) => {
    const found = await context.withStore((engine) => engine.info(), { mustExist: true });
    const { engine, location, schemaVersion, bytes, jobs, items, letters, attempts, events } = found;
    const counts = { bytes, jobs, items, letters, attempts, events };
    const document = { engine, location, schema_version: schemaVersion, ...counts };
    const line = ([name, value]: readonly [string, string | number]) =>
      `${name.replace("_", " ").padEnd(15)} ${typeof value === "number" ? thousands(value) : value}\n`;
    return context.answer(document, () => Object.entries(document).map(line).join(""));
  },
});

const check = command({
  summary: "Verify the store: the file and every invariant.",
  description: "For a damaged SQLite store, it also lists what can still be read.",
  examples: ["redrive store check"],
  run: async (context) => {
    const { problems, tables } = await checkStore(context);
    const isSound = problems.length === 0;
    const document = {
      ok: isSound,
      problems,
      ...(tables.length > 0 && { readable: tables }),
    };
    const text = () =>
      isSound
        ? "The store is sound: nothing is damaged, and every invariant holds.\n"
        : `${problemLines(problems)}${counted(problems.length, "problem")}.\n${readableText(context, tables)}`;
    return context.answer(document, text, isSound ? EXIT.done : EXIT.failed);
  },
});

async function checkStore(context: Context): Promise<DamageReport> {
  const damage = async () => (await import("../../engines/open.ts")).findDamage(context.storeUrl);
  let problems: readonly Problem[];
  try {
    problems = await context.withStore((engine) => engine.check(), { mustExist: true });
  } catch (error) {
    const found = isDamage(error) ? await damage() : null;
    if (found === null || found.problems.length === 0) throw error; // not damaged, e.g. another program's database
    return found;
  }
  if (!problems.some(({ rule }) => rule === "integrity")) return { problems, tables: [] };
  return { problems, tables: (await damage())?.tables ?? [] };
}

/** Treats every SQLite error as damage, because damaged indexes and schemas are reported with many codes. */
function isDamage(error: unknown): boolean {
  if (error instanceof RedriveError) return error.code === "store_corrupt";
  return error instanceof Error && Reflect.get(error, "code") === "ERR_SQLITE_ERROR";
}

function problemLines(problems: readonly Problem[]): string {
  return problems.map(({ rule, detail }) => `${rule}: ${detail}\n`).join("");
}

function readableText(context: Context, tables: DamageReport["tables"]): string {
  if (tables.length === 0) return "";
  const from = shellWord(context.storeUrl) ?? JSON.stringify(context.storeUrl);
  return `\nWhat can be read:\n${damageTable(tables, context.columns)}
Stop every process that uses the store. Restore it from a backup, or save what can be read into a new file:
  redrive store salvage ${from} sqlite:NEW.db\n`;
}

function damageTable(tables: DamageReport["tables"], columns: number): string {
  return table(
    tables.filter(({ rows, gaps }) => rows > 0 || gaps > 0),
    [
      { title: "TABLE", value: (one) => one.table },
      { title: "ROWS", value: (one) => one.rows },
      { title: "UNREADABLE PARTS", value: (one) => one.gaps },
    ],
    columns,
  );
}

function twoStores(from: string, to: string) {
  return { fromUrl: argument("<from>", from), toUrl: argument("<to>", to) };
}

const copy = command({
  summary: "Copy a whole store into an empty one, and verify that both are equal.",
  examples: ["redrive store copy sqlite:./work.db 'postgres://me@host/work?schema=redrive'"],
  arguments: twoStores(
    "the store to copy, e.g. sqlite:./work.db; no other process may use it during the copy",
    "an empty store, e.g. postgres://user@host/db?schema=redrive",
  ),
  run: async (context, { fromUrl, toUrl }) => {
    refuseStoreOption(context, "copy");
    const { copyStore } = await import("../../store/copy.ts");
    const from = await openStore(fromUrl, { mustExist: true });
    try {
      const to = await openStore(toUrl);
      try {
        const report = await copyStore({ from, to, onProgress: copyNotes(context) });
        const { how, copied, tables } = report;
        const document = { ok: true, how, copied, tables };
        return context.answer(document, () => copyText(context, report));
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  },
});

function refuseStoreOption({ hasStoreOption }: Context, name: string): void {
  if (hasStoreOption)
    throw userError("usage", "Both stores are arguments, not --store.", `redrive store ${name} FROM TO`);
}

/** Progress is reported for tables of at least this size, and repeatedly for large ones. */
const NOTE_FROM_ROWS = 1000;
const NOTE_EVERY_ROWS = 100_000;

function copyNotes(context: Context): (progress: CopyProgress) => void {
  let noted = 0;
  return ({ step, table: name, rows, isEnd }) => {
    const isDue = isEnd ? rows >= NOTE_FROM_ROWS : rows - noted >= NOTE_EVERY_ROWS;
    if (isDue) context.note(`redrive: ${step} ${thousands(rows)} ${name}${isEnd ? "" : " so far"}`);
    if (isDue || isEnd) noted = isEnd ? 0 : rows;
  };
}

const HOW: Readonly<Record<CopyReport["how"], string>> = {
  fresh: "Copied",
  resumed: "Copied the rest",
  anew: "The source has changed since the last copy. Copied all of it again",
  none: "The copy was already complete",
};

function copyText({ columns }: Context, { how, copied, tables }: CopyReport): string {
  const sums = table(
    tables.filter(({ rows }) => rows > 0),
    [
      { title: "TABLE", value: (sum) => sum.table },
      { title: "ROWS", value: (sum) => sum.rows },
      { title: "SHA-256", value: (sum) => sum.digest },
    ],
    columns,
  );
  const rows = how === "none" ? "" : `: ${thousands(copied)} rows`;
  return `${sums}${HOW[how]}${rows}. All tables of both stores are equal.\n`;
}

const salvage = command({
  summary: "Save the readable part of a damaged SQLite store into a new file, and list what was lost.",
  examples: ["redrive store salvage sqlite:./work.db sqlite:./saved.db"],
  arguments: twoStores(
    "the damaged store, e.g. sqlite:./work.db; it is not changed",
    "the new store, e.g. sqlite:./saved.db",
  ),
  run: async (context, { fromUrl, toUrl }) => {
    refuseStoreOption(context, "salvage");
    const { salvageStore } = await import("../../engines/open.ts");
    const report = await salvageStore(fromUrl, toUrl);
    const { tables, lostItems, repairs, problems } = report;
    const document = {
      ok: problems.length === 0,
      tables,
      lost_items: lostItems ?? null,
      repairs,
      problems,
    };
    const text = () => salvageText(report, context.columns);
    return context.answer(document, text, problems.length === 0 ? EXIT.done : EXIT.failed);
  },
});

function salvageText({ tables, lostItems, repairs, problems }: SalvageReport, columns: number): string {
  const unknown = "The number of lost items is unknown, because the queue counters were lost, too.\n";
  const lost = lostItems === undefined ? unknown : `${counted(lostItems, "item was", "items were")} lost.\n`;
  const changed = repairs.map(({ what, rows }) => `  ${thousands(rows)} ${what}\n`).join("");
  return [
    damageTable(tables, columns),
    lost,
    changed === "" ? "" : `Changed because related rows were lost:\n${changed}`,
    problems.length === 0
      ? "The new store is sound. Check its held items: redrive queue items QUEUE --state held\n"
      : `The new store has ${counted(problems.length, "problem")}:\n${problemLines(problems)}`,
  ].join("");
}

const migrate = command({
  summary: "Migrate the store to the newest schema version.",
  description: "Every command does this when it opens the store; this one prints the versions.",
  examples: ["redrive store migrate"],
  run: async (context) => {
    const found = await context.withStore((engine) => engine.info(), { creates: true });
    const { location, foundVersion: from, schemaVersion: to } = found;
    return context.answer({ location, from, to, migrated: from !== to }, () => {
      if (from === to) return `The store ${location} has the newest version, ${to}.\n`;
      if (from === 0) return `Created the store ${location} with version ${to}.\n`;
      return `Migrated the store ${location} from version ${from} to version ${to}.\n`;
    });
  },
});

export const commands = { info, check, copy, salvage, migrate };
