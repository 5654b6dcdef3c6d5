/** `redrive receipts send|deliver|recover`: sends receipts to their targets. */
import { type ReadReceipt, readReceipts, receiptsOf } from "../../delivery/receipt.ts";
import { type Recovery, requireReachable, surveyRecovery } from "../../delivery/recovery.ts";
import { leftOf, type Operation, operationToJson } from "../../item/operation.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import { DELIVERY_SLOTS } from "../../run/deliver.ts";
import { continueRedrive, type RetryOptions, retryLetters } from "../../run/retry.ts";
import type { RunDeps } from "../../run/run-job.ts";
import type { RunObserver } from "../../runner/run-options.ts";
import { receiptsMirror } from "../../service/letter-mirror.ts";
import type { StartService } from "../../service/service.ts";
import { systemClock } from "../../std/clock.ts";
import { compact } from "../../std/json.ts";
import { emptyCounts } from "../bulk.ts";
import { argument, command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { conflict, EXIT, userError } from "../exit-code.ts";
import { answerRedriven, type Watch, withProgress } from "../interactive-run.ts";
import { type SentReceipt, sendReceipts } from "../interactive-send.ts";
import { runWorker } from "../interactive-worker.ts";
import { readJsonOption } from "../json-input.ts";
import { maintenanceOf } from "../maintenance.ts";
import * as option from "../options.ts";
import { previewText } from "../render/operation.ts";
import { clean, lettersText, some } from "../render/text.ts";
import { type Interrupt, untilInterrupted } from "../signals.ts";
import { planFrom } from "./dlq-retry.ts";

const mirror = option.path(
  "--mirror <file>",
  "also write the dead letters to this file, in the receipts.json format",
);

function mirrorPath({ terminal: { cwd } }: Context, file: string | undefined): string | undefined {
  return file === undefined ? undefined : option.absolute(cwd, file, "--mirror");
}

function mirrorsTo(path: string | undefined): readonly StartService[] {
  return path === undefined ? [] : [receiptsMirror(path)];
}

const inputOptions = {
  data: option.word("--data <json>", "the receipt as JSON, or @FILE"),
  file: option.word("--file <file>", "one JSON receipt, an array of them, or JSON Lines; - is stdin"),
  format: option.choice("-f, --format <format>", "the format (default: detected from the content)", [
    "json",
    "jsonl",
  ]),
  key: option.word("--key <key>", "the receipt's unique key (default: derived from its content)", {
    conflicts: ["keyField"],
  }),
  keyField: option.word("--key-field <field>", "the field with the key, which may be nested: a.b"),
};

const send = command({
  summary: "Store receipts, deliver them, and wait for the result.",
  description: "Without --data or --file the receipts are read from stdin.",
  examples: [
    'redrive receipts send billing --data \'{"task_id": "t-1"}\'',
    "redrive receipts send billing --file receipts.jsonl --key-field task_id --wait 1m",
  ],
  arguments: { name: argument("<target>", "its name") },
  options: {
    ...inputOptions,
    order: option.word("--order <key>", "send receipts with the same ordering key one after another"),
    waitMs: option.duration(
      "--wait <duration>",
      "how long to wait for the result before exiting with code 75 (default: forever)",
    ),
    noWait: option.flag("--no-wait", "only store the receipts; `redrive receipts deliver` delivers them"),
    concurrency: option.concurrency("how many receipts to send at a time (default: 10)"),
    mirror,
  },
  run: async (context, { name, order, waitMs, noWait, concurrency: slots, mirror: file, ...input }) => {
    const { services, ...rules } = await maintenanceOf(context);
    const maintenance = { ...rules, services: [...services, ...mirrorsTo(mirrorPath(context, file))] };
    const send = async (interrupt: Interrupt) => {
      const { signal } = interrupt;
      const plan = {
        name,
        signal,
        maintenance,
        receipts: receiptsFrom(context, input, signal),
        waitMs: noWait ? null : (waitMs ?? Number.POSITIVE_INFINITY),
        ...compact({ order, concurrency: slots }),
      };
      const sent = await context.withStore((engine) =>
        sendReceipts(context, engine, plan, (one) => printSent(context, one)),
      );
      return answerSent(context, name, sent, interrupt.exitCode);
    };
    return untilInterrupted(send, () => context.note("Stopped waiting; the receipts are stored."));
  },
});

type ReceiptRuns = AsyncIterable<readonly ReadReceipt[]> | Iterable<readonly ReadReceipt[]>;
type InputFlags = Given<typeof inputOptions>;

/** Reads receipts in batches. Refuses contradictory options before reading. */
async function* receiptsFrom(context: Context, flags: InputFlags, signal: AbortSignal) {
  const { key } = flags;
  let read = 0;
  for await (const run of receiptRuns(context, flags, signal)) {
    read += run.length;
    if (key !== undefined && read > 1) {
      const hint = "Name the field that contains the key: --key-field FIELD";
      throw userError("usage", "--key can be used for one receipt only, and there are several.", hint);
    }
    yield key === undefined ? run : run.map((one) => ({ ...one, key }));
  }
}

function receiptRuns(
  { terminal: { cwd, stdin } }: Context,
  { data, file, format, keyField }: InputFlags,
  signal: AbortSignal,
): ReceiptRuns {
  if (data !== undefined) {
    const other = file !== undefined ? "--file" : format !== undefined ? "--format" : undefined;
    if (other !== undefined) throw conflict("--data", other);
    return [receiptsOf(readJsonOption(data, { option: "--data", cwd }), "--data", keyField)];
  }
  if (file === undefined && (stdin as { isTTY?: boolean }).isTTY) {
    const hint = `Give a receipt as JSON with --data '{"task_id": "t-1"}', --data @FILE, --file FILE, or on stdin.`;
    throw userError("usage", "No receipt was given.", hint);
  }
  const from = file === undefined || file === "-" ? "-" : option.absolute(cwd, file, "--file");
  return readReceipts({ path: from, ...compact({ format, keyField }) }, { stdin, signal });
}

function printSent(context: Context, { key, outcome, isNew, error }: SentReceipt): void {
  if (context.isJson) return;
  const why = error === undefined ? "" : `  ${clean(error)}`;
  const before = isNew || outcome === "conflict" ? "" : "  (sent before)";
  context.terminal.stdout.write(`${outcome.padEnd(9)}  ${clean(key)}${before}${why}\n`);
}

/** Prints the result. The exit code reports conflicts first, then waiting receipts, then dead ones. */
function answerSent(
  context: Context,
  target: string,
  sent: readonly SentReceipt[],
  interrupted: number | null,
): number {
  const counts = { delivered: 0, dead: 0, kept: 0, waiting: 0, conflicts: 0 };
  for (const { outcome } of sent) counts[outcome === "conflict" ? "conflicts" : outcome] += 1;
  const receipts = sent.map(({ isNew, ...one }) => ({ ...one, is_new: isNew }));
  context.answer({ target, sent: sent.length, ...counts, receipts });
  if (!context.isJson) {
    const parts = Object.entries(counts).map(([what, count]) => some(count, what));
    if (sent.length !== 1) context.note(parts.filter(Boolean).join(" · ") || "No receipts.");
    if (counts.dead > 0) context.note(`To list the dead letters: redrive dlq list ${target}`);
    if (counts.kept + counts.waiting > 0)
      context.note(`To deliver the waiting receipts: redrive receipts deliver ${target}`);
  }
  if (interrupted !== null) return interrupted;
  if (counts.conflicts > 0) return EXIT.refused;
  if (counts.waiting > 0) return EXIT.notNow;
  return counts.dead > 0 ? EXIT.lettersLeft : EXIT.done;
}

const deliver = command({
  summary: "Run a worker that delivers waiting receipts.",
  examples: ["redrive receipts deliver", "redrive receipts deliver billing --until-empty"],
  arguments: { targets: argument("[targets...]", "target names (default: all)") },
  options: {
    concurrency: option.concurrency("how many receipts to send to each target at a time (default: 10)"),
    rate: option.rate(
      "the rate limit of this process for each target: 5/s, 100/m, 1000/h (default: no limit)",
    ),
    ...option.endingOptions,
    noAutoRecover: option.flag("--no-auto-recover", "do not resend dead letters after an outage"),
    storeWaitMs: option.storeWaitForeverMs,
    quiet: option.quiet,
    mirror,
  },
  run: (
    context,
    { targets, rate: pace, mirror: file, noAutoRecover, quiet: isQuiet, storeWaitMs: wait, ...flags },
  ) =>
    runWorker(context, {
      command: [],
      queues: [],
      jobs: [],
      graceMs: 0,
      allowOptions: false,
      keepEvidence: false,
      targets: targets.length === 0 ? "all" : targets,
      slots: flags.concurrency ?? DELIVERY_SLOTS,
      drainMs: flags.drainMs,
      storeWaitMs: wait ?? Number.POSITIVE_INFINITY,
      untilEmpty: flags.untilEmpty,
      dueWithinMs: option.readDueWithin(flags),
      isQuiet,
      autoRecover: !noAutoRecover,
      ...(pace && { rate: option.perSecond(pace) }),
      ...compact({ mirror: mirrorPath(context, file) }),
    }),
});

/** `recover` also sends letters that are not eligible for a retry. */
const FORCE = true;

const recover = command({
  summary: "Resend the dead letters of a target once it is reachable.",
  description: "A letter leaves the dead letter queue when it is delivered.",
  examples: [
    "redrive receipts recover billing --dry-run",
    "redrive receipts recover billing --canary --rate 5/s",
  ],
  arguments: { name: argument("<target>", "its name") },
  options: {
    rate: option.rate("send at most this many, e.g. 5/s or 100/m (default: no limit)"),
    ...option.canaryOptions,
    dryRun: option.dryRun,
    yes: option.yes,
    quiet: option.quiet,
    mirror,
    storeWaitMs: option.storeWaitMs,
  },
  run: async (context, { name, mirror: file, dryRun: isPreview, yes: isAgreed, ...flags }) => {
    const plan = planFrom(flags);
    const mirrors = mirrorsTo(mirrorPath(context, file));
    const recovery = await context.withStore(async (engine) => {
      const found = await surveyRecovery(engine, name);
      if (found.letters + found.begun.length > 0) await requireReachable(engine, found);
      return found;
    });
    const { job, letters, selection } = recovery;
    if (isPreview) {
      const preview = await context.withStore((engine) =>
        previewRedrive(engine, selection, { force: FORCE }),
      );
      return context.answer(previewToJson(preview, job.id), () => previewText(preview, job.id, context));
    }
    if (letters > 1 && !isAgreed) await context.confirm(`Resend ${lettersText(letters)} to ${job.id}?`);
    const how = { recovery, author: context.author, force: FORCE, plan, mirrors };
    const { result, interrupt } = await withProgress(context, flags, (deps, watch) =>
      recoverLetters(deps, watch, how),
    );
    const code = answerRecovered(context, recovery, result);
    return interrupt.exitCode ?? code;
  },
});

interface RecoverPlan extends Pick<RetryOptions, "author" | "force" | "plan"> {
  readonly recovery: Recovery;
  readonly mirrors: readonly StartService[];
}

/** Finishes operations that were interrupted, then sends all dead letters. */
async function recoverLetters(given: RunDeps, watch: Watch, { recovery, mirrors, ...how }: RecoverPlan) {
  const { job, selection, letters, begun } = recovery;
  const services = [...(given.services ?? []), ...mirrors];
  const deps = reportingFailures({ ...given, services }, watch.onNotice);
  const ended: Operation[] = [];
  for (const operation of begun) {
    watch.onNotice(`Resuming ${operation.id}, which was not finished.`);
    ended.push(await continueRedrive(deps, operation, watch));
  }
  if (letters > 0 && !deps.stop.aborted)
    ended.push(await retryLetters(deps, { job, selection, ...how, ...watch }));
  if (ended.length > 0) return ended;
  const { engine, home } = deps; // nothing ran, but --mirror still writes the file
  for (const open of mirrors)
    await open(job, { engine, home, clock: systemClock, onNotice: watch.onNotice }).stop();
  return ended;
}

const FAILURES_SHOWN_MAX = 20;

/** Reports the first receipts that were not delivered, with the reason. */
function reportingFailures(deps: RunDeps, onNotice: (notice: string) => void): RunDeps {
  let shown = 0;
  const settled: NonNullable<RunObserver["settled"]> = (item, settlement, outcome) => {
    deps.observer?.settled?.(item, settlement, outcome);
    if (settlement.death === undefined || shown >= FAILURES_SHOWN_MAX) return;
    shown += 1;
    const why = settlement.failure?.errorMessage ?? settlement.death.reason;
    onNotice(clean(`${item.itemId} was not delivered and stays dead: ${why}`));
    if (shown === FAILURES_SHOWN_MAX) onNotice(`To list all of them: redrive dlq list ${item.queue}`);
  };
  return { ...deps, observer: { ...deps.observer, settled } };
}

/** Prints the result. The exit code is 75 if letters remain, for example because the target was paused. */
function answerRecovered(context: Context, { job }: Recovery, ended: readonly Operation[]): number {
  const last = ended.at(-1);
  if (last === undefined)
    return context.answer(emptyCounts("redrive", job.id), () => `${job.id} has no letters.\n`);
  const before = ended.slice(0, -1);
  const code = answerRedriven(context, { job, operation: last }, { resumed: before.map(operationToJson) });
  if (ended.some((operation) => leftOf(operation) > 0)) return EXIT.notNow;
  return before.some(({ failed, refused }) => failed + refused > 0) ? EXIT.lettersLeft : code;
}

export const commands = { send, deliver, recover };
