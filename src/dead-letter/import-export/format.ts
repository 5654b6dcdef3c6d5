/** The formats of exported and imported letters, and how they are recognized by file name or content. */

/**
 * `json`: one document `{items, total}`. `jsonl`: one letter per line. `csv`: one letter per row.
 * `error-body`: one failure per line, in the format of Power Automate's error queues. `receipts`: one array
 * of undelivered receipts, like `receipts.json`. `directory`: one file per letter.
 */
export const EXPORT_FORMATS = ["json", "jsonl", "csv", "error-body", "receipts", "directory"] as const;
/** One of `EXPORT_FORMATS`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Every export format can be imported. */
export const IMPORT_FORMATS = EXPORT_FORMATS;
/** One of `IMPORT_FORMATS`. */
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export type Compression = "none" | "gzip" | "zstd";

/** Detects the compression by the file name: `.gz`, `.zst`. */
export function compressionOfName(path: string): Compression {
  if (/\.gz$/i.test(path)) return "gzip";
  return /\.zst$/i.test(path) ? "zstd" : "none";
}

/** Detects the format by the file name without its compression suffix; undefined if the name has no known suffix. */
export function formatOfName(path: string): Exclude<ExportFormat, "error-body" | "receipts"> | undefined {
  if (path.endsWith("/")) return "directory";
  const name = path.replace(/\.(gz|zst)$/i, "").toLowerCase();
  if (name.endsWith(".json")) return "json";
  if (name.endsWith(".jsonl") || name.endsWith(".ndjson")) return "jsonl";
  return name.endsWith(".csv") ? "csv" : undefined;
}

/** Detects the compression by the first bytes, so that a renamed file is still recognized. */
export function compressionOfBytes(head: Buffer): Compression {
  const magic = head.toString("hex", 0, 4);
  if (magic.startsWith("1f8b")) return "gzip";
  return magic === "28b52ffd" ? "zstd" : "none";
}
