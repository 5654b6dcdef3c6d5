/** `redrive worker`: a process that works queues with a command, on as many machines as share the store. */
import { type Command, Option } from "commander";
import type { Terminal } from "./context.ts";
import {
  allowOptions,
  call,
  dueWithin,
  keepEvidence,
  list,
  onFailureCommand,
  type Report,
} from "./definition.ts";

export function addWorker(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("worker")
    .description("works queues with a command, until it is told to end; many may work one queue")
    .usage("[options] -- COMMAND [ARG…]")
    .argument(
      "[command...]",
      "the command and its arguments; {} is the item, ${item.field} a field, ${item_id} the id, {.} {/} {//} {/.} {#} are as in GNU parallel; no shell is used; its stdin is the item",
    )
    .optionsGroup("What is worked:")
    .addOption(
      list(
        "--queue <queues>",
        "these queues (default: the only one there is); a target of receipts is delivered, without a command",
      ),
    )
    .addOption(
      list(
        "--job <jobs>",
        "help with the items of these jobs, with their own commands: maps, and workflows without worktrees",
      ),
    )
    .optionsGroup("Running:")
    .option("-j, --concurrency <n>", "how many run at a time, of each queue (default: the number of cores)")
    .option(
      "-t, --timeout <duration>",
      "end an attempt that takes longer, with all its processes (default: none)",
    )
    .option("--grace <duration>", "time between the signals TERM and KILL (default: 5s)")
    .option(
      "--rate <n/s>",
      "what this worker may begin of each queue: 5/s, 100/m, 1000/h (default: no limit)",
    )
    .option("-n, --name <name>", "who its notes are by (default: the machine, the process and the slot)")
    .addOption(onFailureCommand())
    .addOption(allowOptions())
    .addOption(keepEvidence())
    .addOption(
      new Option(
        "--store-wait <duration>",
        "how long to wait for a store that does not answer (default: for ever)",
      ),
    )
    .option("-q, --quiet", "neither progress nor the commands' output, only the summary")
    .optionsGroup("Ending:")
    .option("--drain", "work until nothing is left that is due, or soon will be, then end")
    .addOption(dueWithin())
    .option(
      "--drain-timeout <duration>",
      "after SIGTERM or Ctrl-C, how long what runs may take to end; then it is ended and given back (default: 30s)",
    )
    .passThroughOptions()
    .action(call(terminal, report, async () => (await import("./commands/worker.ts")).worker));
}
