/**
 * Records the files that a failed attempt named as evidence, so that the failure tells from any machine what was there:
 * digest, size, type and host, and where a copy is, if one is to be kept. It never throws: what cannot be read is said.
 */
import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { EvidenceFile } from "../item/evidence-file.ts";
import { compact } from "../item/failure.ts";
import { writeAtomically } from "../kit/atomic-file.ts";
import { formatDuration } from "../kit/duration.ts";
import { HEAD_BYTES, mediaTypeOf } from "./evidence-media-type.ts";

export interface EvidenceOptions {
  /** The folder that relative paths are meant from: that of the work. Only files below it are read. */
  readonly cwd: string;
  /** Other folders whose files are read. Default: those of `REDRIVE_EVIDENCE_FOLDERS`. */
  readonly folders?: readonly string[];
  /** Copies go here, named by their content. Default: none are made. */
  readonly keepIn?: string;
  /** A larger file gets neither a digest nor a copy. Default 256 MiB. */
  readonly bytesMax?: number;
  /** All files of one attempt together. Default 1 GiB. */
  readonly allBytesMax?: number;
  /** What is not read by then is recorded without a digest. Default 10 s. */
  readonly timeoutMs?: number;
  /** Aborted when the runner stops. */
  readonly signal?: AbortSignal;
}

export const EVIDENCE_BYTES_MAX: number = 256 * 1024 * 1024;
const ALL_BYTES_MAX = 1024 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
const FILES_MAX = 50;

/**
 * One record for each path, in order; the same path twice is one. Past the limit there is one more record: it names the
 * first that was left out, and says how many were.
 */
export async function collectEvidence(
  paths: readonly string[],
  options: EvidenceOptions,
): Promise<readonly EvidenceFile[]> {
  const { timeoutMs = TIMEOUT_MS, signal } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const limits = {
    leftBytes: options.allBytesMax ?? ALL_BYTES_MAX,
    bytesMax: options.bytesMax ?? EVIDENCE_BYTES_MAX,
    stop: signal === undefined ? late : AbortSignal.any([late, signal]),
    why: () =>
      late.aborted ? `was not read within ${formatDuration(timeoutMs)}` : "was not read: the runner stopped",
  };
  const allowed = await resolvedFolders([options.cwd, ...(options.folders ?? foldersFrom(process.env))]);
  const distinct = [
    ...new Set(paths.map((path) => (path.includes("\0") ? path : resolve(options.cwd, path)))),
  ];
  const files: EvidenceFile[] = [];
  for (const path of distinct.slice(0, FILES_MAX)) {
    const file = await unlessStopped(recordOf(path, { keepIn: options.keepIn, allowed }, limits), limits);
    files.push({ ...(file ?? { path, problem: limits.why() }), host: hostname() });
  }
  const [path, ...more] = distinct.slice(FILES_MAX);
  if (path !== undefined) files.push({ path, problem: leftOut(more.length), host: hostname() });
  return files;
}

function leftOut(more: number): string {
  const others = more === 0 ? "" : ` with ${more} more`;
  return `was left out${others}: of one attempt ${FILES_MAX} files are recorded`;
}

interface Limits {
  leftBytes: number;
  readonly bytesMax: number;
  readonly stop: AbortSignal;
  readonly why: () => string;
}

/** Null when it took too long. A system call that hangs, as on a dead network drive, cannot be ended, only left behind. */
async function unlessStopped<T>(work: Promise<T>, { stop }: Limits): Promise<T | null> {
  let onStop = () => {};
  const stopped = new Promise<null>((end) => {
    onStop = () => end(null);
  });
  if (stop.aborted) onStop();
  else stop.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

function foldersFrom({ REDRIVE_EVIDENCE_FOLDERS = "" }: NodeJS.ProcessEnv): readonly string[] {
  return REDRIVE_EVIDENCE_FOLDERS.split(delimiter).filter((folder) => isAbsolute(folder));
}

/** Without their links. A folder that is not there allows nothing. */
async function resolvedFolders(folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => null)));
  return found.filter((folder) => folder !== null);
}

