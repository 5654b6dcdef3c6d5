/** ARCHITECTURE.md names files: each of them is there, and every folder of src/ that is worked in is named. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./sources.ts";

const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const codeMap = page.slice(page.indexOf("## Code map"), page.indexOf("## Invariants"));

const rows = [...codeMap.matchAll(/^\| (`(?:src|launcher)\/.*?) \| (.*) \|$/gm)].map(
  ([, where = "", what = ""]) => ({
    folder: folderOf(where),
    named: [...`${where} ${what}`.matchAll(/`([\w./*-]+(?:\.ts|\.c|\/))`/g)].map((match) => match[1] ?? ""),
  }),
);

function folderOf(where: string): string {
  const path = /`([^`]+)`/.exec(where)?.[1] ?? "";
  return path.endsWith("/") ? path : dirname(path);
}

describe("the code map", () => {
  it("names only existing files", () => {
    expect(rows.length).toBeGreaterThan(20);
    const missing = rows.flatMap(({ folder, named }) =>
      named.filter((name) => !["", "src", folder].some((base) => existsSync(join(ROOT, base, name)))),
    );
    expect(missing).toEqual([]);
  });

  it("has a row for every folder of src/", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((one) =>
      one.isDirectory(),
    );
    expect(folders.map(({ name }) => `src/${name}/`).filter((folder) => !codeMap.includes(folder))).toEqual(
      [],
    );
  });

  it("the table of invariants names only existing files", () => {
    const table = page.slice(page.indexOf("## Invariants"), page.indexOf("## Decisions"));
    const named = [...table.matchAll(/`([a-z][\w/*-]*\/[\w*/-]+\.ts)`/g)].map((match) => match[1] ?? "");
    expect(named.length).toBeGreaterThan(8);
    const paths = named.flatMap((name) => ["sqlite", "postgres"].map((engine) => name.replace("*", engine)));
    const missing = paths.filter(
      (path) => ![ROOT, join(ROOT, "src")].some((base) => existsSync(join(base, path))),
    );
    expect([...new Set(missing)]).toEqual([]);
  });
});
