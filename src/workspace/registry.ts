/**
 * Records of Redrive's worktrees, as files that survive the process:
 *
 *   $REDRIVE_HOME/worktrees/{repo}/repository.json         the repository to which this folder belongs
 *   $REDRIVE_HOME/worktrees/{repo}/{job}/job.json          the job: the commit and branch from which it started
 *   $REDRIVE_HOME/worktrees/{repo}/{job}/{name}/           a worktree: `main`, or an agent's
 *   $REDRIVE_HOME/worktrees/{repo}/{job}/{name}.json       its record: owner, item and state
 *
 * Records are replaced atomically. A record whose owner has ended is taken over by renaming its file, which succeeds for
 * one process only.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { type Owner, processStart, thisHost } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import { hashOf } from "./names.ts";

export interface WorktreeRecord {
  readonly name: string;
  readonly jobId: string;
  /** The git directory shared by all worktrees of the repository. */
  readonly commonDir: string;
  /**
   * `kept` worktrees belong to a letter and are not reused; `waiting` ones contain complete work that has not
   * been verified.
   */
  readonly state: "free" | "in_use" | "kept" | "waiting";
  /** Null when no process uses it. */
  readonly owner: Owner | null;
  /** The agent's branch; null when HEAD is detached. */
  readonly branch: string | null;
  readonly base: string;
  readonly itemId?: string;
  readonly attempt?: number;
  readonly why?: string;
  /** The results of the steps of a waiting item. */
  readonly result?: JsonObject;
}

/** The commit and branch from which a job started. */
export interface JobRecord {
  readonly jobId: string;
  readonly commonDir: string;
  readonly top: string;
  /** The branch into which the job is merged: the one it started from, or a new one. Null when HEAD was detached. */
  readonly startBranch: string | null;
  /** True if the branch was created for the job (`--branch`), so that it contains no other work. */
  readonly isNewBranch?: true;
  readonly startCommit: string;
}

/** The worktree in which setup, reduce and merge run. */
export const MAIN_NAME = "main";

