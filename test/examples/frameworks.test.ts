/**
 * The examples with frameworks and tools: compiled against the packed package, and run as servers and programs. The
 * code in the guide is compiled too.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { randomName } from "../../src/std/random.ts";
import { askPostgres, postgresServerUrl, postgresUrl } from "../support/postgres-stores.ts";
import { PackedPackage, RESOLUTIONS } from "./packed-package.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const FILES = [
  "express/app.ts",
  "nextjs/app/invoices/[key]/route.ts",
  "nextjs/lib/redrive.ts",
  "nextjs/worker.ts",
  "nestjs/app.ts",
  "opentelemetry/tracing.ts",
  "testing/invoices.ts",
  "testing/invoices.test.ts",
  "transactions/drizzle.ts",
  "transactions/kysely.ts",
  "transactions/prisma.ts",
];
/** Prisma's client is generated from the schema of a project, so its types are declared here. */
const PRISMA = "prisma-client.d.ts";

let project: PackedPackage;
beforeAll(() => {
  project = new PackedPackage();
  for (const file of FILES) project.write(file, readFileSync(join(EXAMPLES, file), "utf8"));
  project.write(PRISMA, readFileSync(join(import.meta.dirname, PRISMA), "utf8"));
});
afterAll(() => project.remove());

const env = () => ({ ...process.env, REDRIVE_STORE: "memory:", REDRIVE_HOME: join(project.folder, "home") });

