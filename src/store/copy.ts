/**
 * Copies a whole store into another one, of whichever engine, and proves that they are equal. It can be ended at any
 * moment and run again: it goes on where it was. It never touches a store that has anything but a copy of the same source.
 */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { TABLES, type Table, tableNamed } from "../item/row.ts";
import type { Json } from "../kit/json.ts";
import { isGone } from "../lease/holder.ts";
import { CopyRecord, type CopyState } from "./copy-record.ts";
import { differences, identityOf, sumOf, sumsOf, type TableSum } from "./digest.ts";
import { rowsOf } from "./row-pages.ts";

/** The stores, and who is told how far it is. */
export interface CopyOptions {
  readonly from: Engine;
  readonly to: Engine;
  /** Told after every page, and when a table has been verified. */
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** How far a copy has come. */
export interface CopyProgress {
  readonly step: "copied" | "verified";
  readonly table: string;
  /** Of this table, so far, in this run. */
  readonly rows: number;
  /** Nothing more comes of this table. */
  readonly isEnd: boolean;
}

/** What was copied, and what both stores have now. */
export interface CopyReport {
  /** Every table, as it is in both stores. */
  readonly tables: readonly TableSum[];
  /** Rows that this run has written or found written; 0 when the copy was complete before. */
  readonly copied: number;
  /** `fresh`: from the beginning. `resumed`: after one that was ended. `anew`: the source has changed. `none`: was equal. */
  readonly how: "fresh" | "resumed" | "anew" | "none";
}

/** Resolves when both stores have the same rows. */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { from, to } = options;
  requireCopyable(from, to);
  for (const engine of [from, to]) await requireIdle(engine);
  const id = await requireContent(from);
  const record = new CopyRecord(to, id);
  const state = await record.read();
  if (state?.status === "copied") return copyAgain(options, record, state.tables);
  await (state === null ? requireEmpty(to) : requireOwnJobs(from, to));
  const isOutdated =
    state !== null && (state.status === "stale" || state.events !== (await from.newestEvent()));
  if (isOutdated) return copyAnew(options, record);
  return finish(options, record, state);
}

function requireCopyable(from: Engine, to: Engine): void {
  if (from.url === to.url) {
    throw new WorkError("usage", "A store cannot be copied into itself.", { hint: "Give two stores." });
  }
  const unable = [from, to].find((engine) => !engine.can.copy);
  if (unable === undefined) return;
  throw new WorkError("usage", `The store ${unable.url} cannot be copied: it is gone with its process.`, {
    hint: "Copy from and to stores that last.",
  });
}

/** What somebody works with changes while it is copied. */
async function requireIdle(engine: Engine): Promise<void> {
  const live = (await engine.listHolders()).find((holder) => !isGone(holder));
  if (live === undefined) return;
  const { pid, queue } = live;
  throw new WorkError("job_running", `Process ${pid} works at ${queue} in the store ${engine.url}.`, {
    hint: "Stop it (it can go on in the copy), then run the same copy again.",
  });
}

async function requireContent(from: Engine): Promise<string> {
  const id = await identityOf(from);
  if (id !== null) return id;
  throw new WorkError("input_invalid", `The store ${from.url} is empty: there is nothing to copy.`, {
    hint: "`redrive store info --store URL` says what is in a store.",
  });
}

async function requireEmpty(to: Engine): Promise<void> {
  for (const table of TABLES) {
    for await (const { rows } of rowsOf(to, table)) {
      if (rows.length > 0)
        throw occupied(to, `it has ${table.name} that are not from the store that is to be copied`);
    }
  }
}

/** A copy that was ended half-way is no store to work with; whoever did so would lose it when the copy begins anew. */
async function requireOwnJobs(from: Engine, to: Engine): Promise<void> {
  const jobs = tableNamed("jobs");
  const own = new Set<Json>();
  for await (const page of rowsOf(from, jobs)) for (const row of page.rows) own.add(row.id ?? null);
  for await (const page of rowsOf(to, jobs)) {
    const other = page.rows.find((row) => !own.has(row.id ?? null));
    if (other !== undefined)
      throw occupied(to, `its job ${other.id} is not from the store that is to be copied`);
  }
}

