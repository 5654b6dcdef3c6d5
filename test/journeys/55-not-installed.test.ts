/** Programs that are not installed are found before the first item, and a shell line that was quoted as one word. */
import { describe, expect, it } from "vitest";
import { itemsJson, ONE_TRY, openFolder, plainMap } from "./project.ts";
import type { ErrorJson, Summary } from "./workshop.ts";

const AGENT = { agent: { command: "no-such-agent --fast", prompt: "/fix ${item.id}" } };

describe("a program of a workflow that is not installed", () => {
  it.each([
    ["an agent", AGENT, "no-such-agent"],
    ["a plain command", { shell: "no-such-compiler --all ${item.id}" }, "no-such-compiler"],
    ["an agent that validates", { shell: "true", validate: AGENT }, "no-such-agent"],
  ])("%s: validate warns, run refuses, and no job is left", async (_, step, program) => {
    const folder = openFolder(itemsJson("a", "b"));
    const file = folder.workflow({ map: plainMap(["echo x >> $L", step].map(asStep)) });
    const validated = await folder.do("validate", file, "--json");
    expect(validated.code).toBe(0);
    expect(validated.json()).toMatchObject({ valid: true, warnings: [{ program }] });
    expect((await folder.do("validate", file)).stdout).toContain(`the program ${program} was not found`);
    const ran = await folder.do("run", file, "--json");
    expect(ran.code).toBe(2);
    expect(ran.json<ErrorJson>().error).toMatchObject({
      code: "command_not_found",
      message: expect.stringContaining(`${program} (map, step 2`),
    });
    expect([folder.ledger, await folder.json("jobs")]).toEqual([[], { jobs: [] }]);
  });

  it("is searched after setup, which may install it, and before the first item", async () => {
    const folder = openFolder(itemsJson("a"));
    const bin = folder.path("installed");
    const map = plainMap([{ shell: "echo x >> $L" }, AGENT]);
    const workflow = (setup: string) => ({
      env: { PATH: `${bin}:/usr/bin:/bin` },
      setup: [{ shell: setup }],
      map,
    });
    const missing = await folder.runWorkflow(workflow("echo setup >> $L"));
    expect([missing.code, folder.ledger]).toEqual([2, ["setup"]]);
    const install = `mkdir ${bin}; printf '#!/bin/sh\n' > ${bin}/no-such-agent; chmod +x ${bin}/no-such-agent`;
    expect((await folder.runWorkflow(workflow(install))).code).toBe(0);
  });

  it("is no error if the step may not run or handles the failure", async () => {
    const folder = openFolder(itemsJson({ id: "a", command: "echo done", rest: "ue" }));
    const steps = [
      { ...AGENT, when: "item.id == 'z'" },
      { shell: "true", on_failure: AGENT },
    ];
    expect((await folder.runWorkflow({ map: plainMap(steps) })).code).toBe(0);
  });

  it("refuses a retry too, and the letters are unchanged", async () => {
    const folder = openFolder(itemsJson("a"));
    const bin = folder.path("bin");
    const agent = { agent: { command: "flaky-agent", prompt: "/fix" } };
    folder.write("bin/flaky-agent", "#!/bin/sh\nexit 1\n");
    folder.sh(`chmod +x ${bin}/flaky-agent`);
    const env = { ...folder.here.env, PATH: `${bin}:/usr/bin:/bin` };
    const file = folder.workflow({ map: plainMap([agent]), error_policy: ONE_TRY });
    expect((await folder.run(["run", file], { cwd: folder.top, env })).code).toBe(3);
    const [letter] = await folder.letters();
    const refused = await folder.run(["dlq", "retry", letter?.job_id ?? ""], {
      cwd: folder.top,
      env: { ...env, PATH: "/usr/bin:/bin" },
    });
    expect(refused.code).toBe(2);
    expect(await folder.letters()).toEqual([letter]);
  });
});

describe("a command of a map that is gone when the map is resumed", () => {
  it("is found before the first item; a map without remaining items needs no command", async () => {
    const folder = openFolder({ "in.txt": "a\nb\n" });
    const program = folder.put("tool", "#!/bin/sh\nexit 1\n");
    folder.sh("chmod +x tool");
    const map = [
      "map",
      "--input",
      "in.txt",
      "--retries",
      "0",
      "--fail-fast",
      "-j",
      "1",
      "--",
      "./tool",
      "{}",
    ];
    const { code } = await folder.do(...map);
    expect(code).toBe(1);
    folder.sh("mv tool tool-1");
    const before = await folder.letters();
    const refused = await folder.do("resume", "--json");
    expect(refused.code).toBe(2);
    expect(refused.json<ErrorJson>().error).toMatchObject({
      code: "command_not_found",
      message: expect.stringContaining("The command ./tool was not found"),
    });
    expect(await folder.letters()).toEqual(before);
    const { jobs } = await folder.json<{ jobs: readonly Summary[] }>("jobs");
    expect(jobs).toMatchObject([{ status: "stopped", remaining: 1, attempts: 1 }]);

    folder.put("tool", "#!/bin/sh\n");
    folder.sh("chmod +x tool");
    const job = jobs[0]?.job_id ?? "";
    expect((await folder.do("resume", job)).code).toBe(0);
    folder.sh(`rm ${program}`);
    expect((await folder.do("resume", job)).code).toBe(0);
  });
});

const asStep = (step: unknown) => (typeof step === "string" ? { shell: step } : step);

describe("one quoted text as a command", () => {
  it.each([
    [["gzip -k {}"], ["Omit the quotes: redrive map -- gzip -k {}", `sh -c 'gzip -k "$1"' sh {}`]],
    [["sort -u | head {}"], [`Use a shell: redrive map -- sh -c 'sort -u | head "$1"' sh {}`]],
    [["gzip -k '{}'"], [`sh -c 'gzip -k "$1"' sh {}`]],
    [
      ["gzip -k", "{}"],
      ["redrive map -- gzip -k {}", `sh -c 'gzip -k "$1"' sh {}`],
    ],
  ])("%j gets the hint that runs it, and nothing is run", async (command, hints) => {
    const folder = openFolder({ "in.txt": "a\nb\n" });
    const { code, json } = await folder.do(
      "map",
      "--json",
      "--input",
      `${folder.top}/in.txt`,
      "--",
      ...command,
    );
    expect(code).toBe(2);
    const { error } = json<ErrorJson>();
    expect(error.code).toBe("command_not_found");
    for (const hint of hints) expect(error.hint).toContain(hint);
    expect(await folder.json("jobs")).toEqual({ jobs: [] });
  });
});
