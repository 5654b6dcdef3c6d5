/** The outputs in the guide are real: each page is run block by block in a copy of its example. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { randomName } from "../../src/std/random.ts";
import { askPostgres, postgresUrl } from "../support/postgres-stores.ts";
import { ExampleShell } from "./shell.ts";
import { compareShown, shownIn } from "./shown.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** The example that each page is about, and how each block ends. */
const PAGES: Readonly<Record<string, { readonly example: string; readonly codes: readonly number[] }>> = {
  "07-managing-letters.md": { example: "shipments", codes: [3, 0, 0, 0, 0, 0, 3, 0, 0, 0] },
  "08-settings.md": { example: "shipments", codes: [0, 0] },
  "09-import-export.md": { example: "shipments", codes: [3, 0, 0, 0, 0] },
  "12-groups.md": { example: "shipments", codes: [3, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0] },
  "13-queues.md": { example: "invoices", codes: [0, 0, 3, 0, 0, 0, 0, 3] },
  "15-error-log.md": { example: "invoices", codes: [0, 0, 0, 0] },
  "16-many-machines.md": { example: "invoices", codes: [0, 0, 0] },
  "17-watching.md": { example: "invoices", codes: [3, 0, 0] },
};

/** Replaces the server name of the guide with that of a real server. */
const SHOWN_URL = "postgres://ana@db.example/work";
const schema = `guide_${randomName(8)}`;

describe("the guide", () => {
  let shell: ExampleShell;
  beforeEach(() => {
    shell = new ExampleShell();
  });
  afterEach(() => shell.remove());
  afterAll(() => askPostgres(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));

  /** The user of the guide is called Ana, her machine robot-1. */
  function asShown(text: string, folder: string): string {
    return text
      .replaceAll(shell.home, "/home/ana/.redrive")
      .replaceAll(folder, `/home/ana/${basename(folder)}`)
      .replaceAll(`: "${hostname()}"`, ': "robot-1"');
  }

  it.each(Object.entries(PAGES))("%s shows what it prints", (page, { example, codes }) => {
    const folder = shell.copy(example);
    const steps = shownIn(read(`docs/${page}`));
    expect(steps).toHaveLength(codes.length);
    const ended = steps.map(({ script }) => {
      const real = script.replaceAll(SHOWN_URL, postgresUrl(schema));
      const { exitCode, stdout } = shell.run(`{ ${real}} 2>&1`, folder);
      return { exitCode, printed: asShown(stdout, folder) };
    });
    compareShown(
      join(ROOT, "docs", page),
      steps,
      ended.map(({ printed }) => printed),
    );
    expect(ended.map(({ exitCode }) => exitCode)).toEqual(codes);
  });

  it("the settings in the guide are valid, and its defaults are the real ones", () => {
    const [, shown = ""] = /```yaml\n(.*?)```/s.exec(read("docs/08-settings.md")) ?? [];
    const folder = shell.copy("shipments");
    const { dlq } = parse(shown);
    expect(dlq).toEqual({ max_items: 10_000, retention_days: 30, poison_after: 5, mirror: true });
    const result = shell.run(`cat > redrive.yml <<'END'\n${shown}END\nredrive dlq stats --json`, folder);
    expect(result.exitCode, result.stderr).toBe(0);
  });

  it("the rules for alerts in the guide are valid", () => {
    const [, shown = ""] = /```yaml\n(.*?)```/s.exec(read("docs/17-watching.md")) ?? [];
    const folder = shell.copy("invoices");
    const script = `cat > redrive.yml <<'END'\n${shown}END\nredrive queue create invoices && redrive watch --dry-run`;
    const result = shell.run(script, folder);
    expect(result.stdout).toContain("No alerts.");
    expect(result.exitCode, result.stderr).toBe(0);
  });

  it.each([
    ["25-library-reference.md", "dlq-manager/orders.ts"],
    ["14-workers.md", "invoices/worker.ts"],
    ["18-receipts.md", "receipts/receipts.ts"],
    ["10-library.md", "testing/invoices.test.ts"],
    ["27-recipes.md", "express/app.ts"],
    ["27-recipes.md", "nestjs/app.ts"],
    ["27-recipes.md", "transactions/kysely.ts"],
  ])("the library code in %s has the example %s, which the tests run", (page, example) => {
    const shown = [...read(`docs/${page}`).matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
    expect(shown).toContain(read(`examples/${example}`).replace(/^\/\*\*.*\*\/\n/, ""));
  });
});
