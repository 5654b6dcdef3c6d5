/**
 * Shell steps with hostile items: the text of a script never contains data, and scripts that would run data are
 * refused before a run.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemsJson, ONE_TRY, openFolder, plainMap } from "./project.ts";

const NAME = `it's "$(touch hacked)" \`touch hacked\`; touch hacked\n# a`;
const item = itemsJson({ id: "a", name: NAME, big: `${"x".repeat(500_000)}$(touch hacked)` });

describe("a shell step", () => {
  it("gets each value unchanged, bare, in quotes, in a here-document, and of any size", async () => {
    const folder = openFolder(item);
    const script = [
      "printf %s ${item.name} > bare",
      'printf %s "<${item.name}>" > double',
      "printf %s '<${item.name}>' > single",
      "cat > here <<END\n<${item.name}>\nEND",
      "printf %s ${item.big} | wc -c > size # ${item.name}",
    ].join("\n");
    const input = { command: "cat items.json # ${who}" };
    const { code, stderr } = await folder.runWorkflow(
      { map: plainMap([{ shell: script }], { input, json_path: "$[*]" }) },
      ["--var", "who=\ntouch hacked"],
    );
    expect([code, stderr.includes("RD_")]).toEqual([0, false]);
    expect(folder.get("bare")).toBe(NAME);
    for (const name of ["double", "single"]) expect(folder.get(name)).toBe(`<${NAME}>`);
    expect(folder.get("here")).toBe(`<${NAME}>\n`);
    expect(folder.get("size").trim()).toBe("500015");
    expect(existsSync(join(folder.top, "hacked"))).toBe(false);
  });

  it("is named by the user's own text when it fails", async () => {
    const folder = openFolder(item);
    await folder.runWorkflow({ map: plainMap("cat no-such-${item.id}"), error_policy: ONE_TRY });
    const [failure] = (await folder.onlyLetter()).failure_history;
    expect(failure?.step_failed).toBe("shell: cat no-such-'a'");
    expect(failure?.error_message).toContain("cat no-such-… failed with exit code 1");
    const log = failure?.log === undefined ? "" : readFileSync(failure.log, "utf8");
    expect(log).toContain("no-such-a");
    expect(JSON.stringify(failure) + log).not.toContain("RD_");
  });

  it("in which another program would run the value is refused by validate and run, with what to write", async () => {
    const folder = openFolder(item);
    const shell = ['sh -c "ls ${item.name}"', "eval ls ${item.name}", "ssh host ls ${item.name}"];
    const path = folder.workflow({ map: plainMap(shell.map((script) => ({ shell: script }))) });
    for (const word of ["validate", "run"]) {
      const { code, stdout, stderr } = await folder.do(word, path);
      expect(code).toBe(2);
      expect(stdout + stderr).toContain("sh -c '… \"$1\" …' sh ${item.name}");
      expect(stdout + stderr).toContain("eval runs it");
      expect(stdout + stderr).toContain("the shell on the other machine interprets it");
    }
    expect(existsSync(join(folder.top, "hacked"))).toBe(false);
  });
});

describe("a secret", () => {
  it("that an agent's argument would reveal is found by validate", async () => {
    const folder = openFolder(item);
    const agent = { command: "agent --token ${env.API_TOKEN}", prompt: "go" };
    const path = folder.workflow({ secrets: ["API_TOKEN"], map: plainMap([{ agent }]) });
    const { code, stdout } = await folder.do("validate", path);
    expect(code).toBe(2);
    expect(stdout).toMatch(/agent\.command: .*secret API_TOKEN .*argument/);
  });

  it("as a raw value in the command of the input is refused before it runs", async () => {
    const folder = openFolder(item);
    const { code, stdout, stderr } = await folder.runWorkflow({
      secrets: ["API_TOKEN"],
      env: { API_TOKEN: "s3cr3t-value" },
      map: plainMap("true", { input: { command: "echo ${raw:env.API_TOKEN} > seen" } }),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("map.input.command: ${raw:…} would put a secret into the text of the script");
    expect(stdout + stderr).not.toContain("s3cr3t");
    expect(folder.get("seen")).toBe("");
  });
});
