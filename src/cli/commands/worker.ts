/** `redrive worker`: processes queues with a command. Workers on several machines may share a store. */
import { availableParallelism } from "node:os";
import { compileCommand, emptiedOptionWarning, refuseEmptiedArgument } from "../../attempt/template.ts";
import { argument, command } from "../command.ts";
import { userError } from "../exit-code.ts";
import { noCommand, runWorker } from "../interactive-worker.ts";
import * as option from "../options.ts";

const worker = command({
  summary: "Run a worker that processes queue items with a command.",
  description: "Several workers may share a queue, even on different machines.",
  examples: [
    "redrive worker --queue orders -- ./process-order.sh '${item.order}'",
    "redrive worker --queue orders --until-empty -j 4 -- ./process-order.sh {}",
    "redrive worker --job nightly-7h2k9m4x",
  ],
  arguments: { command: argument("[command...]", option.COMMAND_HELP) },
  passesThrough: true,
  options: {
    ...option.under("What to process", {
      queues: option.list(
        "--queue <queues>",
        "the queues to process (default: the only queue); receipt targets need no command",
      ),
      jobs: option.list(
        "--job <jobs>",
        "process items of these jobs (maps, and workflows without worktrees) with the jobs' own commands",
      ),
    }),
    ...option.under("Running", {
      concurrency: option.concurrency(
        "how many items of each queue to run at a time (default: the number of cores)",
      ),
      timeoutMs: option.timeoutMs,
      graceMs: option.graceMs,
      rate: option.rate(
        "the rate limit of this worker for each queue: 5/s, 100/m, 1000/h (default: no limit)",
      ),
      name: option.word(
        "-n, --name <name>",
        "the author of the worker's notes (default: machine, process and slot)",
      ),
      failureCommand: option.onFailureCommand,
      allowOptions: option.allowOptions,
      keepEvidence: option.keepEvidence,
      storeWaitMs: option.storeWaitForeverMs,
      quiet: option.quiet,
    }),
    ...option.under("Ending", option.endingOptions),
  },
  run: (
    context,
    { command: words, queues, jobs = [], rate: pace, quiet: isQuiet, concurrency: slots, ...flags },
  ) => {
    const needsCommand = queues !== undefined || jobs.length === 0;
    if (needsCommand && words.length === 0 && queues === undefined) throw noCommand();
    if (!needsCommand && words.length > 0) {
      const hint = "Omit the command, or add the queue that it is for with --queue.";
      throw userError("usage", "The items of a job are processed with the job's own command.", hint);
    }
    compileCommand(words);
    refuseEmptiedArgument(words);
    const warning = emptiedOptionWarning(words);
    if (warning !== undefined) context.note(warning);
    return runWorker(context, {
      ...flags,
      command: words,
      queues: needsCommand ? (queues ?? "the only one") : [],
      jobs,
      slots: slots ?? availableParallelism(),
      ...(slots !== undefined && { jobSlots: slots }),
      storeWaitMs: flags.storeWaitMs ?? Number.POSITIVE_INFINITY,
      dueWithinMs: option.readDueWithin(flags),
      isQuiet,
      ...(pace && { rate: option.perSecond(pace) }),
    });
  },
});

export const commands = { worker };
