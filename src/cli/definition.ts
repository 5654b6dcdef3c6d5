/** Words that the definitions of commands share. */
import { type Command, Option } from "commander";
import { requireNamedFile } from "../config/find-file.ts";
import { OUTAGE_ACTIONS } from "../retry/policy.ts";
import { Context, type SharedOptions, type Terminal } from "./context.ts";

export type Action = (context: Context, ...args: never[]) => Promise<number>;
export type Report = (code: number) => void;

/** Commander hands the arguments, then the options, then itself. */
export function call(terminal: Terminal, report: Report, load: () => Promise<Action>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.pop() as Command;
    const options = given.at(-1) as SharedOptions;
    const shared = { ...command.opts(), ...options };
    const { cwd, env } = terminal;
    requireNamedFile({ cwd, env, ...(shared.config !== undefined && { file: shared.config }) });
    const action = await load();
    report(await action(new Context(terminal, shared), ...(given as never[])));
  };
}

export function storeWait(): Option {
  return new Option(
    "--store-wait <duration>",
    "how long to wait for a store that cannot be written (default: 30s)",
  );
}

export function dueWithin(): Option {
  return new Option(
    "--due-within <duration>",
    "with --drain: what is due later is left in line (default: 5m)",
  );
}

export function onOutage(): Option {
  return new Option(
    "--on-outage <action>",
    "when the service that the work needs is away or throttles: retry spends attempts like any failure, wait pauses the queue and spends none (default: retry)",
  ).choices(OUTAGE_ACTIONS);
}

export function maxOutage(): Option {
  return new Option(
    "--max-outage <duration>",
    "with --on-outage wait: how long an outage is waited for before attempts count again (default: 24h)",
  );
}

export function keepEvidence(): Option {
  return new Option(
    "--keep-evidence",
    "copy the files that the work names as evidence into the home (default: record their digest, size and type)",
  );
}

export function limit(description: string): Option {
  return new Option("-l, --limit <n>", description).default("20", "20");
}

export function allowOptions(): Option {
  return new Option(
    "--allow-options",
    "fill in items that begin with - also where the command could read them as options (default: such an item fails)",
  );
}

/** Of commands that work items with a command of the user. */
export function onFailureCommand(): Option {
  return new Option(
    "--on-failure-command <command>",
    "when the tries of an item are spent, run this in a shell: exit code 0 means handled, 75 retry, else a letter; the failure is its stdin, and in REDRIVE_ERROR_TYPE, REDRIVE_ERROR_MESSAGE, REDRIVE_ERROR_STEP and REDRIVE_ERROR_EXIT_CODE",
  );
}

/** Separated by commas, or given again; what comes after it is not taken for one more. */
export function list(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text, before: readonly string[] | undefined) => [
    ...(before ?? []),
    text,
  ]);
}

/** For commands that take one job: a named queue is called by either word. */
export function ofJob(command: Command, description: string): Command {
  return command
    .option("--job <job>", description)
    .addOption(new Option("--queue <queue>", "the same, of a queue").conflicts("job"))
    .hook("preAction", (_, called) => {
      const queue: unknown = called.getOptionValue("queue");
      if (queue !== undefined) called.setOptionValue("job", queue);
    });
}

/** The same words select letters in every command. */
export function selection(command: Command): Command {
  return command
    .optionsGroup("Which letters:")
    .option("--job <job>", "of this job")
    .option("--queue <queue>", "of this queue (a job's queue has the job's id)")
    .addOption(
      list(
        "--group <groups>",
        "of these groups: signatures, beginnings of them or names (`redrive groups` lists them)",
      ),
    )
    .addOption(list("--type <types>", "with these error types, e.g. Timeout,CommandFailed"))
    .addOption(
      list("--class <classes>", "with these error classes: transient, throttled, outage, permanent, unknown"),
    )
    .addOption(
      list(
        "--state <states>",
        "in these states: dead, ready, leased, discarded, resolved, all (default: those that wait)",
      ),
    )
    .option("--older-than <duration>", "whose first failure was this long ago or earlier, e.g. 2h")
    .option("--newer-than <duration>", "whose first failure was less long ago")
    .option("--age-of <failure>", "count these ages from the `first` or the `last` failure (default: first)")
    .option("--attempts <range>", "with so many attempts: 3, 3.. or 2..5")
    .option("--eligible", "that may be retried without --force")
    .option("--search <text>", "whose last message has this text, in any case")
    .option("--filter <cel>", "for which this is true, e.g. 'item.size > 10 && letter.failure_count > 2'")
    .optionsGroup("Options:");
}

/** Of commands that change many letters. */
export function bulk(command: Command): Command {
  return selection(command)
    .option("--dry-run", "only say what would be done")
    .option("-y, --yes", "do not ask");
}
