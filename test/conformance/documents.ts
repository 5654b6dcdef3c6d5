/** The contract of the small documents that processes share. */
import { expect } from "vitest";
import type { Declare } from "./workbench.ts";

export function documentTests(test: Declare): void {
  test("a written document can be read with its version", async ({ engine }) => {
    expect(await engine.readDocument("watch/state")).toBeNull();
    expect(await engine.writeDocument("watch/state", { seen: 0, body: { depth: [1, "ü"] } })).toBe(true);
    expect(await engine.readDocument("watch/state")).toEqual({ version: 1, body: { depth: [1, "ü"] } });
    expect(await engine.writeDocument("watch/state", { seen: 1, body: null })).toBe(true);
    expect(await engine.readDocument("watch/state")).toEqual({ version: 2, body: null });
    expect(await engine.readDocument("watch")).toBeNull();
  });

  test("a write with an old version changes nothing", async ({ engine }) => {
    expect(await engine.writeDocument("copy/a", { seen: 1, body: 1 })).toBe(false);
    expect(await engine.readDocument("copy/a")).toBeNull();
    await engine.writeDocument("copy/a", { seen: 0, body: 1 });
    for (const seen of [0, 2]) expect(await engine.writeDocument("copy/a", { seen, body: 2 })).toBe(false);
    expect(await engine.readDocument("copy/a")).toEqual({ version: 1, body: 1 });
  });

  test("of many writes with the same version, one succeeds", async ({ engine }) => {
    const writers = [1, 2, 3, 4, 5].map((body) => engine.writeDocument("copy/a", { seen: 0, body }));
    const won = (await Promise.all(writers)).filter((isWritten) => isWritten);
    expect(won).toHaveLength(1);
    expect((await engine.readDocument("copy/a"))?.version).toBe(1);
  });
}