describe("the examples with frameworks", () => {
  it.each(Object.keys(RESOLUTIONS) as (keyof typeof RESOLUTIONS)[])(
    "compile against the packed package with the resolution %s",
    (resolution) => {
      expect(project.compile([...FILES, PRISMA], resolution)).toBe("");
    },
  );

  it("a mistake in the use of Prisma is found", () => {
    const code = readFileSync(join(EXAMPLES, "transactions/prisma.ts"), "utf8");
    project.write("wrong-prisma.ts", code.replace("rows: await", "row: await"));
    expect(project.compile(["wrong-prisma.ts", PRISMA], "bundler")).toMatch(
      /wrong-prisma\.ts.*TS2322.*rows/s,
    );
  });

  let running: ChildProcess | undefined;
  afterEach(() => running?.kill("SIGKILL"));

  /** Starts a server on a free port, and returns its URL. */
  async function start(example: string): Promise<string> {
    const child = spawn(process.execPath, [join(project.folder, "built", example)], {
      env: { ...env(), PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running = child;
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith("http")) return line;
    throw new Error(`${example} did not start`);
  }

  async function stop(): Promise<number | null> {
    if (running === undefined) return null;
    const ended = once(running, "exit");
    running.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    return code;
  }

  async function post(url: string, body: unknown) {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  }

  async function lettersOf(url: string, total: number) {
    await expect
      .poll(async () => ((await (await fetch(`${url}/letters`)).json()) as { total: number }).total, {
        timeout: 30_000,
      })
      .toBe(total);
    return (await fetch(`${url}/letters`)).json();
  }

  it("Express: accepts items, refuses invalid ones, shows letters, retries them, and shuts down", async () => {
    const url = await start("express/app.js");
    const paid = { vat: "DE811907980", total: 120 };
    expect(await post(`${url}/invoices/4711`, paid)).toEqual({
      status: 202,
      body: { id: "4711", outcome: "added" },
    });
    expect((await post(`${url}/invoices/4711`, paid)).body).toMatchObject({ outcome: "existing" });
    expect(await post(`${url}/invoices/4715`, { vat: "DE1", total: "120" })).toMatchObject({
      status: 422,
      body: { field: "data.total" },
    });
    await post(`${url}/invoices/4712`, { vat: "", total: 75 });
    await post(`${url}/invoices/4713`, { vat: "PT501442600", total: 990 });
    expect(await lettersOf(url, 2)).toMatchObject({
      letters: [
        { id: "4712", error: "no VAT id" },
        { id: "4713", data: { total: 990 } },
      ],
    });
    expect((await post(`${url}/bank/open`, {})).body).toEqual({ selected: 1, done: 1 });
    expect(await lettersOf(url, 1)).toMatchObject({ letters: [{ id: "4712" }] });
    expect(await (await fetch(`${url}/invoices/4711`)).json()).toEqual({
      id: "4711",
      state: "done",
      attempts: 1,
    });
    expect((await fetch(`${url}/invoices/none`)).status).toBe(404);
    expect(await stop()).toBe(0);
  });

  it("NestJS: accepts items, refuses invalid ones, shows letters, and shuts down", async () => {
    const url = await start("nestjs/app.js");
    expect(await post(`${url}/invoices/4712`, { vat: "", total: 75 })).toEqual({
      status: 201,
      body: { id: "4712", outcome: "added" },
    });
    expect(await post(`${url}/invoices/4715`, { vat: "DE1" })).toMatchObject({
      status: 422,
      body: { field: "data.total" },
    });
    expect(await lettersOf(url, 1)).toEqual({
      total: 1,
      letters: [{ id: "4712", data: { vat: "", total: 75 }, error: "no VAT id" }],
    });
    await stop();
    expect(running?.signalCode ?? running?.exitCode).toMatch(/SIGTERM/);
  });

  it("Next.js: the route adds items and refuses invalid ones, and the worker processes them", () => {
    const folder = join(project.folder, "built/nextjs");
    const code = `
      const { POST } = await import(${JSON.stringify(join(folder, "app/invoices/[key]/route.js"))});
      const { invoices } = await import(${JSON.stringify(join(folder, "lib/redrive.js"))});
      const post = async (key, body) => {
        const request = new Request("http://localhost/invoices/" + key, { method: "POST", body: JSON.stringify(body) });
        const response = await POST(request, { params: Promise.resolve({ key }) });
        console.log(response.status, JSON.stringify(await response.json()));
      };
      await post("4711", { vat: "DE811907980", total: 120 });
      await post("4712", { vat: "DE1" });
      await import(${JSON.stringify(join(folder, "worker.js"))});
      const added = await (await invoices()).add({ vat: "", total: 1 }, { key: "4713" });
      await added.result().catch(({ code }) => console.log(code));
      process.kill(process.pid, "SIGTERM");`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
      env: env(),
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(stdout).toBe('202 {"id":"4711","outcome":"added"}\n422 {"error":"not an invoice"}\nitem_dead\n');
    expect(status).toBe(0);
  });

  it("OpenTelemetry: the attempt is in the trace of the request, with its error", () => {
    const built = join(project.folder, "built/opentelemetry/tracing.js");
    const { stdout, stderr } = spawnSync(process.execPath, [built], { env: env(), encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout.trim().split("\n")).toEqual([
      "send invoices · child of POST /invoices · ok · attempt -",
      "POST /invoices · child of none · ok · attempt -",
      "process invoices · child of send invoices · failed: no VAT id · attempt 1",
      "1 trace",
    ]);
  });

  it.each(["kysely", "drizzle"])("transactions: %s stores an order and its item together", async (name) => {
    const schema = `example_${randomName(8)}`;
    const database = new URL(postgresServerUrl());
    database.searchParams.set("options", `-c search_path=${schema}`);
    try {
      await askPostgres(`CREATE SCHEMA ${schema}`);
      await askPostgres(`CREATE TABLE ${schema}.orders (id text PRIMARY KEY, total integer NOT NULL)`);
      const built = join(project.folder, `built/transactions/${name}.js`);
      const stores = { DATABASE_URL: database.href, REDRIVE_STORE: postgresUrl(`${schema}_store`) };
      const { stdout, stderr } = spawnSync(process.execPath, [built], {
        env: { ...env(), ...stores },
        encoding: "utf8",
      });
      expect(stderr).toBe("");
      expect(stdout).toBe("an order has a positive total\n1 order, 1 item\n");
    } finally {
      await askPostgres(`DROP SCHEMA IF EXISTS ${schema}, ${schema}_store CASCADE`);
    }
  });

  it("testing: the tests of a handler pass with Node's test runner", () => {
    const built = join(project.folder, "built/testing/invoices.test.js");
    const { stdout, status } = spawnSync(process.execPath, ["--test", built], {
      env: env(),
      encoding: "utf8",
    });
    expect(stdout).toMatch(/pass 3\b/);
    expect(status).toBe(0);
  });
});

/** Pages with library code. The blocks of a page are one program, so later ones may use what earlier ones declare. */
const PAGES = [
  "docs/10-library.md",
  "docs/14-workers.md",
  "docs/18-receipts.md",
  "docs/25-library-reference.md",
  "docs/26-coming-from.md",
  "docs/27-recipes.md",
];

/** Names that a page may use without declaring them. */
const DECLARED = `import type { Queue } from "redrive";
declare global {
  const invoices: Queue<{ vat: string; total: number }>;
}
`;

describe("the code in the guide", () => {
  /** Whole examples are left out, because they are compiled as files. */
  function codeOf(page: string): string {
    const text = readFileSync(join(EXAMPLES, "..", page), "utf8");
    const examples = readdirSync(EXAMPLES, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => readFileSync(join(EXAMPLES, path), "utf8").replace(/^\/\*\*.*\*\/\n/, ""));
    const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);
    expect(blocks.length, page).toBeGreaterThan(0);
    return blocks.filter((code) => !examples.includes(code)).join("\n");
  }

  it.each(Object.keys(RESOLUTIONS) as (keyof typeof RESOLUTIONS)[])(
    "compiles against the packed package with the resolution %s",
    (resolution) => {
      project.write("docs/declared.d.ts", DECLARED);
      const files = PAGES.map((page) => page.replace(/md$/, "ts"));
      for (const [index, page] of PAGES.entries())
        project.write(files[index] ?? "", `${codeOf(page)}\nexport {};\n`);
      expect(project.compile([...files, "docs/declared.d.ts"], resolution)).toBe("");
    },
  );

  it("has no recipe that is not compiled", () => {
    expect(readFileSync(join(EXAMPLES, "../docs/27-recipes.md"), "utf8")).not.toMatch(/^```(js|jsx|tsx)$/m);
  });

  it("a mistake in it is found", () => {
    project.write("docs/wrong.ts", codeOf("docs/10-library.md").replace("total: 120", 'total: "120"'));
    expect(project.compile(["docs/wrong.ts"], "bundler")).toMatch(/docs\/wrong\.ts.*TS2322/);
  });
});