function occupied(to: Engine, why: string): WorkError {
  return new WorkError("copy_refused", `The store ${to.url} cannot take the copy: ${why}.`, {
    hint: "Copy into a new store: another file, another database, or another schema (?schema=NAME).",
  });
}

/** One that was complete. It is brought up to date only as long as nobody has worked with it. */
async function copyAgain(
  options: CopyOptions,
  record: CopyRecord,
  known: readonly TableSum[],
): Promise<CopyReport> {
  const [source, target] = await Promise.all([sumsOf(options.from), sumsOf(options.to)]);
  if (differences(source, target).length === 0) return { tables: source, copied: 0, how: "none" };
  const [changed] = differences(known, target);
  if (changed !== undefined) throw occupied(options.to, `its ${changed} were changed since it was copied`);
  return copyAnew(options, record);
}

async function copyAnew(options: CopyOptions, record: CopyRecord): Promise<CopyReport> {
  await options.to.deleteRows();
  record.forget();
  return { ...(await finish(options, record, null)), how: "anew" };
}

type Copying = Extract<CopyState, { readonly status: "copying" }>;

/** From where the copy is to its end. */
async function finish(
  options: CopyOptions,
  record: CopyRecord,
  state: CopyState | null,
): Promise<CopyReport> {
  const before = state?.status === "copying" ? state : null;
  const start: Copying = before ?? {
    status: "copying",
    events: await options.from.newestEvent(),
    table: TABLES[0]?.name ?? "",
    after: null,
  };
  await record.write(start);
  try {
    const copied = await copyTables(options, record, start);
    const tables = await verify(options);
    await record.write({ status: "copied", tables });
    return { tables, copied, how: before === null ? "fresh" : "resumed" };
  } catch (error) {
    if (error instanceof WorkError && error.code === "copy_differs") await record.write({ status: "stale" });
    throw error;
  }
}

async function copyTables(options: CopyOptions, record: CopyRecord, start: Copying): Promise<number> {
  const first = TABLES.findIndex(({ name }) => name === start.table);
  let copied = 0;
  for (const [at, table] of TABLES.entries()) {
    if (at < first) continue;
    const after = at === first ? start.after : null;
    const next = TABLES[at + 1] ?? table;
    copied += await copyTable(options, table, {
      after,
      keep: (key) => record.write({ ...start, table: key === null ? next.name : table.name, after: key }),
    });
  }
  return copied;
}

interface Progress {
  /** The key of the last row that was copied before. */
  readonly after: Json;
  /** Told the key of the last row that was copied; null at the end of the table. */
  readonly keep: (key: Json) => Promise<void>;
}

async function copyTable(
  { from, to, onProgress }: CopyOptions,
  table: Table,
  { after, keep }: Progress,
): Promise<number> {
  let rows = 0;
  for await (const page of rowsOf(from, table, after)) {
    await to.writeRows(table.name, page.rows);
    await keep(page.next);
    rows += page.rows.length;
    if (page.next !== null) onProgress?.({ step: "copied", table: table.name, rows, isEnd: false });
  }
  onProgress?.({ step: "copied", table: table.name, rows, isEnd: true });
  return rows;
}

/** Both are read again, so that a change of the source meanwhile is seen too. */
async function verify({ from, to, onProgress }: CopyOptions): Promise<readonly TableSum[]> {
  const tables: TableSum[] = [];
  for (const table of TABLES) {
    const [source, target] = await Promise.all([sumOf(from, table), sumOf(to, table)]);
    if (differences([source], [target]).length > 0) throw differing(source, target);
    tables.push(source);
    onProgress?.({ step: "verified", table: table.name, rows: source.rows, isEnd: true });
  }
  return tables;
}

function differing(source: TableSum, target: TableSum): WorkError {
  const counts =
    source.rows === target.rows ? "with other contents" : `${source.rows} there, ${target.rows} here`;
  return new WorkError("copy_differs", `The copy differs from its source in ${source.table}: ${counts}.`, {
    hint: "The source was changed while it was copied. Run the same copy again when nobody works with either store.",
  });
}
