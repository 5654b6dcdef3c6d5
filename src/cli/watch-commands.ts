/** `redrive metrics` and `redrive watch`: the numbers for Prometheus, and the alerts for people. */
import type { Command } from "commander";
import type { Terminal } from "./context.ts";
import { call, type Report } from "./definition.ts";

export function addWatching(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("metrics")
    .description("prints the numbers of all queues in the text form of Prometheus, or serves them over HTTP")
    .option("--metrics-prefix <prefix>", "what the names begin with (default: redrive)")
    .option(
      "--listen <[host:]port>",
      "serve /metrics and /health until a signal comes (host: 127.0.0.1 by default)",
    )
    .action(call(terminal, report, async () => (await import("./commands/metrics.ts")).metrics));
  program
    .command("watch")
    .description("checks the queues by a schedule and when letters come, and tells what is wrong")
    .option("--once", "check once and say what is wrong; exit code 3 when something is")
    .option("--dry-run", "check once and print what would be sent; nothing is sent or remembered")
    .option("--schedule <cron>", "when it checks (default: as redrive.yml says, else '*/30 * * * *')")
    .option(
      "--time-zone <zone>",
      "the time zone of the schedule (default: as redrive.yml says, else the machine's)",
    )
    .action(call(terminal, report, async () => (await import("./commands/watch.ts")).watch));
}
