/** Runs every example and checks its result. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { randomName } from "../../src/std/random.ts";
import { askPostgres, postgresUrl } from "../support/postgres-stores.ts";
import { ExampleShell } from "./shell.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples");

/** Runs a TypeScript program as Node does, without type checks. Returns the lines that it prints. */
function runTypeScript(name: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): string[] {
  const source = readFileSync(join(EXAMPLES, `${name}.ts`), "utf8");
  const { code: input } = transformSync(source, { loader: "ts", format: "esm", target: "node20" });
  const run = { input, encoding: "utf8", cwd: ROOT, env: { ...process.env, ...env } } as const;
  const result = spawnSync(process.execPath, ["--input-type=module", "-", ...args], run);
  expect(result.stderr).toBe("");
  return result.stdout.trim().split("\n");
}

describe("the examples", () => {
  let shell: ExampleShell;
  beforeEach(() => {
    shell = new ExampleShell();
  });
  const schemas: string[] = [];
  afterEach(async () => {
    shell.remove();
    for (const schema of schemas.splice(0)) await askPostgres(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });

  /** The URLs of a new store of each engine. */
  function stores(): readonly string[] {
    const schema = `examples_${randomName(8)}`;
    schemas.push(schema);
    return ["memory:", `sqlite:${join(shell.folder, `${schema}.db`)}`, postgresUrl(schema)];
  }

  it("convert: the broken file is a letter, and is converted once it is corrected", () => {
    const folder = shell.copy("convert");
    const first = shell.run("./run.sh", folder);
    expect(first.exitCode, first.stderr).toBe(3);
    expect(readdirSync(join(folder, "out")).sort()).toEqual(["monday.json", "tuesday.json"]);
    const { items } = JSON.parse(shell.run("redrive dlq list orders --json").stdout);
    expect(items).toMatchObject([
      {
        item_data: "orders/wednesday.csv",
        failure_count: 1,
        manual_review_required: true,
        failure_history: [
          { error_type: "ValidationFailed", error_message: "row 1 has 3 values for 2 columns" },
        ],
      },
    ]);

    expect(shell.run("redrive dlq retry orders --yes", folder).exitCode).toBe(3); // a person has to look first
    const mended = shell.run(
      "sed -i.bak 's/,EUR//' orders/wednesday.csv && redrive dlq retry orders --force",
      folder,
    );
    expect(mended.exitCode, mended.stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(folder, "out/wednesday.json"), "utf8"))).toEqual([
      { order: "4", total: "12" },
      { order: "5", total: "8" },
    ]);
    expect(JSON.parse(shell.run("redrive dlq list --json").stdout).total).toBe(0);
  });

  it("resume: the second map runs only new items", () => {
    const folder = shell.copy("resume");
    const result = shell.run("./run.sh ledger.txt", folder);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(readFileSync(join(folder, "ledger.txt"), "utf8").trim().split("\n").sort()).toEqual([
      "page-1",
      "page-2",
      "page-3",
    ]);
  });

  it("every program in TypeScript compiles under strict", () => {
    const tsc = spawnSync("node_modules/.bin/tsc", ["-p", "examples"], { encoding: "utf8", cwd: ROOT });
    expect(tsc.stdout).toBe("");
    expect(tsc.status).toBe(0);
  });

  it("library.ts: a queue, a map, letters and a retry, on every engine", () => {
    for (const store of stores()) {
      expect(runTypeScript("library", { REDRIVE_STORE: store, REDRIVE_HOME: shell.folder }).sort()).toEqual([
        "2 resized, 1 dead",
        "item_dead { vat: '', total: 75 }",
      ]);
    }
  });

  it("dlq-manager: a program keeps its failures, retries them, and exports the rest", () => {
    const left = join(shell.copy("dlq-manager"), "left.json");
    const env = { REDRIVE_STORE: "memory:", REDRIVE_HOME: `${left}.home` };
    expect(runTypeScript("dlq-manager/orders", env, left)).toEqual([
      "order-8 [ 'connect ECONNREFUSED shop.example:443', 'read ECONNRESET' ]",
      "3 letters in 2 groups",
      "first: 1 of 1",
      "rest: 1 of 2 and 1 failed again",
      "left: order--3 2",
      "exported: 1",
      "purged: 0",
    ]);
    expect(readFileSync(left, "utf8")).toContain("a total of -3 cannot be charged");
  });

  const INVOICES = [
    "2 done, 2 dead",
    "4711 again: existing",
    "4711 paid",
    "4712 1 Bolt & Co has no VAT id",
    "4713 paid",
    "4714 2 the bank does not answer",
  ];

  function invoices(store: string): string[] {
    return runTypeScript("invoices/worker", { REDRIVE_STORE: store, REDRIVE_HOME: shell.folder }).sort();
  }

  it("invoices: two workers of a queue in a program pay valid invoices, on every engine", () => {
    for (const store of stores()) expect(invoices(store)).toEqual(INVOICES);
  });

  it("receipts: one is delivered after an outage, one is refused and kept", () => {
    const env = { REDRIVE_STORE: "memory:", REDRIVE_HOME: shell.folder };
    expect(runTypeScript("receipts/receipts", env)).toEqual([
      "t-1 is kept: true",
      "t-1 is delivered: true",
      "again: true",
      "receipt_conflict",
      "t-2 is delivered: false",
      "t-2 HTTP 422 Unprocessable Entity: {}",
      "[ [ 't-1', 't-1' ] ]",
    ]);
  });

  it("every example is run by a test", () => {
    const names = readdirSync(EXAMPLES).sort();
    expect(names).toEqual([
      "convert",
      "convert-files",
      "dlq-manager",
      "enrich-records",
      "express", // frameworks.test.ts
      "fix-lint",
      "invoices",
      "library.ts",
      "nestjs", // frameworks.test.ts
      "nextjs", // frameworks.test.ts
      "no-git",
      "opentelemetry", // frameworks.test.ts
      "receipts",
      "resume",
      "shipments",
      "testing", // frameworks.test.ts
      "transactions", // frameworks.test.ts
      "tsconfig.json",
      "verified-together",
    ]);
  });
});
