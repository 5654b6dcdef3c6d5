/**
 * Records the files that a failed attempt reported as evidence. Never throws: the record states which files
 * could not be read.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { delimiter, dirname, extname, isAbsolute, join, resolve, sep } from "node:path";
import type { EvidenceFile } from "../item/failure.ts";
import { formatDuration } from "../std/duration.ts";
import { writeAtomically } from "../std/files.ts";
import { compact } from "../std/json.ts";
import { codeOf, messageOf } from "../std/thrown.ts";

interface EvidenceOptions {
  /** The working directory, for relative paths. Files below it may be read. */
  readonly cwd: string;
  /** Other folders whose files may be read. Default: those of `REDRIVE_EVIDENCE_FOLDERS`. */
  readonly folders?: readonly string[];
  /** The folder for copies, named by their digest. Default: no copies. */
  readonly keepIn?: string | undefined;
  /** Larger files get neither a digest nor a copy. Default 256 MiB. */
  readonly bytesMax?: number;
  /** The limit for all files of one attempt together. Default 1 GiB. */
  readonly allBytesMax?: number;
  /** Files that are not read within this time have no digest. Default 10 s. */
  readonly timeoutMs?: number;
  /** Aborted when the runner stops. */
  readonly signal?: AbortSignal;
}

const EVIDENCE_BYTES_MAX = 256 * 1024 * 1024;
const ALL_BYTES_MAX = 1024 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
const FILES_MAX = 50;

/** Returns one record per distinct path, in order. Beyond the limit, one more record counts the omitted files. */
export async function collectEvidence(
  paths: readonly string[],
  options: EvidenceOptions,
): Promise<readonly EvidenceFile[]> {
  const { cwd, timeoutMs = TIMEOUT_MS, signal, keepIn } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const reading: Reading = {
    allowed: await resolvedFolders([cwd, ...(options.folders ?? foldersFrom(process.env))]),
    keepIn,
    leftBytes: options.allBytesMax ?? ALL_BYTES_MAX,
    bytesMax: options.bytesMax ?? EVIDENCE_BYTES_MAX,
    stop: signal === undefined ? late : AbortSignal.any([late, signal]),
  };
  const resolved = paths.map((path) => (path.includes("\0") ? path : resolve(cwd, path)));
  const distinct = [...new Set(resolved)];
  const host = hostname();
  const files: EvidenceFile[] = [];
  for (const path of distinct.slice(0, FILES_MAX)) {
    const file = await unlessStopped(recordOf(path, reading), reading);
    const why = late.aborted ? ` within ${formatDuration(timeoutMs)}` : ": the runner stopped";
    files.push({ ...(file ?? { path, problem: `was not read${why}` }), host });
  }
  const [path, ...more] = distinct.slice(FILES_MAX);
  if (path === undefined) return files;
  const others = more.length === 0 ? "" : ` with ${more.length} more`;
  const problem = `was left out${others}: at most ${FILES_MAX} files per attempt are recorded`;
  return [...files, { path, problem, host }];
}

/** Limits and options for reading the files of one attempt. */
interface Reading {
  /** The folders whose files may be read, with symbolic links resolved. */
  readonly allowed: readonly string[];
  readonly keepIn: string | undefined;
  leftBytes: number;
  readonly bytesMax: number;
  readonly stop: AbortSignal;
}

/** Null after a stop or timeout. A hanging system call, e.g. on a dead network drive, can only be abandoned. */
async function unlessStopped<T>(work: Promise<T>, { stop }: Reading): Promise<T | null> {
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

/** Item data may influence which paths a command reports, so only files in allowed folders are read. */
function isAllowed(path: string, allowed: readonly string[]): boolean {
  const isBelow = (folder: string) => path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
  return allowed.some(isBelow) && (isBelow(MEMORY) || !FORBIDDEN.some(isBelow));
}

/** Files here describe the reading process itself: its environment, memory and devices. */
const FORBIDDEN = ["/proc", "/sys", "/dev"];
/** Ordinary files, kept in memory. */
const MEMORY = "/dev/shm";

/** Follows symbolic links. Only regular files are opened, because opening a pipe would block until there is a writer. */
async function recordOf(path: string, reading: Reading): Promise<EvidenceFile> {
  let handle: FileHandle | undefined;
  try {
    const real = await realpath(path);
    if (!isAllowed(real, reading.allowed)) return { path: real, problem: OUTSIDE };
    handle = await open(real, OPEN_FLAGS);
    const found = await handle.stat();
    if (!found.isFile())
      return { path: real, problem: found.isDirectory() ? "is a folder" : "is not a regular file" };
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
    const mediaType = mediaTypeOf(real, head.subarray(0, bytesRead));
    return { path: real, ...(await contentOf(handle, { bytes: found.size, mediaType }, reading)) };
  } catch (error) {
    return isAbsent(error)
      ? { path, missing: true }
      : { path, problem: `cannot be read: ${reasonOf(error)}` };
  } finally {
    await handle?.close();
  }
}

const OUTSIDE =
  "was not read: it is neither in the working directory nor in a folder listed in REDRIVE_EVIDENCE_FOLDERS";
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

async function contentOf(
  handle: FileHandle,
  about: { readonly bytes: number; readonly mediaType: string },
  reading: Reading,
): Promise<Omit<EvidenceFile, "path">> {
  const most = Math.min(reading.bytesMax, reading.leftBytes);
  if (about.bytes > most) return { ...about, problem: tooLarge(about.bytes, reading) };
  const { sha256, bytes } = await digestOf(handle, { ...reading, bytesMax: most });
  reading.leftBytes -= bytes;
  if (bytes > most) return { ...about, problem: tooLarge(bytes, reading) }; // the file has grown meanwhile
  return compact({ ...about, sha256, bytes, ...(await keep(handle, sha256, bytes, reading)) });
}

function tooLarge(bytes: number, { bytesMax }: Reading): string {
  return bytes > bytesMax
    ? `is too large for a digest (more than ${bytesMax} bytes)`
    : "has no digest: the files of this attempt exceed the total limit";
}

/** Stops at the limit if the file grows while it is read. */
async function digestOf(handle: FileHandle, reading: Reading): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of piecesOf(handle, reading)) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}

