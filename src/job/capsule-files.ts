/** The files that attempts left, for a capsule: logs, agents' own logs, evidence. Large ones without their middle. */
import { open } from "node:fs/promises";
import { basename } from "node:path";
import type { CapsuleContent, CapsuleFile } from "../dead-letter/capsule.ts";
import { isFromElsewhere, NOT_READ } from "../item/imported-letter.ts";
import type { Attempt } from "../item/item.ts";
import type { CapsuleMask } from "./capsule-mask.ts";

export interface FoundFiles {
  readonly files: readonly CapsuleFile[];
  readonly missing: readonly string[];
}

/** Of one file, half from its beginning and half from its end; of all together. */
const FILE_BYTES_MAX = 2 * 1024 * 1024;
const ALL_BYTES_MAX = 32 * 1024 * 1024;

/** The newest attempts first: when there is too much, the old ones are left out. */
export async function readFiles(attempts: readonly Attempt[], mask: CapsuleMask): Promise<FoundFiles> {
  const files: CapsuleFile[] = [];
  const missing = attempts
    .filter(isFromElsewhere)
    .flatMap(placesOf)
    .map(({ path }) => `${path} ${NOT_READ}.`);
  const places = attempts
    .filter((attempt) => !isFromElsewhere(attempt))
    .toReversed()
    .flatMap(placesOf);
  let bytes = 0;
  for (const { from, ...place } of places) {
    if (bytes >= ALL_BYTES_MAX) {
      missing.push(`${place.path} was left out: there was too much.`);
      continue;
    }
    try {
      const content = await readCapped(from ?? place.path, mask);
      bytes += content.bytes - content.dropped_bytes;
      files.push({ ...place, ...content });
    } catch (error) {
      missing.push(
        `${place.path} (${basename(place.path)} of attempt ${place.attempt_number}): ${messageOf(error)}`,
      );
    }
  }
  return { files: files.toReversed(), missing };
}

type Place = Pick<CapsuleFile, "kind" | "attempt_number" | "path"> & {
  /** Where it is read, when that is a copy. */
  readonly from?: string;
};

function placesOf({ number, log, failure }: Attempt): readonly Place[] {
  const path = log ?? failure?.log;
  return [
    ...(failure?.evidence ?? []).map(
      (file): Place => ({
        kind: "evidence",
        attempt_number: number,
        path: file.path,
        ...(file.kept !== undefined && { from: file.kept }),
      }),
    ),
    ...of("json_log", number, failure?.jsonLogLocation),
    ...of("log", number, path),
  ];
}

function of(kind: Place["kind"], attempt_number: number, path: string | undefined): readonly Place[] {
  return path === undefined ? [] : [{ kind, attempt_number, path }];
}

/** Reads no more than the limit, however large the file is. */
async function readCapped(path: string, mask: CapsuleMask): Promise<CapsuleContent> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const part = async (start: number, length: number) => {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await handle.read(buffer, 0, length, start);
      return buffer.subarray(0, bytesRead);
    };
    if (size <= FILE_BYTES_MAX) return contentOf(mask.bytes(await part(0, size)), size, 0);
    const half = FILE_BYTES_MAX / 2;
    const dropped = size - FILE_BYTES_MAX;
    const [head, tail] = [mask.bytes(await part(0, half)), mask.bytes(await part(size - half, half))];
    const note = Buffer.from(`\n[... ${dropped} bytes are not in this capsule ...]\n`);
    return contentOf(Buffer.concat([head, note, tail]), size, dropped);
  } finally {
    await handle.close();
  }
}

/** As text when that says the same. */
export function contentOf(content: Buffer, bytes: number, droppedBytes: number): CapsuleContent {
  const text = content.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(content);
  return {
    encoding: isText ? "utf8" : "base64",
    content: isText ? text : content.toString("base64"),
    bytes,
    dropped_bytes: droppedBytes,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
