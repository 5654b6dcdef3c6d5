/**
 * Redrive's files contain people's data: only their owner can read them, whatever the umask, even files of earlier
 * versions.
 */
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ON_POSTGRES, openWorkshop } from "./workshop.ts";

it("store, logs, letters, exports and capsules are readable by their owner only", async () => {
  const shop = openWorkshop();
  await shop.mapJson([{ id: "a" }], "echo out; echo err >&2; exit 1", [
    "--id-field",
    "id",
    "--retries",
    "0",
    "--name",
    "j",
  ]);
  await shop.run(["dlq", "mirror", "j"]);
  await shop.run(["dlq", "export", "letters.jsonl"], { cwd: shop.home });
  await shop.run(["dlq", "capsule", "a", "--output", "a.capsule"], { cwd: shop.home });
  const exported = readdirSync(shop.home).filter(
    (name) => name.startsWith("letters") || name.includes("capsule"),
  );
  expect(exported.length).toBeGreaterThanOrEqual(2);
  for (const path of [...exported.map((name) => shop.path(name)), ...below(shop.path("redrive"))])
    expect([path, statSync(path).mode & 0o077]).toEqual([path, 0]);
});

it.skipIf(ON_POSTGRES)(
  "files that an earlier version made readable for others are closed to them",
  async () => {
    const shop = openWorkshop();
    await shop.mapJson([{ id: "a" }], "exit 1", ["--id-field", "id", "--retries", "0"]);
    const loose = [shop.storePath, shop.path("redrive/logs")];
    for (const path of loose) chmodSync(path, 0o755);
    await shop.run(["dlq", "list"]);
    for (const path of loose) expect([path, statSync(path).mode & 0o077]).toEqual([path, 0]);
  },
);

/** The folder and everything in it. */
function below(folder: string): string[] {
  const inside = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return [folder, ...inside.map((name) => join(folder, name))];
}
