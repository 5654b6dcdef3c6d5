/** A store file of 0 bytes was truncated: no command takes it for a new store, and none writes into it. */
import { statSync } from "node:fs";
import { expect, it } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { ON_POSTGRES, openWorkshop } from "./workshop.ts";

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
