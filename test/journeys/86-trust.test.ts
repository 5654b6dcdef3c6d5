/** Settings of a cloned folder that run commands automatically: not before the user trusts them. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { asPerson } from "../support/person.ts";
import { openWorkshop } from "./workshop.ts";

function settings(marker: string): string {
  const command = JSON.stringify(["sh", "-c", `touch '${marker}'; echo '{}'`]);
  return [
    `fixes: [{ name: mend, match: { type: CommandFailed }, command: ${command}, max_uses: 1, auto: true }]`,
    `watch: { channels: { bell: { type: command, command: ${command} } } }`,
    "",
  ].join("\n");
}

it("no command of a found redrive.yml runs before the file is trusted, and a changed file is asked about again", async () => {
  const workshop = openWorkshop();
  const cwd = workshop.path("cloned");
  const marker = workshop.path("ran");
  mkdirSync(cwd);
  writeFileSync(`${cwd}/redrive.yml`, settings(marker));
  const map = ["map", "--retries", "0", "--name", "m", "--", "false"];

  for (const argv of [map, ["watch", "--once"]]) {
    const refused = await workshop.run(argv, { cwd, stdin: "a\n" });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("redrive trust");
  }
  const declined = await asPerson(["watch", "--once"], { home: workshop.home, cwd, answers: ["n"] });
  expect(declined.code).toBe(2);
  expect(existsSync(marker)).toBe(false);

  const trusted = await workshop.run(["trust", "--json"], { cwd });
  expect(trusted.code, trusted.stderr).toBe(0);
  expect(trusted.json<{ commands: string[] }>().commands).toHaveLength(2);
  const ran = await workshop.run(map, { cwd, stdin: "a\n" });
  expect(ran.stderr).not.toContain("not trusted");
  expect(existsSync(marker)).toBe(true);

  writeFileSync(`${cwd}/redrive.yml`, `${settings(marker)}# changed\n`);
  expect((await workshop.run(["watch", "--once"], { cwd })).code).toBe(2);
  const asked = await asPerson(["watch", "--once"], { home: workshop.home, cwd, answers: ["y"] });
  expect(asked.stderr).toMatch(/Trust .*\[y\/N\]/);
  expect((await workshop.run(["watch", "--once"], { cwd })).stderr).not.toContain("not trusted");
  const named = await workshop.run(["watch", "--once", "--config", `${cwd}/redrive.yml`], { cwd });
  expect(named.stderr).not.toContain("not trusted");
});
