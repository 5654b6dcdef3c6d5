/**
 * Sends files with range requests. A file is sent only from a folder that the caller specifies, whatever its
 * path is.
 */
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { sep } from "node:path";
import { Readable } from "node:stream";
import { RedriveError } from "../errors.ts";
import { RequestError } from "./problem.ts";

export interface FileAnswer {
  /** The folder that must contain the file after all links are resolved. */
  readonly folder: string;
  readonly path: string;
  /** The part of the file to send. Default: all of it. */
  readonly part?: { readonly from: number; readonly bytes: number };
  readonly contentType: string;
  /** The file name for saving in a browser. Default: the file is displayed. */
  readonly name?: string;
}

export async function fileResponse(headers: Headers, answer: FileAnswer): Promise<Response> {
  const path = await pathInside(answer);
  const { from, bytes: size } = answer.part ?? { from: 0, bytes: (await stat(path)).size };
  const range = rangeOf(headers.get("range"), size);
  const common = {
    "content-type": answer.contentType,
    "accept-ranges": "bytes",
    ...(answer.name !== undefined && { "content-disposition": dispositionOf(answer.name) }),
  };
  if (range === null) {
    const body = size === 0 ? "" : bodyOf(path, { start: from, end: from + size - 1 });
    return new Response(body, { headers: { ...common, "content-length": String(size) } });
  }
  const { start, end } = range;
  return new Response(bodyOf(path, { start: from + start, end: from + end }), {
    status: 206,
    headers: {
      ...common,
      "content-range": `bytes ${start}-${end}/${size}`,
      "content-length": String(end - start + 1),
    },
  });
}

function bodyOf(
  path: string,
  range: { readonly start: number; readonly end: number },
): ReadableStream<Uint8Array> {
  return Readable.toWeb(createReadStream(path, range)) as ReadableStream<Uint8Array>;
}

/** Resolves links, so that a link inside the folder cannot lead outside. */
async function pathInside({ folder, path }: FileAnswer): Promise<string> {
  const gone = () => new RedriveError("log_not_found", "The file no longer exists on this server.");
  const [root, real] = await Promise.all([realpath(folder), realpath(path)]).catch(() => {
    throw gone();
  });
  if (!real.startsWith(root + sep) || !(await stat(real)).isFile()) throw gone();
  return real;
}

/** Parses a single range. Requests for several ranges get the whole file, as the standard allows. */
function rangeOf(
  header: string | null,
  size: number,
): { readonly start: number; readonly end: number } | null {
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (from === "" && to === "") return null;
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start <= end && start < size) return { start, end };
  throw new RequestError("range_invalid", `The file has ${size} bytes.`, {
    headers: { "content-range": `bytes */${size}` },
  });
}

/** Encodes the name, so that no character in it can end the header. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\w.-]+/g, "_").slice(0, 100) || "file";
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name.slice(0, 200))}`;
}
