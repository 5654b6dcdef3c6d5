/** The package as its users get it: packed, installed in an empty folder, run, imported and compiled against. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = join(import.meta.dirname, "../..");
const directory = new TemporaryDirectory();
const folder = join(directory.path, "elsewhere");
let packed: readonly string[] = [];

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], cwd: string, input = ""): Ran {
  const env = {
    ...process.env,
    REDRIVE_HOME: join(directory.path, "home"),
    REDRIVE_STORE: "",
    NODE_PATH: "",
  };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, input, encoding: "utf8" });
  return { status, stdout, stderr };
}

function must(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = run(command, args, cwd);
  expect(status, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

// `dist/` was built before the tests; packing must not build it again under the feet of the others.
beforeAll(() => {
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory.path];
  const [tarball] = JSON.parse(must("npm", pack, ROOT)) as [{ filename: string; files: { path: string }[] }];
  packed = tarball.files.map((file) => file.path);
  mkdirSync(folder);
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "elsewhere", private: true, type: "module" }),
  );
  const install = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
  must("npm", [...install, join(directory.path, tarball.filename)], folder);
});

afterAll(() => directory.remove());

describe("the packed package", () => {
  it("has what it needs, and no files of the development", () => {
    const tops = new Set(packed.map((path) => path.split("/")[0]));
    expect([...tops].sort()).toEqual([
      "ARCHITECTURE.md",
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "dist",
      "docs",
      "package.json",
      "schema",
    ]);
    expect(packed).toEqual(
      expect.arrayContaining([
        "dist/index.js",
        "dist/cli/main.cjs",
        "dist/cli/program.cjs",
        "dist/types/index.d.ts",
        "schema/workflow.schema.json",
      ]),
    );
    const foreign = packed.filter((path) =>
      /\.test\.|(?<!\.d)\.ts$|\.c$|\.map$|^dist\/types\/cli\//.test(path),
    );
    expect(foreign).toEqual([]);
  });

  it("has the launcher of the machine that it was built on", () => {
    const launcher = `dist/launcher/${process.platform}-${process.arch}/redrive-launcher`;
    expect(packed.includes(launcher)).toBe(existsSync(join(ROOT, launcher)));
    const installed = join(folder, "node_modules/redrive", launcher);
    if (packed.includes(launcher))
      expect(must(installed, ["--version"], folder)).toContain("redrive-launcher");
  });

  it("runs: the version, and a map that leaves a letter", () => {
    const redrive = join(folder, "node_modules/.bin/redrive");
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(must(redrive, ["--version"], folder).trim()).toBe(version);

    const command = ["map", "--json", "--retries", "0", "--", "sh", "-c", 'test "$1" != bad', "-", "${item}"];
    const map = run(redrive, command, folder, "good\nbad\n");
    expect(map.status, map.stderr).toBe(3);
    expect(JSON.parse(map.stdout)).toMatchObject({ total: 2, succeeded: 1, dead: 1, attempts: 2 });
    const list = JSON.parse(must(redrive, ["dlq", "list", "--json"], folder));
    expect(list.items).toMatchObject([{ item_data: "bad", failure_count: 1 }]);
  });

  it("runs a workflow, with every library that a workflow needs", () => {
    const redrive = join(folder, "node_modules/.bin/redrive");
    const workflow = {
      map: {
        input: "numbers.json",
        json_path: "$.numbers[?@ > 1]",
        filter: "item < 3.0",
        isolation: "none",
        agent_template: [{ shell: "echo ${item}", output_file: "two.txt" }],
      },
    };
    writeFileSync(join(folder, "numbers.json"), '{"numbers": [1, 2, 3]}');
    writeFileSync(join(folder, "workflow.yml"), JSON.stringify(workflow)); // JSON is YAML
    expect(JSON.parse(must(redrive, ["run", "workflow.yml", "--json"], folder))).toMatchObject({
      total: 1,
      succeeded: 1,
    });
    expect(readFileSync(join(folder, "two.txt"), "utf8")).toBe("2\n");
  });

  it("is a library, with its subpaths", () => {
    const script = `import { open } from "redrive";
import { openStore } from "redrive/engine";
import { titleLine } from "redrive/triage";
const redrive = await open("memory:");
console.log((await redrive.map("numbers", [1, 2], (n) => n * 2)).succeeded, typeof openStore, typeof titleLine);
await redrive.close();`;
    const printed = must(process.execPath, ["--input-type=module", "-e", script], folder);
    expect(printed.trim()).toBe("2 function function");
  });

  const TSC = join(ROOT, "node_modules/.bin/tsc");
  const FLAGS = [
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--target",
    "es2023",
    "--skipLibCheck",
    "false",
  ];
  const TYPES = ["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"];

  it.each([
    ["node16", "node16"],
    ["esnext", "bundler"],
  ])("its example compiles in a strict project: module %s, resolution %s", (module, resolution) => {
    writeFileSync(join(folder, "library.ts"), readFileSync(join(ROOT, "examples/library.ts"), "utf8"));
    must(
      TSC,
      [...FLAGS, ...TYPES, "--module", module, "--moduleResolution", resolution, "library.ts"],
      folder,
    );
    const wrong = readFileSync(join(ROOT, "examples/library.ts"), "utf8").replace(
      "total: 120",
      'total: "120"',
    );
    writeFileSync(join(folder, "wrong.ts"), wrong);
    const flags = [...FLAGS, ...TYPES, "--module", module, "--moduleResolution", resolution];
    const refused = run(TSC, [...flags, "wrong.ts"], folder);
    expect(refused.status).not.toBe(0);
    expect(refused.stdout).toMatch(/wrong\.ts.*TS2322/);
  });

  it("has types of the engine that refuse what is wrong", () => {
    const right = `import { type Letter, openStore } from "redrive/engine";
const engine = await openStore("memory:");
const { letters }: { letters: readonly Letter[] } = await engine.listLetters({ limit: 10 });
export const first: string | undefined = letters[0]?.errorPattern;
`;
    writeFileSync(join(folder, "right.ts"), right);
    writeFileSync(join(folder, "wrong.ts"), right.replace("limit: 10", 'limit: "ten"'));
    must(TSC, [...FLAGS, ...TYPES, "--module", "nodenext", "right.ts"], folder);
    const refused = run(TSC, [...FLAGS, ...TYPES, "--module", "nodenext", "wrong.ts"], folder);
    expect(refused.status).not.toBe(0);
    expect(refused.stdout).toMatch(/wrong\.ts.*TS2322/);
  });
});
