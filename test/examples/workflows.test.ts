/** Runs the examples of workflows without network and without AI. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ExampleShell } from "./shell.ts";

interface Letter {
  readonly item_id: string;
  readonly item_data: unknown;
  readonly failure_count: number;
  readonly failure_history: readonly { readonly error_message: string; readonly step_failed: string }[];
  readonly worktree_artifacts?: { readonly worktree_path: string };
}

describe("the examples of workflows", () => {
  let shell: ExampleShell;
  beforeEach(() => {
    shell = new ExampleShell();
  });
  afterEach(() => shell.remove());

  function letters(): readonly Letter[] {
    return JSON.parse(shell.run("redrive dlq list --json").stdout).items;
  }

  function jobId(): string {
    return JSON.parse(shell.run("redrive jobs --json").stdout).jobs[0].job_id;
  }

  /** A copy of the example that is a repository with one commit, as its README says. */
  function repository(example: string): string {
    const folder = shell.copy(example);
    const made = shell.run('git init -q -b main && git add . && git commit -qm "Start"', folder);
    expect(made.exitCode, made.stderr).toBe(0);
    return folder;
  }

  function git(folder: string, command: string): string {
    return shell.run(`git ${command}`, folder).stdout.trim();
  }

  it("fix-lint: agents fix files in worktrees, and a better prompt fixes the remaining one", () => {
    const folder = repository("fix-lint");
    const first = shell.run("redrive run workflow.yml", folder);
    expect(first.exitCode, first.stderr).toBe(3);
    const read = (name: string) => readFileSync(join(folder, "src", name), "utf8");
    expect(read("add.js")).toMatch(/^let total/);
    expect(read("greet.js")).toContain("let text");
    expect(read("nothing.js")).toContain("var nothing"); // what a failed agent did is not merged
    const [letter] = letters();
    expect(letter).toMatchObject({ item_data: "src/nothing.js", failure_count: 2 });
    expect(letter?.failure_history[0]?.step_failed).toContain("./lint.sh 'src/nothing.js'");
    const kept = join(letter?.worktree_artifacts?.worktree_path ?? "", "src/nothing.js");
    expect(readFileSync(kept, "utf8")).toContain("let nothing = null;\n  return value == nothing;");

    const workflow = readFileSync(join(folder, "workflow.yml"), "utf8");
    const better = workflow.replace(/^( +)Replace var with let$/m, "$&\n$1Replace == with ===");
    writeFileSync(join(folder, "workflow.yml"), better);
    const refused = shell.run(`redrive resume ${jobId()}`, folder);
    expect(refused.exitCode).toBe(5);
    const second = shell.run(`redrive resume ${jobId()} --accept-changes`, folder);
    expect(second.exitCode, second.stderr).toBe(0);
    expect(read("nothing.js")).toContain("let nothing = null;\n  return value === nothing;");
    expect(shell.run("./lint.sh src/*.js", folder).exitCode).toBe(0);
    expect(letters()).toEqual([]);
    expect(git(folder, "log --format=%s").split("\n").sort()).toEqual(
      expect.arrayContaining(["Fix lint errors in src/add.js", "Fix lint errors in src/nothing.js"]),
    );
    expect(git(folder, "branch --format='%(refname:short)'")).toBe("main");
    expect(git(folder, "worktree list").split("\n")).toHaveLength(1);
  });

  it("convert-files: converted files are merged, and a page without a title is a letter", () => {
    const folder = repository("convert-files");
    const { exitCode, stderr } = shell.run("redrive run workflow.yml", folder);
    expect(exitCode, stderr).toBe(3);
    expect(readdirSync(join(folder, "site")).sort()).toEqual(["apples.html", "index.html", "pears.html"]);
    expect(readFileSync(join(folder, "site/pears.html"), "utf8")).toContain("<h1>Pears & quinces</h1>");
    expect(readFileSync(join(folder, "site/index.html"), "utf8")).toMatch(
      /href=apples\.html.*\n.*href=pears\.html.*\n<p>2 pages, \d{4}\n/,
    );
    expect(git(folder, "status --porcelain")).toBe("");
    expect(letters()).toMatchObject([
      { item_data: "pages/walnuts.txt", failure_count: 1, failure_history: [{ exit_code: 65 }] },
    ]);
  });

  it("enrich-records: records are joined with their results, even the one that failed at first", () => {
    const folder = shell.copy("enrich-records");
    const { exitCode, stderr } = shell.run("redrive run workflow.yml", folder);
    expect(exitCode, stderr).toBe(3);
    const enriched = () =>
      (JSON.parse(readFileSync(join(folder, "enriched.json"), "utf8")) as Record<string, string>[]).map(
        ({ id, currency }) => `${id} ${currency}`,
      );
    expect(enriched()).toEqual(["c-1 GBP", "c-2 EUR"]);
    expect(readFileSync(join(folder, "out/c-2.txt"), "utf8")).toBe('Bruno\'s "Shop" pays in EUR\n');
    expect(letters()).toMatchObject([{ item_id: "c-3", failure_count: 2 }]);
    expect(letters()[0]?.failure_history[0]?.error_message).toContain("no currency for JP");

    const mended = shell.run(`echo "JP JPY" >> currencies.txt && redrive resume ${jobId()}`, folder);
    expect(mended.exitCode, mended.stderr).toBe(0);
    expect(enriched()).toEqual(["c-1 GBP", "c-2 EUR", "c-3 JPY"]);
    expect(letters()).toEqual([]);
  });

  it("verified-together: the item that breaks the project with the others is done again on their work", () => {
    const folder = repository("verified-together");
    const { exitCode, stderr } = shell.run("redrive run workflow.yml", folder);
    expect(exitCode, stderr).toBe(0);
    expect(shell.run("./check.sh", folder).exitCode).toBe(0);
    expect(readFileSync(join(folder, "pages/invoice.txt"), "utf8")).toBe("The invoice shows {sum}.\n");
    expect(JSON.parse(shell.run("redrive jobs --json").stdout).jobs[0]).toMatchObject({ succeeded: 3 });
    expect(letters()).toEqual([]);
  });

  it("no-git: runs in a folder without a repository", () => {
    const folder = shell.copy("no-git");
    const { exitCode, stderr } = shell.run("redrive run workflow.yml", folder);
    expect(exitCode, stderr).toBe(0);
    expect(readFileSync(join(folder, "report.txt"), "utf8")).toBe(
      '2 texts, with these numbers of words: ["6","3"]\n',
    );
    expect(shell.run("redrive worktrees list").stdout).toBe("No worktrees.\n");
  });

  it("every one of them can be shown with --dry-run, which changes nothing", () => {
    for (const example of ["fix-lint", "convert-files", "enrich-records", "no-git", "verified-together"]) {
      const folder = shell.copy(example);
      const before = readdirSync(folder);
      expect(shell.run("redrive validate workflow.yml", folder).stdout).toBe("workflow.yml is valid.\n");
      const { exitCode, stdout } = shell.run("redrive run workflow.yml --dry-run", folder);
      expect(exitCode, example).toBe(0);
      expect(stdout).toContain("When an item fails:");
      expect(readdirSync(folder)).toEqual(before);
    }
    expect(JSON.parse(shell.run("redrive jobs --json").stdout).jobs).toEqual([]);
  });

  it("the workflow of `redrive init` runs unchanged", () => {
    const folder = join(shell.folder, "fresh");
    mkdirSync(folder);
    const { exitCode, stderr } = shell.run("redrive init && redrive run workflow.yml", folder);
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toContain("3 of 3 succeeded");
    expect(shell.run(`redrive logs ${jobId()} reduce`).stdout).toContain("3 of 3 done, 0 failed.");
  });
});
