/** When the output of a running command is published, so that other processes can follow it. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Ended, type Launcher, type LaunchSpec, notStarted } from "../../src/attempt/launch.ts";
import { isPublished, OutputWatch } from "../../src/attempt/output-watch.ts";
import { runProcess } from "../../src/attempt/run-process.ts";
import { specOf, temporaryFolder } from "./launch-kit.ts";

test("publishes output at the second tick, until the command has ended", () => {
  const folder = temporaryFolder();
  const output = {
    log: join(folder, "1.log"),
    stdout: join(folder, "slot-1.out"),
    stderr: join(folder, "slot-1.err"),
  };
  const watch = new OutputWatch();
  watch.announce(output);
  watch.tick();
  expect(isPublished(output)).toBe(false);
  watch.tick();
  expect(isPublished(output)).toBe(true);
  watch.take(output.stdout);
  expect(isPublished(output)).toBe(false);
});

test("publishes nothing of a command that waits for its start", async () => {
  const folder = temporaryFolder();
  let launched: LaunchSpec | undefined;
  let end: (ended: Ended) => void = () => undefined;
  const ended = new Promise<Ended>((resolve) => {
    end = resolve;
  });
  const launcher: Launcher = {
    ...{ kind: "native", canQueue: true, setMarksFile: () => undefined, recall: () => undefined },
    launch: (spec) => {
      launched = spec;
      return { ended, end: async () => undefined };
    },
    close: async () => undefined,
  };
  const outputs = new OutputWatch();
  const queued = { limit: 1, mark: 0, ref: 1, attempt: 1, startWithinMs: 1000, onStarted: () => undefined };
  const spec = specOf(folder, ":", { queued });
  const running = runProcess({
    ...{ launcher, spec, outputs, running: { log: join(folder, "1.log") }, graceMs: 1 },
    ...{ failureFile: join(folder, "failure"), signal: new AbortController().signal },
    ...{ mayStart: () => true, now: () => 0, keep: () => ({ stdoutTail: "", stderrTail: "" }) },
  });
  const record = { log: join(folder, "1.log"), stdout: spec.stdoutPath, stderr: spec.stderrPath };
  const tickTwice = () => [outputs.tick(), outputs.tick()];
  tickTwice();
  expect(isPublished(record)).toBe(false);
  launched?.queued?.onStarted();
  tickTwice();
  expect(isPublished(record)).toBe(true);
  end(notStarted("ECANCELED", "runner"));
  await running;
  expect(isPublished(record)).toBe(false);
});
