/** Lock files: one has it at a time, and what a dead process left is no lock. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lockOwner, takeLock } from "../../src/std/file-lock.ts";
import { thisOwner } from "../../src/std/process-identity.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const folder = new TemporaryDirectory();
afterAll(() => folder.remove());

describe("file lock", () => {
  it("is held once, even by its own process, and again after its release", () => {
    const path = folder.file("lock");
    const giveBack = takeLock(path);
    expect(giveBack).not.toBeNull();
    expect(takeLock(path)).toBeNull();
    expect(lockOwner(path)).toMatchObject({ pid: process.pid });
    giveBack?.();
    expect(existsSync(path)).toBe(false);
    expect(takeLock(path)).not.toBeNull();
  });

  it("of a process that is gone is taken over, and no draft remains", () => {
    const path = folder.file("left");
    const pid = spawnSync("true").pid;
    writeFileSync(path, JSON.stringify({ ...thisOwner(), pid, processStart: "1" }));
    expect(takeLock(path)).not.toBeNull();
    expect(readdirSync(dirname(path)).filter((name) => name.includes("left."))).toEqual([]);
  });

  it("of another machine is respected", () => {
    const path = folder.file("other");
    writeFileSync(path, JSON.stringify({ host: "elsewhere/1/2", pid: 1, processStart: "1" }));
    expect(takeLock(path)).toBeNull();
  });

  it("in a missing folder is an error, not a held lock", () => {
    expect(() => takeLock("/nowhere/at/all/lock")).toThrow("ENOENT");
  });
});
