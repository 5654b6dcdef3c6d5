/** When the launcher itself cannot be started, that is the runner's trouble and never the item's. */
import { expect, test, vi } from "vitest";
import { openNativeLauncher } from "../../src/attempt/native-launcher.ts";
import { specOf, temporaryFolder } from "./launch-kit.ts";

const { spawn } = vi.hoisted(() => ({ spawn: vi.fn() }));
vi.mock("node:child_process", async (importOriginal) => ({ ...(await importOriginal<object>()), spawn }));

test.each([
  [
    "no memory is left for it",
    () => {
      throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
    },
    "ENOMEM",
  ],
  // Node answers with a child that has no pipes when it runs out of files.
  ["no files are left for it", () => ({ once: vi.fn(), on: vi.fn(), unref: vi.fn() }), "ELAUNCHER"],
])("a launcher that does not start because %s starts nothing, and is tried again", async (_, start, code) => {
  spawn.mockImplementation(start);
  const launcher = openNativeLauncher("redrive-launcher");
  const before = spawn.mock.calls.length;
  const spec = specOf(temporaryFolder(), "true");
  for (const launched of [launcher.launch(spec), launcher.launch(spec)]) {
    expect(await launched.ended).toMatchObject({ startStage: "runner", startError: code });
    await launched.end(0);
  }
  expect(spawn.mock.calls.length - before).toBe(2);
  await launcher.close();
});
