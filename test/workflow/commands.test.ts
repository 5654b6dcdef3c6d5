/** `redrive validate` and `redrive init`, as a person and a script see them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commands } from "../../src/cli/commands/workflow.ts";
import { Context } from "../../src/cli/context.ts";
import { requireWorkflow } from "../../src/workflow/read-workflow.ts";
import { selectFrom } from "../../src/workflow/select-items.ts";

/** Runs one of the commands. */
function run(name: keyof typeof commands, context: Context, given: Readonly<Record<string, unknown>>) {
  return commands[name].run(context, given);
}
const validate = (context: Context, path: string, { var: variables = [] }: { var?: string[] } = {}) =>
  run("validate", context, { file: path, variables });
const init = (context: Context, path?: string, { force = false } = {}) =>
  run("init", context, { ...(path !== undefined && { file: path }), force });

let folder: string;
let output: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "redrive-init-"));
  output = "";
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function context(json = false): Context {
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      output += String(chunk);
      done();
    },
  });
  const streams = { stdin: Readable.from([]), stdout, stderr: new Writable() };
  return new Context({ version: "0", env: { REDRIVE_HOME: folder }, cwd: folder, ...streams }, { json });
}

function file(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

describe("validate", () => {
  test("a valid file is reported as valid", async () => {
    file("w.yml", "map: { input: i, agent_template: [{ shell: ls }] }");
    expect(await validate(context(), "w.yml")).toBe(0);
    expect(output).toBe("w.yml is valid.\n");
  });

  test("every problem has a line, and the exit code reports that there are some", async () => {
    file("w.yml", "nam: x\nmap: { input: i, agent_template: [] }\n");
    expect(await validate(context(), "w.yml")).toBe(2);
    expect(output).toBe(
      'w.yml:1:1: nam: unknown key "nam". Did you mean name?\n' +
        "w.yml:2:34: map.agent_template: the list of steps is empty\n2 problems.\n",
    );
  });

  test("with --json it is one document", async () => {
    file("w.yml", "nam: x\nmap: { input: i, agent_template: [{ shell: x }] }\n");
    expect(await validate(context(true), "w.yml")).toBe(2);
    expect(JSON.parse(output)).toEqual({
      valid: false,
      problems: [{ line: 1, column: 1, path: "nam", message: 'unknown key "nam"', suggestion: "name" }],
      warnings: [],
    });
  });

  test("variables of the command line are known", async () => {
    file("w.yml", 'map: { input: i, agent_template: [{ shell: "${model}" }] }');
    expect(await validate(context(), "w.yml")).toBe(2);
    expect(await validate(context(), "w.yml", { var: ["model=a=b"] })).toBe(0);
  });

  test("a missing file is a usage error", async () => {
    await expect(validate(context(), "gone.yml")).rejects.toMatchObject({ code: "usage" });
  });
});

describe("init", () => {
  test("writes a valid workflow with items, without git or an agent", async () => {
    expect(await init(context())).toBe(0);
    expect(output).toContain("redrive run workflow.yml");
    const workflow = requireWorkflow(readFileSync(join(folder, "workflow.yml"), "utf8"), "workflow.yml");
    expect(workflow.map.isolation).toBe("none");
    expect(workflow.map.steps.every((step) => step.action.kind === "shell")).toBe(true);
    const { items, counts } = await selectFrom({ file: join(folder, "items.json") }, workflow.map);
    expect(items.map((item) => item.itemId)).toEqual(["bread & butter", "quinces", "apples"]);
    expect(counts.filtered).toBe(1);
  });

  test("the commented forms are valid too", async () => {
    await init(context(), "w.yml");
    const text = readFileSync(join(folder, "w.yml"), "utf8")
      .replace(/^( *)# (json_path|- claude|- agent| {2}commit_required)/gm, "$1$2")
      .replace("isolation: none", "isolation: worktree");
    const { map } = requireWorkflow(text, "w.yml");
    expect(map).toMatchObject({ isolation: "worktree", jsonPath: "$.items[*]" });
    expect(map.steps).toHaveLength(4);
  });

  test("overwrites nothing without --force, and never the items", async () => {
    file("w.yml", "mine");
    file("items.json", "[]");
    await expect(init(context(), "w.yml")).rejects.toMatchObject({ code: "usage" });
    expect(readFileSync(join(folder, "w.yml"), "utf8")).toBe("mine");
    expect(await init(context(true), "w.yml", { force: true })).toBe(0);
    expect(JSON.parse(output)).toEqual({ written: ["w.yml"] });
    expect(readFileSync(join(folder, "w.yml"), "utf8")).toContain("agent_template");
    expect(readFileSync(join(folder, "items.json"), "utf8")).toBe("[]");
  });

  test("refuses the name of the items' file", async () => {
    await expect(init(context(), "items.json")).rejects.toMatchObject({ code: "usage" });
    expect(existsSync(join(folder, "items.json"))).toBe(false);
  });
});
