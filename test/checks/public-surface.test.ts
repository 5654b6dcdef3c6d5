/** src/index.ts is the whole public surface: listed by name, and every name with a doc line, there or where it is declared. */
import { describe, expect, it } from "vitest";
import { readSources } from "./sources.ts";

const sources = readSources();
const index = sources.find((source) => source.path === "index.ts")?.text ?? "";

interface Name {
  readonly name: string;
  readonly path: string;
  /** The list says what it is. */
  readonly isDocumented: boolean;
}

const EXPORTS = /^export (?:type )?\{([^}]*)\} from "\.\/([^"]+)"/gm;

const names: readonly Name[] = [...index.matchAll(EXPORTS)].flatMap(([, list = "", path = ""]) =>
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

function declaration({ name, path }: Name): string | undefined {
  const text = sources.find((source) => source.path === path)?.text ?? "";
  const lines = text.split("\n");
  const pattern = new RegExp(`^export (?:async )?(?:function\\*? |const |class |interface |type )${name}\\b`);
  const at = lines.findIndex((line) => pattern.test(line));
  return at < 0 ? undefined : (lines[at - 1] ?? "");
}

describe("the public surface", () => {
  it("lists its names one by one", () => {
    expect(names.length).toBeGreaterThan(40);
    expect(index).not.toMatch(/export \*/);
  });

  it("every name is declared in the file that it is taken from", () => {
    expect(names.filter((name) => declaration(name) === undefined)).toEqual([]);
  });

  it("every name has a doc line", () => {
    const bare = names.filter((name) => !name.isDocumented && !declaration(name)?.trimEnd().endsWith("*/"));
    expect(bare.map(({ name, path }) => `${name} (${path})`)).toEqual([]);
  });
});
