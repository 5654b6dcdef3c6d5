/** The public surface: src/index.ts and the subpaths, listed by name, each name with a doc line. */
import { describe, expect, it } from "vitest";
import { readSources } from "./sources.ts";

const sources = readSources();
const entries = sources.filter(({ path }) => path === "index.ts" || path.startsWith("exports/"));

interface Name {
  readonly name: string;
  readonly path: string;
  /** The list says what it is. */
  readonly isDocumented: boolean;
}

const EXPORTS = /^export (?:type )?\{([^}]*)\} from "\.{1,2}\/([^"]+)"/gm;

function namesOf(text: string): readonly Name[] {
  return [...text.matchAll(EXPORTS)].flatMap(([, list = "", path = ""]) =>
    list
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "")
      .map((entry) => ({
        name: /\w+$/.exec(entry)?.[0] ?? entry,
        path,
        isDocumented: entry.startsWith("/**"),
      })),
  );
}

const names = entries.flatMap(({ text }) => namesOf(text));

function declaration({ name, path }: Name): string | undefined {
  const text = sources.find((source) => source.path === path)?.text ?? "";
  const lines = text.split("\n");
  const pattern = new RegExp(`^export (?:async )?(?:function\\*? |const |class |interface |type )${name}\\b`);
  const at = lines.findIndex((line) => pattern.test(line));
  return at < 0 ? undefined : (lines[at - 1] ?? "");
}

describe("the public surface", () => {
  it("lists its names one by one", () => {
    expect(entries.length).toBeGreaterThan(2);
    expect(entries.filter(({ text }) => /export \*/.test(text))).toEqual([]);
  });

  it("has at most 45 names at the root", () => {
    const root = entries.filter(({ path }) => path === "index.ts").flatMap(({ text }) => namesOf(text));
    expect(root.length).toBeGreaterThan(20);
    expect(root.length).toBeLessThanOrEqual(45);
  });

  it("every name is declared in the file that it is exported from", () => {
    expect(names.filter((name) => declaration(name) === undefined)).toEqual([]);
  });

  it("every name has a doc line", () => {
    const bare = names.filter((name) => !name.isDocumented && !declaration(name)?.trimEnd().endsWith("*/"));
    expect(bare.map(({ name, path }) => `${name} (${path})`)).toEqual([]);
  });
});