/** Item data may have a say in what a command names: the runner reads no file that the work has no business with. */
function isAllowed(path: string, allowed: readonly string[]): boolean {
  return allowed.some((folder) => isBelow(path, folder)) && !NEVER.some((folder) => isBelow(path, folder));
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** What is read here is about the process that reads: its environment, its memory, its devices. */
const NEVER = ["/proc", "/sys", "/dev"];

interface Reading {
  readonly keepIn: string | undefined;
  /** Without links. */
  readonly allowed: readonly string[];
}

/**
 * A link is followed, and the record names the file that it leads to: what the path says is what was read. A pipe would
 * wait for somebody who writes, so nothing but a plain file is opened to be read.
 */
async function recordOf(path: string, { keepIn, allowed }: Reading, limits: Limits): Promise<EvidenceFile> {
  let handle: FileHandle | undefined;
  try {
    const real = await realpath(path);
    if (!isAllowed(real, allowed)) return { path: real, problem: OUTSIDE };
    handle = await open(real, OPEN_FLAGS);
    const found = await handle.stat();
    if (!found.isFile())
      return { path: real, problem: found.isDirectory() ? "is a folder" : "is no plain file" };
    return { path: real, ...(await contentOf({ path: real, handle, found }, keepIn, limits)) };
  } catch (error) {
    return isAbsent(error)
      ? { path, missing: true }
      : { path, problem: `cannot be read: ${reasonOf(error)}` };
  } finally {
    await handle?.close();
  }
}

const OUTSIDE =
  "was not read: it is neither below the folder of the work nor in a folder of REDRIVE_EVIDENCE_FOLDERS";
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly found: Stats;
}

async function contentOf(
  file: OpenFile,
  keepIn: string | undefined,
  limits: Limits,
): Promise<Omit<EvidenceFile, "path">> {
  const mediaType = mediaTypeOf(file.path, await headOf(file.handle));
  const about = { bytes: file.found.size, mediaType };
  const most = Math.min(limits.bytesMax, limits.leftBytes);
  if (file.found.size > most) return { ...about, problem: tooLarge(file.found.size, limits) };
  const { sha256, bytes } = await digestOf(file.handle, { ...limits, bytesMax: most });
  limits.leftBytes -= bytes;
  if (bytes > most) return { ...about, problem: tooLarge(bytes, limits) }; // it grew meanwhile
  const kept = keepIn === undefined ? {} : await keep(file.handle, { keepIn, sha256, bytes, limits });
  return compact({ ...about, sha256, bytes, ...kept });
}

function tooLarge(bytes: number, { bytesMax }: Limits): string {
  return bytes > bytesMax
    ? `is too large for a digest (more than ${bytesMax} bytes)`
    : "has no digest: the files of this attempt are too large together";
}

async function headOf(handle: FileHandle): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
  return head.subarray(0, bytesRead);
}

/** A file that grows while it is read is read no further than the limit. */
async function digestOf(handle: FileHandle, limits: Limits): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of piecesOf(handle, limits)) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}

const PIECE_BYTES = 1024 * 1024;

async function* piecesOf(handle: FileHandle, { bytesMax, stop }: Limits): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let at = 0; at <= bytesMax; ) {
    if (stop.aborted) throw new Error("it took too long");
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

interface Keeping {
  readonly keepIn: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly limits: Limits;
}

/** The name of the copy is its content alone: nothing of the item's data gets into a path of ours. */
async function keep(handle: FileHandle, keeping: Keeping): Promise<Pick<EvidenceFile, "kept" | "problem">> {
  const { keepIn, sha256, bytes } = keeping;
  const kept = join(keepIn, sha256.slice(0, 2), sha256);
  try {
    if (!(await isThere(kept, bytes))) {
      await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
      await writeAtomically(kept, unchanged(handle, keeping), { mode: 0o600 });
    }
    return { kept };
  } catch (error) {
    return { problem: `could not be kept: ${reasonOf(error)}` };
  }
}

/** Its time is that of its last naming, so that whoever clears old copies away by age spares the ones that are named. */
async function isThere(kept: string, bytes: number): Promise<boolean> {
  try {
    const now = new Date();
    await utimes(kept, now, now);
    return (await stat(kept)).size === bytes; // a disk that failed once may have left less
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** The bytes again, and an error at their end when they are not those that the digest is of. */
async function* unchanged(handle: FileHandle, { sha256, limits }: Keeping): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const piece of piecesOf(handle, limits)) {
    hash.update(piece);
    yield piece;
  }
  if (hash.digest("hex") !== sha256) throw new Error("it changed while it was copied");
}

function isAbsent(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

function reasonOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (typeof code === "string") return REASONS[code] ?? code;
  return error instanceof Error ? error.message : String(error);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  EROFS: "the file system is read-only",
  ELOOP: "its links go in a circle",
  ENXIO: "it is no plain file",
  ENAMETOOLONG: "its name is too long",
};
