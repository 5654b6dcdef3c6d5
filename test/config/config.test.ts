/** Where the settings come from, what holds without them, and what each key becomes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { DEFAULT_CONFIG } from "../../src/config/settings.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

let root: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  root = temporary.file("world");
  env = { HOME: join(root, "user"), REDRIVE_HOME: join(root, "home") };
  for (const folder of ["user/project/.git", "user/project/src/deep", "home"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
});

/** Writes settings that can be told apart. */
function put(path: string, maxItems: number): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `dlq: { max_items: ${maxItems} }\n`);
  return file;
}

async function limitAt(folder: string, more: { file?: string } = {}): Promise<number | null> {
  return (await loadConfig({ cwd: join(root, folder), env, ...more })).dlq.maxItems;
}

describe("the settings file", () => {
  test("without a file, the defaults apply", async () => {
    expect(await loadConfig({ cwd: join(root, "user/project"), env })).toBe(DEFAULT_CONFIG);
    expect(DEFAULT_CONFIG.dlq).toEqual({ maxItems: 10_000, retentionDays: 30, poisonAfter: 5, mirror: true });
  });

  test("--config precedes the variable, then the nearest file, then the home", async () => {
    const named = put("elsewhere/mine.yml", 1);
    const byVariable = put("elsewhere/variable.yml", 2);
    put("user/project/redrive.yml", 3);
    put("home/redrive.yml", 4);
    env = { ...env, REDRIVE_CONFIG: byVariable };
    expect(await limitAt("user/project", { file: named })).toBe(1);
    expect(await limitAt("user/project", { file: "../../elsewhere/mine.yml" })).toBe(1);
    expect(await limitAt("user/project")).toBe(2);
    env = { ...env, REDRIVE_CONFIG: "" };
    expect(await limitAt("user/project")).toBe(3);
    expect(await limitAt("elsewhere")).toBe(4);
  });

  test("the nearest file above is used, but none beyond the project or the user's folder", async () => {
    put("redrive.yml", 1);
    put("user/redrive.yml", 2);
    expect(await limitAt("user")).toBe(2);
    expect(await limitAt("user/project/src/deep")).toBe(10_000); // the project ends at its .git
    put("user/project/redrive.yml", 3);
    expect(await limitAt("user/project/src/deep")).toBe(3);
    put("user/project/src/redrive.yml", 4);
    expect(await limitAt("user/project/src/deep")).toBe(4);
    mkdirSync(join(root, "user/other"));
    expect(await limitAt("user/other")).toBe(2);
  });

  test("a named file that does not exist is an error, never the defaults", async () => {
    const loading = loadConfig({ cwd: root, env, file: "missing.yml" });
    await expect(loading).rejects.toMatchObject({ code: "usage" });
    await expect(loading).rejects.toThrow(/settings .*missing\.yml cannot be read/);
    env = { ...env, REDRIVE_CONFIG: "gone.yml" };
    await expect(loadConfig({ cwd: root, env })).rejects.toThrow(/gone\.yml cannot be read/);
  });
});

describe("the contents of a file", () => {
  async function read(text: string) {
    writeFileSync(join(root, "redrive.yml"), text);
    return loadConfig({ cwd: root, env, file: "redrive.yml" });
  }

  test("an empty file leaves the defaults, and so does each missing key", async () => {
    expect(await read("# nothing yet\n")).toEqual(DEFAULT_CONFIG);
    expect((await read("dlq: { mirror: false }")).dlq).toEqual({ ...DEFAULT_CONFIG.dlq, mirror: false });
  });

  test("toxic_after, the old name of poison_after, still works", async () => {
    expect((await read("dlq: { toxic_after: 3 }")).dlq.poisonAfter).toBe(3);
  });

  test("every key of dlq is read; none means no limit, and a folder is relative to the file", async () => {
    const config = await read(
      "dlq: { max_items: 20, retention_days: none, poison_after: 2, mirror: false, dir: letters }",
    );
    expect(config.dlq).toEqual({
      maxItems: 20,
      retentionDays: null,
      poisonAfter: 2,
      mirror: false,
      dlqDir: join(root, "letters"),
    });
  });

  test("every key of a fix is read, with one value or a list", async () => {
    const { fixes } = await read(`
fixes:
  - name: https
    match: { group: 0123456789abcdef, type: ClientError, class: permanent, filter: item.n > 2 }
    set: { url: '"https://x"' }
    max_uses: 3
    auto: true
  - name: smaller
    match: { group: [a, b], type: [Timeout, Unknown], class: [transient] }
    patch: { size: null, tags: [1, { deep: true }] }
  - name: ask
    match: { type: Timeout }
    command: [node, fix.mjs]
    timeout: 2m
`);
    expect(fixes).toEqual([
      {
        name: "https",
        match: {
          filter: { signatures: ["0123456789abcdef"], types: ["ClientError"], classes: ["permanent"] },
          where: "item.n > 2",
        },
        change: { kind: "set", set: { url: '"https://x"' } },
        usesMax: 3,
        auto: true,
      },
      {
        name: "smaller",
        match: { filter: { signatures: ["a", "b"], types: ["Timeout", "Unknown"], classes: ["transient"] } },
        change: { kind: "patch", patch: { size: null, tags: [1, { deep: true }] } },
        usesMax: 1,
        auto: false,
      },
      {
        name: "ask",
        match: { filter: { types: ["Timeout"] } },
        change: { kind: "command", command: ["node", "fix.mjs"], cwd: root, timeoutMs: 120_000 },
        usesMax: 1,
        auto: false,
      },
    ]);
  });
});
