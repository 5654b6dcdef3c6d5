/**
 * Serves the console: one page for all its URLs, and files with a content hash in their names. The files are
 * part of the package; in an unbuilt source tree, the server has no console.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { findBuiltFile } from "../std/built-file.ts";

export interface ConsoleFiles {
  page(): Response;
  find(name: string): Response | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Reads all files at startup: there are few, and only listed names are served, so that no path can leave the
 * folder.
 */
export function readConsole(publicPath: string): ConsoleFiles | null {
  const index = findBuiltFile("page/index.html", import.meta.url);
  if (index === undefined) return null;
  const files = filesBelow(dirname(index));
  const html = readFileSync(index, "utf8").replace(
    '<base href="/" />',
    `<base href="${encodeURI(publicPath)}/" />`,
  );
  return {
    page: () => answer(html, ".html", "no-cache"),
    find: (name) => {
      const body = files.get(name);
      const cache = name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
      return body && answer(body, extname(name), cache);
    },
  };
}

function filesBelow(folder: string): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path)]));
}

function answer(body: string | Uint8Array<ArrayBuffer>, type: string, cache: string): Response {
  const contentType = TYPES[type] ?? "application/octet-stream";
  return new Response(body, { headers: { "content-type": contentType, "cache-control": cache } });
}
