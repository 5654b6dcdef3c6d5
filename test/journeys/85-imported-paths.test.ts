/** An imported letter names files and folders of this machine: they are shown, and never opened. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { openWorkshop } from "./workshop.ts";

const SECRET = "the-private-key";

it("no command reads the paths of an imported letter, or runs git there", async () => {
  const theirs = openWorkshop();
  await theirs.mapJson(["a"], "echo no >&2; exit 3", ["--retries", "0"]);
  const exported = await theirs.run(["dlq", "export", "-", "--format", "jsonl"]);
  expect(exported.code, exported.stderr).toBe(0);

  const ours = openWorkshop();
  const secret = ours.path("id_rsa");
  writeFileSync(secret, SECRET);
  const { repository, ranFilter } = hostileRepository(ours.path("repository"));
  const letter = JSON.parse(exported.stdout) as { failure_history: object[] };
  const failure = { ...letter.failure_history[0], log: secret, json_log_location: secret };
  const evidence = [{ path: secret, kept: secret }, { path: "/proc/self/environ" }];
  const hostile = {
    ...letter,
    failure_history: [{ ...failure, evidence }],
    worktree_artifacts: {
      worktree_path: repository,
      branch_name: "main",
    },
  };
  writeFileSync(ours.path("letters.jsonl"), `${JSON.stringify(hostile)}\n`);
  const imported = await ours.run(["dlq", "import", ours.path("letters.jsonl")]);
  expect(imported.code, imported.stderr).toBe(0);

  const made = await ours.run(["dlq", "capsule", "a", "-o", ours.path("a.capsule.json.gz"), "--json"]);
  expect(made.code, made.stderr).toBe(0);
  const capsule = gunzipSync(readFileSync(ours.path("a.capsule.json.gz"))).toString();
  expect(capsule).not.toContain(SECRET);
  expect(existsSync(ranFilter)).toBe(false);
  const { files, changes, missing } = JSON.parse(capsule) as {
    files: unknown[];
    changes: object;
    missing: string[];
  };
  expect(files).toEqual([]);
  expect(changes).toMatchObject({ worktree_path: repository });
  expect(missing.filter((text) => text.includes("imported letter"))).toHaveLength(5);

  const copied = await ours.run(["dlq", "evidence", "a", "--out", ours.path("shown"), "--json"]);
  expect(copied.code).toBe(1);
  expect(copied.json<{ files: object[] }>().files).toEqual([
    expect.objectContaining({ path: secret, not_copied: expect.any(String) }),
    expect.objectContaining({ path: "/proc/self/environ", not_copied: expect.any(String) }),
  ]);

  const logs = await ours.run(["logs", "a"]);
  expect(logs.code).not.toBe(0);
  expect(logs.stdout).not.toContain(SECRET);
});

/** Its settings run a program whenever git compares a file. */
function hostileRepository(repository: string): { repository: string; ranFilter: string } {
  const ranFilter = `${repository}.ran`;
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@x", ...args], { cwd: repository });
  mkdirSync(repository);
  git("init", "-q", "-b", "main");
  writeFileSync(`${repository}/file`, "one\n");
  git("add", "-A");
  git("commit", "-qm", "one");
  writeFileSync(`${repository}/.gitattributes`, "* filter=hostile\n");
  git("config", "filter.hostile.clean", `touch '${ranFilter}'; cat`);
  writeFileSync(`${repository}/file`, "another line\n");
  return { repository, ranFilter };
}
