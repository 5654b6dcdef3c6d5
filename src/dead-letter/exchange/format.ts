/** The forms in which letters leave and come in, and what the name of a file says about its form. */

/**
 * `json`: one document `{items, total}`. `jsonl`: a letter a line. `csv`: a letter a row. `error-body`: a failure a line,
 * in the words of Power Automate's error queues. `receipts`: one array of undelivered receipts, as `receipts.json` has
 * them. `directory`: a file for each letter.
 */
export const EXPORT_FORMATS = ["json", "jsonl", "csv", "error-body", "receipts", "directory"] as const;
/** One of `EXPORT_FORMATS`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What was exported can be imported. */
export const IMPORT_FORMATS = EXPORT_FORMATS;
/** One of `IMPORT_FORMATS`. */
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** How the bytes of a file are packed. */
export type Compression = "none" | "gzip" | "zstd";

/** By the end of the name: `.gz`, `.zst`. */
export function compressionOfName(path: string): Compression {
  if (/\.gz$/i.test(path)) return "gzip";
  return /\.zst$/i.test(path) ? "zstd" : "none";
}

/** By the end of the name, a compression put aside; undefined when it says nothing. */
export function formatOfName(path: string): Exclude<ExportFormat, "error-body" | "receipts"> | undefined {
  if (path.endsWith("/")) return "directory";
  const name = path.replace(/\.(gz|zst)$/i, "").toLowerCase();
  if (name.endsWith(".json")) return "json";
  if (name.endsWith(".jsonl") || name.endsWith(".ndjson")) return "jsonl";
  return name.endsWith(".csv") ? "csv" : undefined;
}

const MAGIC: readonly (readonly [Compression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];

/** By the first bytes. A file that was renamed is what it is. */
export function compressionOfBytes(head: Buffer): Compression {
  const found = MAGIC.find(([, magic]) => magic.every((byte, index) => head[index] === byte));
  return found?.[0] ?? "none";
}
