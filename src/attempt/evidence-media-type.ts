/**
 * What kind of file a piece of evidence is, by the numbers that its format begins with, else by whether it is text and by
 * its name. It knows what people take as evidence, calls the rest plain bytes, and looks at nothing but the beginning.
 */
import { extname } from "node:path";

/** How much of a file's beginning is looked at. */
export const HEAD_BYTES = 512;

/** Of a file with this name that begins with these bytes. */
export function mediaTypeOf(name: string, head: Buffer): string {
  const magic = MAGIC.find(({ at = 0, bytes }) => head.subarray(at, at + bytes.length).equals(bytes));
  const byName = BY_NAME[extname(name).toLowerCase()];
  if (magic === undefined) {
    if (!isText(head)) return "application/octet-stream";
    return byName?.family === "text" ? byName.type : "text/plain";
  }
  // An office document is a ZIP; only its name tells which.
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

/** UTF-8 without control characters that no text has; the last character may be cut. */
function isText(head: Buffer): boolean {
  for (const byte of head) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b)
      return false;
  }
  const text = head.toString("utf8");
  const broken = text.indexOf("\ufffd");
  return broken < 0 || broken >= text.length - 3;
}
