/** Opening a store that cannot be used. */
import { copyFileSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

// Only there does the system list what a process has open in a folder.
const onLinux = it.runIf(process.platform === "linux");

onLinux("a file that is no store is refused, and is not left open", async () => {
  const path = directory.file("text.db");
  writeFileSync(path, "this is no database at all, and long enough to be looked at ".repeat(40));
  await expect(openSqliteEngine({ path })).rejects.toMatchObject({ code: "store_corrupt" });
  expect(openFiles(path)).toEqual([]);
});

it("a copy of the file alone has everything after the store was closed", async () => {
  const [path, copy] = [directory.file("whole.db"), directory.file("copy.db")];
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: "orders", name: "orders", kind: "queue", spec: {} });
  await engine.add("orders", [{ itemId: "o-1", data: { total: 7 } }]);
  await engine.close();
  copyFileSync(path, copy);
  const copied = await openSqliteEngine({ path: copy });
  const [item] = await copied.listItems({ queue: "orders", limit: 1 });
  await copied.close();
  expect(item?.data).toEqual({ total: 7 });
});

/** What this process has open of the store. */
function openFiles(path: string): readonly string[] {
  return readdirSync("/proc/self/fd")
    .map(target)
    .filter((file) => file.startsWith(path));
}

function target(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return ""; // closed meanwhile
  }
}
