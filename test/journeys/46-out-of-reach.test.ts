/** Stores that this user, or nobody, may create or read: a clear message, with the exit code for "try again". */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLI_PATH } from "../support/cli.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

const NOBODY = 65_534;
const LOOKS = [["queue", "list"], ["metrics"], ["dlq", "list"], ["receipts"], ["watch", "--once"]] as const;
const CHANGES = [
  ["queue", "add", "orders", "--data", "1"],
  ["queue", "create", "returns"],
  ["receipts", "target", "gate", "--url", "http://127.0.0.1:9/"],
  ["map", "--", "true"],
] as const;

/** Another user of the machine. */
function asNobody(shop: Workshop, args: readonly string[]) {
  return spawnSync(process.execPath, [CLI_PATH, ...args], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: "/",
    env: { ...shop.env, HOME: "/" },
    encoding: "utf8",
    timeout: 100_000,
  });
}

/** Only root can become another user, and the build may be where only root may read. */
function whyNotNobody(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can run a command as another user";
  const { status } = spawnSync(process.execPath, [CLI_PATH, "--version"], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: "/",
  });
  return status === 0 ? undefined : "another user may not read the build";
}

async function openShared(): Promise<Workshop> {
  const shop = openWorkshop({ onPostgres: false });
  expect((await shop.start(["queue", "create", "orders"], { stdin: "" }).ended).code).toBe(0);
  chmodSync(shop.home, 0o755);
  chmodSync(shop.path("redrive"), 0o755);
  chmodSync(shop.storePath, 0o644);
  return shop;
}

describe.skipIf(whyNotNobody() !== undefined)("a store of another user", () => {
  it.each(CHANGES.map((args) => [args.join(" "), args] as const))(
    "that may only be read is not changed: %s",
    async (_, args) => {
      const shop = await openShared();
      const { status, stderr } = asNobody(shop, args);
      expect(status).toBe(75);
      expect(stderr).toMatch(
        /^redrive: The store .*redrive\.db cannot be written\.\n {2}Check the permissions/,
      );
    },
  );

  it("is closed to everybody else as soon as its owner uses it", async () => {
    const shop = await openShared();
    const worker = shop.start(["worker", "--queue", "orders", "--", "true"], { stdin: "" });
    await worker.untilStderr("Processing orders");
    const { status, stderr } = asNobody(shop, ["queue", "list"]);
    expect(status).toBe(75);
    expect(stderr).toContain("cannot be opened");
    worker.signal("SIGTERM");
    await worker.ended;
  });

  it.each([...LOOKS, ...CHANGES].map((args) => [args.join(" "), args] as const))(
    "in a folder that may not be entered ends with a sentence: %s",
    async (_, args) => {
      const shop = await openShared();
      chmodSync(shop.path("redrive"), 0o700);
      const { status, stdout, stderr } = asNobody(shop, args);
      expect(status).toBe(75);
      expect(stdout + stderr).toContain("cannot be opened");
      expect(stderr).not.toMatch(/\n +at /);
    },
  );
});

describe.skipIf(!existsSync("/proc/self"))("a place where no folder can be made", () => {
  // Adding to a queue creates no store: without one there is no such queue.
  const creating = CHANGES.filter(([, verb]) => verb !== "add");
  it.each(creating.map((args) => [args.join(" "), args] as const))("is said at once: %s", async (_, args) => {
    const shop = openWorkshop({ onPostgres: false });
    const byStore = await shop.run(args, { env: { REDRIVE_STORE: "sqlite:/proc/x/y/store.db" } });
    expect(byStore.code).toBe(75);
    expect(byStore.stderr).toMatch(/^redrive: The store \/proc\/x\/y\/store\.db cannot be opened: ENOENT/);
    const byHome = await shop.run(args, { env: { REDRIVE_HOME: "/proc/x" } });
    expect(byHome.code).toBe(75);
  });
});
