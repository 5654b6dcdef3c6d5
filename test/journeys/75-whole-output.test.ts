/**
 * The output of successful commands is the result of a map: it is complete, whatever its size, or the loss is
 * reported.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { fillUp, mountSmall, NO_MOUNTS } from "../support/mounts.ts";
import { openWorkshop } from "./workshop.ts";

const MB = 1024 * 1024;
const ifMounts = it.skipIf(NO_MOUNTS !== null);

describe("the output of a successful command", () => {
  it("is printed byte for byte even if it is larger than a log", async () => {
    const shop = openWorkshop();
    const seq = ["seq", "1", "17000000"] as const;
    const { code, stdoutBytes } = await shop.run(["map", "--", ...seq], { stdin: "x\n" });
    const [program, ...args] = seq;
    const expected = execFileSync(program, args, { maxBuffer: 256 * MB });
    expect(code).toBe(0);
    expect(stdoutBytes.length).toBeGreaterThan(128 * MB); // twice as much as a log keeps
    expect(stdoutBytes.equals(expected)).toBe(true);
  });

  ifMounts("is reported as incomplete when the disk was full, on the screen and with the item", async () => {
    const shop = openWorkshop();
    await shop.run(["queue", "create", "q"]);
    await shop.run(["queue", "add", "q", "--key", "k", "--data", "1"]);
    mountSmall(shop.path("redrive/logs"), MB);
    fillUp(shop.path("redrive/logs/ballast"));
    const lossy = ["sh", "-c", "echo lost || true"];
    const map = await shop.run(["map", "--", ...lossy], { stdin: "a\n" });
    const worker = await shop.run(["worker", "--queue", "q", "--drain", "--", ...lossy]);
    for (const { code, stderr } of [map, worker]) {
      expect(code).toBe(0);
      expect(stderr).toMatch(/The output of \S+ may be incomplete\. The log disk is full\./);
    }
    const { stdout } = await shop.run(["queue", "show", "q", "k"]);
    expect(stdout).toContain("The output of this attempt may be incomplete.");
  });
});
