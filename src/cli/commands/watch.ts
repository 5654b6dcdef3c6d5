/** `redrive metrics` and `redrive watch`: Prometheus metrics, and alerts with their output. */
import { once } from "node:events";
import type { Engine } from "../../engine.ts";
import { openStore } from "../../engines/open.ts";
import { isError } from "../../errors.ts";
import { bodyFor, requireSecrets, type SentNotice } from "../../service/alert-channels.ts";
import { noticeToJson, notificationToJson } from "../../service/alert-message.ts";
import { isTimeZone, scheduleFault } from "../../service/alert-schedule.ts";
import { keepWatching } from "../../service/alert-service.ts";
import type { Channel, WatchSettings } from "../../service/alert-settings.ts";
import type { Alert } from "../../service/alert-state.ts";
import { type CheckReport, Watcher } from "../../service/alert-watcher.ts";
import { metricsToJson, readMetrics } from "../../service/metrics.ts";
import { parseListen, serveMetrics } from "../../service/metrics-server.ts";
import { metricsPrefix, metricsText } from "../../service/metrics-text.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { compact, type Json, type JsonObject } from "../../std/json.ts";
import { command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";
import { flag, value, withDefault, word } from "../options.ts";
import { counted } from "../render/text.ts";
import { untilInterrupted } from "../signals.ts";
import { ownCommands, requireTrust } from "./trust.ts";

const metrics = command({
  summary: "Print metrics of all queues in the Prometheus format, or serve them over HTTP.",
  examples: ["redrive metrics", "redrive metrics --listen 9464"],
  options: {
    prefix: withDefault(
      value("--metrics-prefix <prefix>", "the prefix of the metric names", metricsPrefix),
      "redrive",
    ),
    at: value(
      "--listen <[host:]port>",
      "serve /metrics and /health until interrupted (default host: 127.0.0.1)",
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
  summary: "Check the queues on a schedule and when letters arrive, and send alerts.",
  examples: ["redrive watch --once", "redrive watch --dry-run", "redrive watch --schedule '*/5 * * * *'"],
  options: {
    once: flag("--once", "check once and print the alerts; the exit code is 3 if there are any"),
    dryRun: flag("--dry-run", "check once and print what would be sent; send and store nothing"),
    schedule: word(
      "--schedule <cron>",
      "the cron pattern (default: the setting in redrive.yml, else '*/30 * * * *')",
    ),
    timeZone: value(
      "--time-zone <zone>",
      "the time zone of the schedule (default: the setting in redrive.yml, else the machine's)",
      readTimeZone,
    ),
  },
  run: async (context, { once, dryRun: isPreview, schedule, timeZone }) => {
    const fault = schedule === undefined ? null : await scheduleFault(schedule);
    if (fault !== null)
      throw userError("usage", `--schedule: "${schedule}": ${fault}.`, "Example: --schedule '*/5 * * * *'");
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
  const hint = "Use an IANA time zone name, such as Europe/Berlin or UTC.";
  throw userError("usage", `${name}: unknown time zone "${given}".`, hint);
}

async function previewAlerts(context: Context, watcher: Watcher, { channels }: WatchSettings) {
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
    const hint = "Check --store and REDRIVE_STORE. The store is created with the first queue or job.";
    throw userError("store_unavailable", error.message, hint, error);
  }
}

export const commands = { metrics, watch };

type Found = Omit<CheckReport, "sent">;

/** Converts one check to JSON, with the messages that were sent or, in a dry run, would be sent. */
export function checkToJson(
  { at, alerts, trouble, notices }: Found,
  { sent, channels }: { sent?: readonly SentNotice[]; channels?: readonly Channel[] },
): JsonObject {
  const messages: readonly Json[] =
    sent?.map(sentToJson) ??
    notices.map(({ channel, notice }) => ({
      channel,
      ...noticeToJson(notice),
      body: bodyOf(channel, notice, channels ?? []),
    }));
  return {
    at: toRfc3339(at),
    status: alerts.length === 0 ? "ok" : "wrong",
    alerts: alerts.map((alert) => notificationToJson({ alert, state: "raised" })),
    ...(trouble && { store_error: { code: trouble.code, message: trouble.message } }),
    [sent === undefined ? "would_send" : "sent"]: messages,
  };
}

function bodyOf(name: string, notice: Found["notices"][number]["notice"], channels: readonly Channel[]) {
  const channel = channels.find((one) => one.name === name);
  return channel === undefined ? null : bodyFor(channel, notice);
}

function sentToJson({ channel, notice, ok, tries, reason }: SentNotice): JsonObject {
  return { channel, ok, tries, ...(reason !== undefined && { reason }), ...noticeToJson(notice) };
}

export function onceText({ alerts }: Found): string {
  return alerts.length === 0 ? "No alerts.\n" : alerts.map(alertLine).join("");
}

function alertLine({ severity, text }: Alert): string {
  return `${severity.padEnd(8)}  ${text}\n`;
}

/** Formats the messages of a dry run. The URLs of channels are secrets and are not shown. */
export function dryRunText(report: Found, channels: readonly Channel[]): string {
  const messages = report.notices.map(
    ({ channel, notice }) =>
      `\nTo ${channel}:\n${JSON.stringify(bodyOf(channel, notice, channels), null, 2)}\n`,
  );
  return `${onceText(report)}${messages.join("") || "\nNothing would be sent.\n"}`;
}

/** Prints only changes while watching; with `--json`, one object per line. */
export class WatchScreen {
  readonly #context: Context;
  #known: ReadonlyMap<string, Alert> = new Map();

  constructor(context: Context) {
    this.#context = context;
  }

  begin({ schedule, timeZone, channels, rules }: WatchSettings): void {
    const isAlone = channels.length === 0;
    const who = isAlone
      ? "no channel is configured, so alerts are only printed"
      : counted(channels.length, "channel");
    const zone = timeZone === undefined ? "" : ` (${timeZone})`;
    this.#context.note(`Checking ${rules.length} rules at ${schedule}${zone}; ${who}. Press Ctrl-C to stop.`);
  }

  checked({ at, alerts }: CheckReport): void {
    const now = new Map(alerts.map((alert) => [alert.key, alert]));
    for (const [key, alert] of now) if (!this.#known.has(key)) this.#print(at, "raised", alert);
    for (const [key, alert] of this.#known) if (!now.has(key)) this.#print(at, "recovered", alert);
    this.#known = now;
  }

  /** Reports a sent or failed message. The reason of a failure contains no secrets. */
  sent({ channel, notice, ok, tries, reason }: SentNotice): void {
    const alerts = counted(notice.notifications.length, "alert");
    const failed = `redrive: ${alerts} could not be sent to ${channel} (${counted(tries, "try", "tries")})`;
    this.#context.note(
      ok ? `Sent ${alerts} to ${channel}.` : `${failed}: ${reason}. The next check tries again.`,
    );
  }

  #print(at: number, state: "raised" | "recovered", alert: Alert): void {
    const { isJson, terminal } = this.#context;
    if (isJson) {
      terminal.stdout.write(
        `${JSON.stringify({ at: toRfc3339(at), ...notificationToJson({ alert, state }) })}\n`,
      );
      return;
    }
    const text = state === "raised" ? alert.text : alert.overText;
    terminal.stdout.write(`${toRfc3339(at)}  ${state.padEnd(9)}  ${alert.severity.padEnd(8)}  ${text}\n`);
  }
}