export class JobRegistry {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Returns the job's registry below the home folder. Repositories with the same base name get separate folders. */
  static of(
    home: string,
    repository: { readonly name: string; readonly commonDir: string },
    jobId: string,
  ): JobRegistry {
    mkdirSync(home, { recursive: true });
    const folder = repositoryFolder(realpathSync(home), repository); // git lists worktrees by their real paths
    return new JobRegistry(join(folder, fileNameOf(jobId)));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  readJob(): JobRecord | null {
    return readJson(join(this.folder, "job.json"), (value): value is JobRecord =>
      hasTexts(value, "commonDir", "startCommit"),
    );
  }

  writeJob(record: JobRecord): void {
    writeWhole(join(this.folder, "job.json"), record, true);
  }

  removeJob(): void {
    rmSync(join(this.folder, "job.json"), { force: true });
  }

  list(): WorktreeRecord[] {
    return entriesOf(this.folder)
      .filter((file) => file.endsWith(".json") && file !== "job.json" && !file.startsWith("."))
      .map((file) => this.read(file.slice(0, -".json".length)))
      .filter((record) => record !== null);
  }

  /** Folders of worktrees without a record, for example after a crash. */
  orphans(): string[] {
    const known = new Set(this.list().map((record) => record.name));
    return entriesOf(this.folder).filter(
      (name) => existsSync(join(this.folder, name, ".git")) && !known.has(name) && !name.startsWith("."),
    );
  }

  read(name: string): WorktreeRecord | null {
    return readJson(this.#file(name), isWorktreeRecord);
  }

  /** Writes the record unless one exists. */
  add(record: WorktreeRecord): boolean {
    return writeFirst(this.#file(record.name), record);
  }

  /**
   * Not synced: after a power failure no process uses a worktree, and letters contain the paths of those that
   * they need.
   */
  write(record: WorktreeRecord): void {
    writeWhole(this.#file(record.name), record, false);
  }

  /** Takes over a worktree whose record is unchanged. Renaming the record succeeds for one process only. */
  claim(seen: WorktreeRecord, taken: WorktreeRecord): boolean {
    const file = this.#file(seen.name);
    const hidden = join(this.folder, passing(seen.name, "claim"));
    tryTo(() => renameSync(file, hidden));
    const found = readJson(hidden, isWorktreeRecord);
    const isSame = JSON.stringify(found) === JSON.stringify(seen);
    if (isSame) this.write(taken);
    else tryTo(() => linkSync(hidden, file));
    rmSync(hidden, { force: true });
    return isSame;
  }

  remove(name: string): void {
    rmSync(this.#file(name), { force: true });
  }

  /** Restores records that a killed process had renamed to claim them, and removes its temporary files. */
  recover(): void {
    for (const file of entriesOf(this.folder)) {
      const left = PASSING.exec(file);
      if (left === null || !isLeft(join(this.folder, file), left)) continue;
      const [, name = "", , , kind] = left;
      const path = join(this.folder, file);
      if (kind === "claim") tryTo(() => linkSync(path, this.#file(name))); // fails if there is a newer record
      rmSync(path, { force: true });
    }
  }

  #file(name: string): string {
    return join(this.folder, `${name}.json`);
  }
}

/** A temporary file name that identifies its process: `.{name}.{host}.{pid}.{random}.{kind}`. */
function passing(name: string, kind: "tmp" | "claim"): string {
  return `.${name}.${hashOf(thisHost())}.${process.pid}.${randomName(8)}.${kind}`;
}

const PASSING = /^\.(.*)\.([a-z0-9]+)\.(\d+)\.[a-z0-9]+\.(tmp|draft|claim)$/;
/** A temporary file of another machine counts as abandoned after this time. */
const PASSING_MS_MAX = 10 * 60_000;

/** Whether the process that created the file has ended. */
function isLeft(path: string, [, , host, pid]: RegExpExecArray): boolean {
  if (host === hashOf(thisHost())) return processStart(Number(pid)) === null;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.ctimeMs > PASSING_MS_MAX;
}

/** `{home}/worktrees/{repo}`, with a hash appended when that folder belongs to another repository. */
function repositoryFolder(
  home: string,
  { name, commonDir }: { readonly name: string; readonly commonDir: string },
): string {
  const folders = [name, `${name}-${hashOf(commonDir)}`].map((folder) => join(home, "worktrees", folder));
  const own = folders.find((folder) => belongsTo(folder, commonDir));
  if (own !== undefined) return own;
  throw new RedriveError("git_refused", `${folders.join(" and ")} belong to other repositories.`);
}

function belongsTo(folder: string, commonDir: string): boolean {
  const file = join(folder, "repository.json");
  if (!existsSync(file)) writeFirst(file, { commonDir });
  const isRecord = (value: unknown): value is JobRecord => hasTexts(value, "commonDir");
  return readJson(file, isRecord)?.commonDir === commonDir;
}

export function listRegistries(home: string): JobRegistry[] {
  if (!existsSync(home)) return [];
  const root = join(realpathSync(home), "worktrees");
  return entriesOf(root).flatMap((repo) =>
    entriesOf(join(root, repo))
      .filter((job) => !job.startsWith(".") && job !== "repository.json")
      .map((job) => new JobRegistry(join(root, repo, job))),
  );
}

function entriesOf(folder: string): string[] {
  return tryTo(() => readdirSync(folder).sort()) ?? [];
}

/** Writes a temporary file next to `path` and returns its path. */
function writeDraft(path: string, value: object, isSynced: boolean): string {
  mkdirSync(dirname(path), { recursive: true });
  const draft = join(dirname(path), passing("record", "tmp"));
  withFile(draft, "wx", (file) => {
    writeSync(file, `${JSON.stringify(value)}\n`);
    if (isSynced) fsyncSync(file);
  });
  return draft;
}

function writeWhole(path: string, value: object, isSynced: boolean): void {
  renameSync(writeDraft(path, value, isSynced), path);
  if (isSynced) withFile(dirname(path), "r", fsyncSync);
}

/** Returns true for the process that created the file first. */
function writeFirst(path: string, value: object): boolean {
  const draft = writeDraft(path, value, true);
  try {
    linkSync(draft, path);
    withFile(dirname(path), "r", fsyncSync);
    return true;
  } catch (error) {
    if (existsSync(path)) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function withFile(path: string, flags: string, action: (fd: number) => void): void {
  const fd = openSync(path, flags);
  try {
    action(fd);
  } finally {
    closeSync(fd);
  }
}

function readJson<T>(path: string, isRight: (value: unknown) => value is T): T | null {
  const value = tryTo(() => JSON.parse(readFileSync(path, "utf8")) as unknown);
  return isRight(value) ? value : null;
}

function isWorktreeRecord(value: unknown): value is WorktreeRecord {
  if (!hasTexts(value, "commonDir", "name", "jobId")) return false;
  return ["free", "in_use", "kept", "waiting"].includes(String((value as JsonObject).state));
}

function hasTexts(value: unknown, ...keys: readonly string[]): boolean {
  return isJsonObject(value) && keys.every((key) => typeof value[key] === "string");
}

/** Whether a process of this machine works in the folder: processes left by a killed runner may still write there. */
export function hasProcessIn(folder: string): boolean {
  if (process.platform !== "linux") return false;
  return readdirSync("/proc").some((pid) => {
    // Fails for processes that have ended or belong to another user.
    const cwd = /^\d+$/.test(pid) ? tryTo(() => readlinkSync(`/proc/${pid}/cwd`)) : undefined;
    return cwd === folder || cwd?.startsWith(`${folder}/`);
  });
}
