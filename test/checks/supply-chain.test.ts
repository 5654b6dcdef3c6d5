/** What is installed with the package: known by its content, and loaded only by those who use it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSources } from "./sources.ts";

interface LockEntry {
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Readonly<Record<string, LockEntry>>;
};

describe("the supply chain", () => {
  it("has a digest of every installed entry; only tools for other platforms may lack theirs", () => {
    const entries = Object.entries(packages).filter(([name]) => name !== "");
    expect(entries.length).toBeGreaterThan(50);
    const open = entries.filter(([, { integrity, dev, optional }]) => !integrity && !(dev && optional));
    expect(open.map(([name]) => name)).toEqual([]);
    const weak = entries.filter(([, { integrity }]) => integrity && !integrity.startsWith("sha512-"));
    expect(weak.map(([name]) => name)).toEqual([]);
  });

  it("the MCP SDK is imported only when a target speaks MCP", () => {
    const imports = readSources().flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ target, isLazy, isType }) => target.startsWith("@modelcontextprotocol/") && !isLazy && !isType,
        )
        .map(() => path),
    );
    expect(imports).toEqual([]);
  });

  it("OpenTelemetry is imported only by redrive/otel, because it is optional", () => {
    const users = readSources().filter(({ imports }) =>
      imports.some(({ target }) => target.startsWith("@opentelemetry/")),
    );
    expect(users.map(({ path }) => path)).toEqual(["library/otel.ts", "server/trace.ts"]);
    const importers = readSources().filter(({ imports }) =>
      imports.some(({ target }) => target === "library/otel.ts"),
    );
    expect(importers.map(({ path }) => path)).toEqual(["exports/otel.ts"]);
  });

  it("a release writes its bill of materials", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts.release).toContain("npm run --silent sbom");
    expect(scripts.sbom).toContain("npm sbom");
  });
});
