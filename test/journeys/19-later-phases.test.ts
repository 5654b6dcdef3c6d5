/** The phases after the items of a workflow: reduce and merge, their results, and letters that succeed later. */
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openProject, plainMap } from "./project.ts";
import type { ErrorJson } from "./workshop.ts";

const NAMES = itemsJson("a", "b");

describe("the merge phase", () => {
  it("brings what its steps changed into the user's branch", async () => {
    const project = openProject(NAMES);
    await project.runJson({
      map: mapOver("echo ${item.id} > ${item.id}.txt"),
      merge: [{ shell: "cat a.txt b.txt > merged.txt" }],
    });
    expect(project.get("merged.txt")).toBe("a\nb\n");
    expect(project.git("status", "--porcelain")).toBe("");
  });
});

describe("a phase whose changes a hook refuses", () => {
  it("fails with the hook's message, and continues when they were committed", async () => {
    const project = openProject(NAMES);
    project.hook(
      "pre-commit",
      'if git diff --cached --name-only | grep -q all.txt; then echo "no" >&2; exit 1; fi',
    );
    const { code, json } = await project.runWorkflow(
      {
        map: mapOver("echo ${item.id} > ${item.id}.txt"),
        reduce: [{ shell: "cat a.txt b.txt > all.txt" }],
      },
      ["--json"],
    );
    expect(code).toBe(5);
    expect(json<ErrorJson>().error.message).toBe("The changes of the phase could not be committed: no");
    project.hook("pre-commit", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.get("all.txt")).toBe("a\nb\n");
  });
});

describe("a letter that succeeds when it is retried", () => {
  const LATER = {
    map: plainMap("test ${item.id} = a || test -e mended"),
    reduce: [{ shell: "echo ${map.successful} of ${map.total} >> $L" }],
    error_policy: ONE_TRY,
  };

  it("is reported as missing in reduce, and resume runs reduce again with it", async () => {
    const project = openProject(NAMES);
    const { job_id: job } = await project.runJson(LATER);
    expect(project.ledger).toEqual(["1 of 2"]);
    project.put("mended", "");
    const retried = await project.do("dlq", "retry", job);
    expect(retried.code).toBe(0);
    expect(retried.stderr).toContain(`redrive resume ${job} --no-dlq`);
    expect(project.ledger).toEqual(["1 of 2"]);
    expect((await project.do("resume", job, "--no-dlq")).code).toBe(0);
    expect(project.ledger).toEqual(["1 of 2", "2 of 2"]);
  });

  it("is run by resume together with reduce, as the summary says", async () => {
    const project = openProject(NAMES);
    const run = await project.runWorkflow(LATER);
    const command = /redrive (resume \S+) +retry it, and finish the job/.exec(run.stderr)?.[1] ?? "";
    project.put("mended", "");
    expect((await project.do(...command.split(" "))).code).toBe(0);
    expect(project.ledger).toEqual(["1 of 2", "2 of 2"]);
  });
});

describe("the output of commands", () => {
  it("has the output of a phase by its name", async () => {
    const project = openProject(NAMES);
    const { job_id: job } = await project.runJson({
      map: plainMap("true"),
      reduce: [{ shell: "echo report" }],
    });
    const shown = await project.do("logs", job, "reduce");
    expect(shown.stdout).toContain("== step 1: shell: echo report (exit 0, ");
    expect(shown.stdout).toContain("\nreport\n");
    const { code, json } = await project.do("logs", job, "setup", "--json");
    expect([code, json<ErrorJson>().error.code]).toEqual([4, "log_not_found"]);
  });

  it("finds a letter by its id although earlier runs have done items of that name", async () => {
    const project = openProject(NAMES);
    await project.runJson({ map: plainMap("true") });
    await project.runJson({ map: plainMap("test ${item.id} = a"), error_policy: ONE_TRY });
    const { code, stdout, stderr } = await project.do("dlq", "inspect", "b");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^b\n/);
  });

  it("names the worktree, the branch and the uncommitted changes of an agent's letter", async () => {
    const project = openProject(NAMES);
    await project.runJson({ map: mapOver("echo x > half.txt; test ${item.id} = a"), error_policy: ONE_TRY });
    const { worktree_artifacts: kept } = await project.onlyLetter();
    const { stdout } = await project.do("dlq", "inspect", "b");
    const [, shown = ""] = /^Worktree\n(.*?)\n\n/ms.exec(stdout) ?? [];
    expect(shown.split("\n").map((line) => line.trim())).toEqual([
      kept?.worktree_path,
      expect.stringMatching(`^branch ${kept?.branch_name} at [0-9a-f]{10}$`),
      "not committed:",
      "?? half.txt",
    ]);
  });

  it("names the commits of Redrive after the item, not after a hash", async () => {
    const project = openProject({ "list.txt": "src/a file.ts\n" });
    await project.runJson({ map: { input: "list.txt", agent_template: [{ shell: "echo x > out.txt" }] } });
    expect(project.subjects()).toContain("redrive: src/a file.ts");
  });

  it("fills known values into the first commands of a dry run, and leaves the rest as written", async () => {
    const project = openProject(NAMES);
    const { stdout } = await project.runWorkflow(
      {
        setup: [{ shell: "date", capture: "today" }],
        map: mapOver("echo ${item.id} ${setup.today}"),
      },
      ["--dry-run"],
    );
    expect(stdout).toContain("1. shell: echo 'a' ${setup.today}\n");
  });
});

describe("a custom handler", () => {
  it("gets every field of the error, even without an exit code", async () => {
    const project = openProject(NAMES);
    const fields = "type step exit_code stdout stderr".split(" ").map((name) => `\${error.${name}}`);
    const summary = await project.runJson({
      map: plainMap([{ shell: "sleep 60", timeout: "100ms" }], { max_items: 1 }),
      error_policy: {
        ...ONE_TRY,
        on_item_failure: { custom: [{ shell: `printf '<%s>' ${fields.join(" ")} >> $L; echo >> $L` }] },
      },
    });
    expect(project.ledger).toEqual(["<Timeout><shell: sleep 60><null><><>"]);
    expect(summary).toMatchObject({ dead: 0 });
  });
});
