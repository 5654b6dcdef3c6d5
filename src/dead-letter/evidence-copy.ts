/**
 * Brings files of evidence into a folder: the copy that was kept, else the file itself, if it is still what was recorded.
 * Only what lies on this machine can be brought; of the rest it says where it is.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join, win32 } from "node:path";
import type { EvidenceFile } from "../item/evidence-file.ts";
import { NOT_READ } from "../item/imported-letter.ts";
import { fileNameOf } from "../item/item-path.ts";
import { writeAtomically } from "../kit/atomic-file.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";

/** A file that an attempt named. */
export interface NamedEvidence {
  readonly attempt: number;
  readonly file: EvidenceFile;
  /** Named by an imported letter: the path is not opened. */
  readonly isFromElsewhere?: boolean;
}

/** What became of it: where it is now, or why it is not. */
export type Brought = NamedEvidence &
  ({ readonly copy: string } | { readonly copy?: never; readonly why: string });

/** One after the other, in order; the names begin with the attempt and a number, so that no two are the same. */
export async function bringEvidence(
  named: readonly NamedEvidence[],
  folder: string,
): Promise<readonly Brought[]> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const brought: Brought[] = [];
  for (const [index, one] of named.entries()) {
    const copy = join(folder, `attempt-${one.attempt}-${index + 1}-${nameOf(one.file.path)}`);
    const why = one.isFromElsewhere ? NOT_READ : await bring(one.file, copy);
    brought.push(why === undefined ? { ...one, copy } : { ...one, why });
  }
  return brought;
}

/** Of a path of any system: what came from elsewhere may have been on Windows, whose words include those of others. */
function nameOf(path: string): string {
  return fileNameOf(win32.basename(path)) || "file";
}

/** Undefined when it is there. */
async function bring(file: EvidenceFile, copy: string): Promise<string | undefined> {
  if (file.missing) return "was missing when the attempt ended";
  if (file.problem !== undefined && file.sha256 === undefined) return file.problem;
  try {
    await writeAtomically(copy, asRecorded(file.kept ?? file.path, file.sha256));
    return undefined;
  } catch (error) {
    return reasonOf(error, file);
  }
}

/** The bytes, and an error at their end when they are not those that the attempt named. */
async function* asRecorded(path: string, sha256: string | undefined): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) {
    hash.update(piece as Buffer);
    yield piece as Buffer;
  }
  if (sha256 !== undefined && hash.digest("hex") !== sha256) throw new Changed();
}

class Changed extends Error {}

function reasonOf(error: unknown, { host }: EvidenceFile): string {
  if (error instanceof Changed) return "is not what it was when the attempt ended";
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (code !== "ENOENT") return error instanceof Error ? error.message : String(error);
  return host === undefined || host === hostname() ? "is not there any more" : `is on ${host}`;
}
