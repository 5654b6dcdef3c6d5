/** Copies evidence files from the stored copy, or else from the original if it still has the recorded content. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join, win32 } from "node:path";
import type { EvidenceFile } from "../item/failure.ts";
import { NOT_READ } from "../item/imported-letter.ts";
import { fileNameOf } from "../item/item.ts";
import { PRIVATE_FOLDER, writeAtomically } from "../std/files.ts";
import { codeOf, messageOf } from "../std/thrown.ts";

export interface NamedEvidence {
  readonly attempt: number;
  readonly file: EvidenceFile;
  /** Whether the file was named by an imported letter. Its path is then never opened. */
  readonly isFromElsewhere?: boolean;
}

export type CopiedEvidence = NamedEvidence &
  ({ readonly copy: string } | { readonly copy?: never; readonly why: string });

/** Copies the files in order. Names start with the attempt and a number, so that they are unique. */
export async function copyEvidence(named: readonly NamedEvidence[], folder: string) {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const copies: CopiedEvidence[] = [];
  for (const [index, one] of named.entries()) {
    const copy = join(folder, `attempt-${one.attempt}-${index + 1}-${nameOf(one.file.path)}`);
    const why = one.isFromElsewhere ? NOT_READ : await copyFile(one.file, copy);
    copies.push(why === undefined ? { ...one, copy } : { ...one, why });
  }
  return copies;
}

/** An imported path may come from Windows; win32.basename understands the separators of all systems. */
function nameOf(path: string): string {
  return fileNameOf(win32.basename(path)) || "file";
}

async function copyFile(file: EvidenceFile, copy: string): Promise<string | undefined> {
  if (file.missing) return "was missing when the attempt ended";
  if (file.problem !== undefined && file.sha256 === undefined) return file.problem;
  try {
    await writeAtomically(copy, asRecorded(file.kept ?? file.path, file.sha256));
    return undefined;
  } catch (error) {
    if (error instanceof Changed) return "has changed since the attempt ended";
    if (codeOf(error) !== "ENOENT") return messageOf(error);
    return file.host === undefined || file.host === hostname() ? "no longer exists" : `is on ${file.host}`;
  }
}

/** Yields the file's bytes, and throws at the end if their digest differs from the recorded one. */
async function* asRecorded(path: string, sha256: string | undefined): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) {
    hash.update(piece as Buffer);
    yield piece as Buffer;
  }
  if (sha256 !== undefined && hash.digest("hex") !== sha256) throw new Changed();
}

class Changed extends Error {}
