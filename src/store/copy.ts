/** Copies a store into another and verifies the copy. Overwrites only an earlier copy of the same source. */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { TABLES, type Table, tableNamed } from "../item/tables.ts";
import { isGone } from "../lease/holder.ts";
import { isJsonObject, type Json } from "../std/json.ts";
import { COPY_PREFIX, differences, identityOf, rowsOf, sumOf, sumsOf, type TableSum } from "./digest.ts";

/** The source and the target of a copy. */
export interface CopyOptions {
  readonly from: Engine;
  readonly to: Engine;
  /** Called after every page, and when a table has been verified. */
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** The progress of a copy. */
export interface CopyProgress {
  readonly step: "copied" | "verified";
  readonly table: string;
  /** The rows of this table that were processed in this run so far. */
  readonly rows: number;
  /** Whether the table is complete. */
  readonly isEnd: boolean;
}

/** The result of a copy. */
export interface CopyReport {
  /** The row counts and digests of every table, equal in both stores. */
  readonly tables: readonly TableSum[];
  /** The number of rows written in this run; 0 if the copy was already complete. */
  readonly copied: number;
  /** `resumed`: after an interruption. `anew`: restarted because the source had changed. `none`: the stores were equal. */
  readonly how: "fresh" | "resumed" | "anew" | "none";
}

/** Copies a store. Resolves when both stores have the same rows. */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { from, to } = options;
  requireCopyable(from, to);
  for (const engine of [from, to]) await requireIdle(engine);
  const id = await requireContent(from);
  const record = copyRecord(to, id);
  const state = await record.read();
  if (state?.status === "copied") return copyAgain(options, record, state.tables);
  await (state === null ? requireEmpty(to) : requireOwnJobs(from, to));
  const isOutdated =
    state !== null && (state.status === "stale" || state.events !== (await from.newestEvent()));
  if (isOutdated) return restartCopy(options, record);
  return finish(options, record, state);
}

function requireCopyable(from: Engine, to: Engine): void {
  if (from.url === to.url) {
    throw new RedriveError("usage", "A store cannot be copied into itself.", { hint: "Give two stores." });
  }
  const unable = [from, to].find((engine) => !engine.can.copy);
  if (unable === undefined) return;
  throw new RedriveError("usage", `The store ${unable.url} cannot be copied: it is in memory.`, {
    hint: "Use a sqlite: or postgres:// store.",
  });
}

/** Throws if a process uses the store, because the store would change during the copy. */
async function requireIdle(engine: Engine): Promise<void> {
  const live = (await engine.listHolders()).find((holder) => !isGone(holder));
  if (live === undefined) return;
  const { pid, queue } = live;
  throw new RedriveError("job_running", `Process ${pid} is working on ${queue} in the store ${engine.url}.`, {
    hint: "Stop it, then run the same copy again. The work can be resumed in the new store.",
  });
}

async function requireContent(from: Engine): Promise<string> {
  const id = await identityOf(from);
  if (id !== null) return id;
  throw new RedriveError("input_invalid", `The store ${from.url} is empty: there is nothing to copy.`, {
    hint: "Run `redrive store info --store URL` to see what a store contains.",
  });
}

async function requireEmpty(to: Engine): Promise<void> {
  for (const table of TABLES) {
    for await (const { rows } of rowsOf(to, table)) {
      if (rows.length > 0) throw occupied(to, `it contains ${table.name} that do not come from the source`);
    }
  }
}

/** Refuses a partial copy that has its own jobs, because copying again would delete them. */
async function requireOwnJobs(from: Engine, to: Engine): Promise<void> {
  const jobs = tableNamed("jobs");
  const own = new Set<Json>();
  for await (const page of rowsOf(from, jobs)) for (const row of page.rows) own.add(row.id ?? null);
  for await (const page of rowsOf(to, jobs)) {
    const other = page.rows.find((row) => !own.has(row.id ?? null));
    if (other !== undefined) throw occupied(to, `its job ${other.id} does not come from the source`);
  }
}

function occupied(to: Engine, why: string): RedriveError {
  return new RedriveError("copy_refused", `The store ${to.url} cannot be the target of the copy: ${why}.`, {
    hint: "Copy into a new store: another file, another database, or another schema (?schema=NAME).",
  });
}

/** Updates a complete copy, unless the copy itself has changed since. */
async function copyAgain(
  options: CopyOptions,
  record: CopyRecord,
  known: readonly TableSum[],
): Promise<CopyReport> {
  const [source, target] = await Promise.all([sumsOf(options.from), sumsOf(options.to)]);
  if (differences(source, target).length === 0) return { tables: source, copied: 0, how: "none" };
  const [changed] = differences(known, target);
  if (changed !== undefined) throw occupied(options.to, `its ${changed} have changed since they were copied`);
  return restartCopy(options, record);
}

async function restartCopy(options: CopyOptions, record: CopyRecord): Promise<CopyReport> {
  await options.to.deleteRows();
  record.forget();
  return { ...(await finish(options, record, null)), how: "anew" };
}

type Copying = Extract<CopyState, { readonly status: "copying" }>;

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
    if (error instanceof RedriveError && error.code === "copy_differs")
      await record.write({ status: "stale" });
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
  readonly after: Json;
  /** Stores the key of the last copied row; null at the end of the table. */
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

/** Reads both stores again, which also detects a change of the source during the copy. */
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

function differing(source: TableSum, target: TableSum): RedriveError {
  const counts =
    source.rows === target.rows
      ? "the contents differ"
      : `${source.rows} rows in the source, ${target.rows} in the copy`;
  return new RedriveError("copy_differs", `The copy differs from its source in ${source.table}: ${counts}.`, {
    hint: "The source changed during the copy. Stop all processes that use either store, then run the same copy again.",
  });
}

/** The progress of a copy. `stale`: the source changed during the copy, so the copy must start again. */
export type CopyState =
  | { readonly status: "copying"; readonly events: number; readonly table: string; readonly after: Json }
  | { readonly status: "stale" }
  | { readonly status: "copied"; readonly tables: readonly TableSum[] };

type CopyRecord = ReturnType<typeof copyRecord>;

/** Stores the progress of copying one source as a document in the target. */
function copyRecord(to: Engine, sourceId: string) {
  const name = `${COPY_PREFIX}${sourceId}`;
  let version = 0;
  return {
    /** Returns null if the source was never copied to this target. */
    read: async (): Promise<CopyState | null> => {
      const document = await to.readDocument(name);
      version = document?.version ?? 0;
      return document === null ? null : stateOf(document.body);
    },
    write: async (state: CopyState): Promise<void> => {
      const body = JSON.parse(JSON.stringify(state)) as Json;
      if (!(await to.writeDocument(name, { seen: version, body })))
        throw new RedriveError("job_running", "Another process is copying into the same store.", {
          hint: "Wait until it has finished or stop it, then run the same copy again.",
        });
      version += 1;
    },
    /** Resets the version after `deleteRows`, which has deleted the document too. */
    forget: () => {
      version = 0;
    },
  };
}

/** Treats an unknown form as stale: it was written by a later version, so the copy starts again. */
function stateOf(body: Json): CopyState {
  if (!isJsonObject(body)) return { status: "stale" };
  const { status, events, table, after, tables } = body;
  if (status === "copying" && typeof events === "number" && typeof table === "string")
    return { status, events, table, after: after ?? null };
  if (status === "copied" && Array.isArray(tables))
    return { status, tables: tables as unknown as readonly TableSum[] };
  return { status: "stale" };
}
