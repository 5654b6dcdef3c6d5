/** `redrive ops …`: operations on many letters, how they stand, and what can be done with them. */
import type { Command } from "commander";
import type { Terminal } from "./context.ts";
import { call, ofJob, type Report, storeWait } from "./definition.ts";

export function addOperations(ops: Command, terminal: Terminal, report: Report): void {
  ofJob(ops.command("list", { isDefault: true }), "of this job")
    .description("lists operations, newest first")
    .option("--open", "only those that have not ended")
    .action(call(terminal, report, async () => (await import("./commands/ops-list.ts")).opsList));
  ops
    .command("show")
    .description("shows an operation: what it selected, did, refused and why")
    .argument("<operation>", "its id, or the beginning of it")
    .action(call(terminal, report, async () => (await import("./commands/ops-show.ts")).opsShow));
  ops
    .command("pause")
    .description("stops an operation for now; what runs comes to its end")
    .argument("<operation>", "its id, or the beginning of it")
    .action(call(terminal, report, async () => (await import("./commands/ops-change.ts")).opsPause));
  ops
    .command("resume")
    .description("goes on with an operation that was paused, interrupted or killed, and waits for its end")
    .argument("[operation]", "its id, or the beginning of it (default: the only one that has not ended)")
    .option("-q, --quiet", "neither progress nor the commands' output")
    .addOption(storeWait())
    .action(call(terminal, report, async () => (await import("./commands/ops-resume.ts")).opsResume));
  ops
    .command("cancel")
    .description("ends an operation; what it has not begun stays as it is")
    .argument("<operation>", "its id, or the beginning of it")
    .action(call(terminal, report, async () => (await import("./commands/ops-change.ts")).opsCancel));
  ops
    .command("undo")
    .description("takes back an edit, a discard, a restore, or a purge that was archived")
    .argument("<operation>", "its id, or the beginning of it")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/ops-undo.ts")).opsUndo));
}
