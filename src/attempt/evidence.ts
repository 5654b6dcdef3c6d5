/** Records the files that a failed attempt named as evidence. It never throws: the record says what could not be read. */
import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { delimiter, dirname, extname, isAbsolute, join, resolve, sep } from "node:path";
import type { EvidenceFile } from "../item/failure.ts";
import { formatDuration } from "../std/duration.ts";
import { writeAtomically } from "../std/files.ts";
import { compact } from "../std/json.ts";

export interface EvidenceOptions {
  /** The working directory. Relative paths start here, and only files below it are read. */
  readonly cwd: string;
  /** Other folders whose files may be read. Default: those of `REDRIVE_EVIDENCE_FOLDERS`. */
  readonly folders?: readonly string[];
  /** The folder for copies, named by their digest. Default: no copies. */
  readonly keepIn?: string;
  /** Larger files get neither a digest nor a copy. Default 256 MiB. */
  readonly bytesMax?: number;
  /** All files of one attempt together. Default 1 GiB. */
  readonly allBytesMax?: number;
  /** Files that are not read by then have no digest. Default 10 s. */
  readonly timeoutMs?: number;
  /** Aborted when the runner stops. */
  readonly signal?: AbortSignal;
}

export const EVIDENCE_BYTES_MAX: number = 256 * 1024 * 1024;
const ALL_BYTES_MAX = 1024 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
const FILES_MAX = 50;

/** One record for each distinct path, in order. Beyond the limit, one more record counts those that were left out. */
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
  return `was left out${others}: at most ${FILES_MAX} files of an attempt are recorded`;
}

interface Limits {
  leftBytes: number;
  readonly bytesMax: number;
  readonly stop: AbortSignal;
  readonly why: () => string;
}

/** Null when it took too long. A system call that hangs, as on a dead network drive, cannot be ended, only abandoned. */
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

/** Resolves symbolic links and drops folders that do not exist. */
async function resolvedFolders(folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => null)));
  return found.filter((folder) => folder !== null);
}

/** Item data may influence which paths a command names, so only files in allowed folders are read. */
function isAllowed(path: string, allowed: readonly string[]): boolean {
  return (
    allowed.some((folder) => isBelow(path, folder)) && !FORBIDDEN.some((folder) => isBelow(path, folder))
  );
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Files here describe the reading process itself: its environment, memory and devices. */
const FORBIDDEN = ["/proc", "/sys", "/dev"];

interface RecordOptions {
  readonly keepIn: string | undefined;
  /** With symbolic links resolved. */
  readonly allowed: readonly string[];
}

/** Follows symbolic links. Only regular files are opened, because opening a pipe would block until there is a writer. */
async function recordOf(
  path: string,
  { keepIn, allowed }: RecordOptions,
  limits: Limits,
): Promise<EvidenceFile> {
  let handle: FileHandle | undefined;
  try {
    const real = await realpath(path);
    if (!isAllowed(real, allowed)) return { path: real, problem: OUTSIDE };
    handle = await open(real, OPEN_FLAGS);
    const found = await handle.stat();
    if (!found.isFile())
      return { path: real, problem: found.isDirectory() ? "is a folder" : "is not a regular file" };
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
  "was not read: it is neither in the working directory nor in a folder of REDRIVE_EVIDENCE_FOLDERS";
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
    : "has no digest: the files of this attempt exceed the total limit";
}

async function headOf(handle: FileHandle): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
  return head.subarray(0, bytesRead);
}

/** Stops at the limit when a file grows while it is read. */
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

/** The copy is named by its digest, so that item data never becomes part of a path. */
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

/** Updates the time of the copy, so that a cleanup by age spares copies that were named recently. */
async function isThere(kept: string, bytes: number): Promise<boolean> {
  try {
    const now = new Date();
    await utimes(kept, now, now);
    return (await stat(kept)).size === bytes; // an earlier write may have failed
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Reads the bytes again, and throws at the end when their digest has changed. */
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
  ELOOP: "its symbolic links are circular",
  ENXIO: "it is not a regular file",
  ENAMETOOLONG: "its name is too long",
};

/** How many bytes the media type depends on. */
const HEAD_BYTES = 512;

/** The media type by the magic number, else by the extension if the content is text, else plain bytes. */
export function mediaTypeOf(name: string, head: Buffer): string {
  const magic = MAGIC.find(({ at = 0, bytes }) => head.subarray(at, at + bytes.length).equals(bytes));
  const byName = BY_NAME[extname(name).toLowerCase()];
  if (magic === undefined) {
    if (!isText(head)) return "application/octet-stream";
    return byName?.family === "text" ? byName.type : "text/plain";
  }
  // Office documents are ZIP files; only the extension tells them apart.
  return magic.type === "application/zip" && byName?.family === "zip" ? byName.type : magic.type;
}

interface Magic {
  readonly type: string;
  readonly bytes: Buffer;
  readonly at?: number;
}

const MAGIC: readonly Magic[] = [
  { type: "image/png", bytes: Buffer.from("89504e470d0a1a0a", "hex") },
  { type: "image/jpeg", bytes: Buffer.from("ffd8ff", "hex") },
  { type: "image/gif", bytes: Buffer.from("GIF8") },
  { type: "image/webp", bytes: Buffer.from("WEBPVP8"), at: 8 },
  { type: "image/tiff", bytes: Buffer.from("49492a00", "hex") },
  { type: "image/tiff", bytes: Buffer.from("4d4d002a", "hex") },
  { type: "video/webm", bytes: Buffer.from("1a45dfa3", "hex") },
  { type: "video/mp4", bytes: Buffer.from("ftyp"), at: 4 },
  { type: "application/pdf", bytes: Buffer.from("%PDF-") },
  { type: "application/zip", bytes: Buffer.from("504b0304", "hex") },
  { type: "application/gzip", bytes: Buffer.from("1f8b08", "hex") },
  { type: "application/zstd", bytes: Buffer.from("28b52ffd", "hex") },
  { type: "application/vnd.sqlite3", bytes: Buffer.from("SQLite format 3\0") },
  { type: "application/x-elf", bytes: Buffer.from("7f454c46", "hex") },
];

interface Named {
  readonly family: "text" | "zip";
  readonly type: string;
}

const OFFICE = "application/vnd.openxmlformats-officedocument";

const BY_NAME: Readonly<Record<string, Named>> = {
  ".json": { family: "text", type: "application/json" },
  ".jsonl": { family: "text", type: "application/jsonl" },
  ".har": { family: "text", type: "application/json" },
  ".xml": { family: "text", type: "application/xml" },
  ".svg": { family: "text", type: "image/svg+xml" },
  ".html": { family: "text", type: "text/html" },
  ".htm": { family: "text", type: "text/html" },
  ".csv": { family: "text", type: "text/csv" },
  ".md": { family: "text", type: "text/markdown" },
  ".yml": { family: "text", type: "application/yaml" },
  ".yaml": { family: "text", type: "application/yaml" },
  ".docx": { family: "zip", type: `${OFFICE}.wordprocessingml.document` },
  ".xlsx": { family: "zip", type: `${OFFICE}.spreadsheetml.sheet` },
  ".pptx": { family: "zip", type: `${OFFICE}.presentationml.presentation` },
};

/** UTF-8 without unusual control characters; the last character may be cut. */
function isText(head: Buffer): boolean {
  for (const byte of head) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b)
      return false;
  }
  const text = head.toString("utf8");
  const broken = text.indexOf("\ufffd");
  return broken < 0 || broken >= text.length - 3;
}