const PIECE_BYTES = 1024 * 1024;

async function* piecesOf(handle: FileHandle, { bytesMax, stop }: Reading): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let at = 0; at <= bytesMax; ) {
    if (stop.aborted) throw new Error("it took too long");
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** The copy is named by its digest, so that item data never becomes part of a path. */
async function keep(handle: FileHandle, sha256: string, bytes: number, reading: Reading) {
  if (reading.keepIn === undefined) return {};
  const kept = join(reading.keepIn, sha256.slice(0, 2), sha256);
  try {
    if (!(await isThere(kept, bytes))) {
      await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
      await writeAtomically(kept, unchanged(handle, sha256, reading), { mode: 0o600 });
    }
    return { kept };
  } catch (error) {
    return { problem: `could not be kept: ${reasonOf(error)}` };
  }
}

/** Updates the timestamp of the copy, so that a cleanup by age keeps copies that were used recently. */
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
async function* unchanged(handle: FileHandle, sha256: string, reading: Reading): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const piece of piecesOf(handle, reading)) {
    hash.update(piece);
    yield piece;
  }
  if (hash.digest("hex") !== sha256) throw new Error("it changed while it was copied");
}

function isAbsent(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return code === undefined ? messageOf(error) : (REASONS[code] ?? code);
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

/** How many bytes are read to detect the media type. */
const HEAD_BYTES = 512;

/** Returns the media type by magic number, else by extension if the content is text, else the type of binary data. */
export function mediaTypeOf(name: string, head: Buffer): string {
  const bytes = head.toString("latin1");
  const type = MAGIC.find(([, magic, at = 0]) => bytes.startsWith(magic, at))?.[0];
  const extension = extname(name).toLowerCase();
  // Office documents are ZIP files; only the extension distinguishes them.
  if (type !== undefined) return type === ZIP ? (ZIP_TYPES.get(extension) ?? type) : type;
  return isText(head) ? (TEXT_TYPES.get(extension) ?? "text/plain") : "application/octet-stream";
}

const ZIP = "application/zip";

/** A media type, the magic bytes of its files, and their offset. */
const MAGIC: readonly (readonly [type: string, magic: string, at?: number])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF8"],
  ["image/webp", "WEBPVP8", 8],
  ["image/tiff", "II*\0"],
  ["image/tiff", "MM\0*"],
  ["video/webm", "\x1aE\xdf\xa3"],
  ["video/mp4", "ftyp", 4],
  ["application/pdf", "%PDF-"],
  [ZIP, "PK\x03\x04"],
  ["application/gzip", "\x1f\x8b\x08"],
  ["application/zstd", "(\xb5/\xfd"],
  ["application/vnd.sqlite3", "SQLite format 3\0"],
  ["application/x-elf", "\x7fELF"],
];

const OFFICE = "application/vnd.openxmlformats-officedocument";
const ZIP_TYPES: ReadonlyMap<string, string> = new Map([
  [".docx", `${OFFICE}.wordprocessingml.document`],
  [".xlsx", `${OFFICE}.spreadsheetml.sheet`],
  [".pptx", `${OFFICE}.presentationml.presentation`],
]);
const TEXT_TYPES: ReadonlyMap<string, string> = new Map([
  [".json", "application/json"],
  [".jsonl", "application/jsonl"],
  [".har", "application/json"],
  [".xml", "application/xml"],
  [".svg", "image/svg+xml"],
  [".html", "text/html"],
  [".htm", "text/html"],
  [".csv", "text/csv"],
  [".md", "text/markdown"],
  [".yml", "application/yaml"],
  [".yaml", "application/yaml"],
]);

/** Whether the bytes are UTF-8 without unusual control characters. The last character may be cut. */
function isText(head: Buffer): boolean {
  const text = head.toString("utf8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters that text does not contain
  if (/[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text)) return false;
  const broken = text.indexOf("\ufffd");
  return broken < 0 || broken >= text.length - 3;
}
