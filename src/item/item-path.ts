/** An item's id as a file name, such that no two ids share one and none can be another file's path. */
import { createHash } from "node:crypto";
import { join } from "node:path";

const NAME_BYTES_MAX = 160;
const HASH_DIGITS = 16;

/** Letters, digits, `-`, `_` and inner dots stay; every other byte becomes `%XX`. Long names end in a hash. */
export function fileNameOf(itemId: string): string {
  const safe = itemId.replace(/^\.|[^A-Za-z0-9._-]/gu, encodeBytes);
  if (safe.length <= NAME_BYTES_MAX) return safe;
  const hash = createHash("sha256").update(itemId).digest("hex").slice(0, HASH_DIGITS);
  return `${safe.slice(0, NAME_BYTES_MAX - HASH_DIGITS - 1)}~${hash}`;
}

/** Where the logs of a job lie in a home, and those of one item of it. */
export function jobLogsFolder(home: string, jobId: string): string {
  return join(home, "logs", fileNameOf(jobId));
}

export function itemLogsFolder(home: string, jobId: string, itemId: string): string {
  return join(jobLogsFolder(home, jobId), fileNameOf(itemId));
}

function encodeBytes(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
