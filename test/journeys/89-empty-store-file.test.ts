/** A store file of 0 bytes was truncated: no command takes it for a new store or writes into it. */
import { existsSync, statSync } from "node:fs";
import { expect, it } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { useProcesses } from "../support/cli.ts";
import { ON_POSTGRES, openWorkshop, SOUND } from "./workshop.ts";

useProcesses();

const inFile = it.skipIf(ON_POSTGRES);

inFile("a store file of 0 bytes is reported as damaged and stays as it is", async () => {
  const shop = openWorkshop();
  const path = shop.write("empty.db", "");
  for (const args of [["jobs"], ["store", "check"], ["queue", "create", "q"]]) {
    const { code, stderr } = await shop.run([...args, "--store", `sqlite:${path}`]);
    expect(code).toBe(75);
    expect(stderr).toContain("the file has 0 bytes");
  }
  expect(statSync(path).size).toBe(0);
});

inFile.each([
  ["before", false],
  ["after", true],
])("a process that is killed right %s the file appears leaves no file of 0 bytes", async (_when, isThere) => {
  const shop = openWorkshop();
  const path = shop.path("killed.db");
  const link = "const link = fs.linkSync";
  const die = 'process.kill(process.pid, "SIGKILL")';
  const acts = isThere ? `link(...paths); ${die}` : die;
  const hook = shop.write(
    "die.cjs",
    `const fs = require("fs"); ${link}; fs.linkSync = (...paths) => { ${acts}; };`,
  );
  const create = ["queue", "create", "q", "--store", `sqlite:${path}`];
  const killed = await shop.run(create, { env: { NODE_OPTIONS: `--require ${hook}` } });
  expect(killed.signal).toBe("SIGKILL");
  expect(existsSync(path)).toBe(isThere);
  expect((await shop.run(create)).code).toBe(0);
  expect((await shop.run(["store", "check", "--store", `sqlite:${path}`])).stdout).toBe(SOUND);
});

inFile("several openings that create a store at the same moment all work", async () => {
  const shop = openWorkshop();
  const url = `sqlite:${shop.path("new.db")}`;
  const engines = await Promise.all(Array.from({ length: 8 }, () => openStore(url)));
  for (const engine of engines) {
    expect(await engine.check()).toEqual([]);
    await engine.close();
  }
  const made = await Promise.all(
    ["a", "b", "c"].map((name) =>
      shop.run(["queue", "create", name, "--store", `sqlite:${shop.path("more.db")}`]),
    ),
  );
  expect(made.map(({ code }) => code)).toEqual([0, 0, 0]);
});
