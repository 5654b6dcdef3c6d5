/** `redrive metrics` and `redrive watch`: Prometheus metrics, and alerts. */
import { once } from "node:events";
import type { Engine } from "../../engine.ts";
import { openStore } from "../../engines/open.ts";
import { isError, RedriveError } from "../../errors.ts";
import { requireSecrets } from "../../service/alert-channels.ts";
import { isTimeZone, scheduleFault } from "../../service/alert-schedule.ts";
import { keepWatching } from "../../service/alert-service.ts";
import type { WatchSettings } from "../../service/alert-settings.ts";
import { type CheckReport, Watcher } from "../../service/alert-watcher.ts";
import { metricsToJson, readMetrics } from "../../service/metrics.ts";
import { parseListen, serveMetrics } from "../../service/metrics-server.ts";
import { metricsPrefix, metricsText } from "../../service/metrics-text.ts";
import { compact } from "../../std/json.ts";
import { command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { flag, value, withDefault, word } from "../options.ts";
import { checkToJson, dryRunText, onceText, WatchScreen } from "../render/watch.ts";
import { untilInterrupted } from "../signals.ts";
import { ownCommands, requireTrust } from "./trust.ts";

const metrics = command({
  summary: "Print the numbers of all queues in the Prometheus format, or serve them over HTTP.",
  examples: ["redrive metrics", "redrive metrics --listen 9464"],
  options: {
    prefix: withDefault(
      value("--metrics-prefix <prefix>", "the prefix of all names", metricsPrefix),
      "redrive",
    ),
    at: value(
      "--listen <[host:]port>",
      "serve /metrics and /health until a signal (host: 127.0.0.1 by default)",
      parseListen,
    ),
  },
  run: async (context, { prefix, at }) => {
    const engine = await openExisting(context.storeUrl);
    try {
      const text = () => metricsText(engine, { prefix });
      if (at !== undefined) await serve(context, { engine, at, text });
      else if (context.isJson) context.answer(metricsToJson(await readMetrics(engine)));
      else context.terminal.stdout.write(await text());
      return EXIT.done;
    } finally {
      await engine.close();
    }
  },
});

function serve(context: Context, options: Parameters<typeof serveMetrics>[0]): Promise<void> {
  return untilInterrupted(async ({ signal }) => {
    const server = await serveMetrics(options);
    if (context.isJson) context.answer({ url: server.url });
    else context.note(`Listening on ${server.url}/metrics and ${server.url}/health; press Ctrl-C to stop.`);
    if (!signal.aborted) await once(signal, "abort");
    await server.close();
  });
}

const watch = command({
  summary: "Check the queues by a schedule and when letters arrive, and send alerts.",
  examples: ["redrive watch --once", "redrive watch --dry-run", "redrive watch --schedule '*/5 * * * *'"],
  options: {
    once: flag("--once", "check once and print the alerts; exit code 3 when there are some"),
    dryRun: flag("--dry-run", "check once and print what would be sent; send and store nothing"),
    schedule: word("--schedule <cron>", "when to check (default: as in redrive.yml, else '*/30 * * * *')"),
    timeZone: value(
      "--time-zone <zone>",
      "the time zone of the schedule (default: as in redrive.yml, else the machine's)",
      readTimeZone,
    ),
  },
  run: async (context, { once, dryRun: isPreview, schedule, timeZone }) => {
    const fault = schedule === undefined ? null : await scheduleFault(schedule);
    if (fault !== null) throw new RedriveError("usage", `--schedule: "${schedule}": ${fault}.`);
    const settings = { ...(await context.config()).watch, ...compact({ schedule, timeZone }) };
    const { env } = context.terminal;
    const { storeUrl } = context;
    if (!isPreview) {
      await requireTrust(context, ownCommands({ fixes: [], channels: settings.channels }));
      requireSecrets(settings.channels, env);
    }
    const screen = new WatchScreen(context);
    const open = () => openExisting(storeUrl);
    const watcher = new Watcher({ open, storeUrl, settings, env, onSent: (sent) => screen.sent(sent) });
    try {
      if (isPreview) return await previewAlerts(context, watcher, settings);
      if (once) return await checkOnce(context, watcher);
      screen.begin(settings);
      const onChecked = (found: CheckReport) => screen.checked(found);
      await untilInterrupted(({ signal: stop }) => keepWatching(watcher, { settings, stop, onChecked }));
      return EXIT.done;
    } finally {
      await watcher.close();
    }
  },
});

function readTimeZone(given: string, name: string): string {
  if (isTimeZone(given)) return given;
  throw new RedriveError("usage", `${name}: unknown time zone ${given}.`, {
    hint: "Write a name of the IANA database, such as Europe/Berlin, or UTC.",
  });
}

async function previewAlerts(
  context: Context,
  watcher: Watcher,
  { channels }: WatchSettings,
): Promise<number> {
  const report = await watcher.preview();
  const code = report.alerts.length > 0 ? EXIT.lettersLeft : EXIT.done;
  return context.answer(checkToJson(report, { channels }), () => dryRunText(report, channels), code);
}

async function checkOnce(context: Context, watcher: Watcher): Promise<number> {
  const report = await watcher.check();
  const sent = await report.sent;
  context.answer(checkToJson(report, { sent }), () => onceText(report));
  if (report.trouble !== undefined) return EXIT.storeUnavailable;
  if (report.alerts.length > 0) return EXIT.lettersLeft;
  return sent.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}

/** Throws if the store is missing instead of creating it, because metrics of 0 would be misleading. */
async function openExisting(url: string): Promise<Engine> {
  try {
    return await openStore(url, { mustExist: true });
  } catch (error) {
    if (!isError(error, "input_invalid")) throw error;
    throw new RedriveError("store_unavailable", error.message, {
      cause: error,
      hint: "Check --store and REDRIVE_STORE. The first queue or job creates the store.",
    });
  }
}

export const commands = { metrics, watch };
