/** Renders the output of `redrive watch`: alerts, sent messages and delivery failures. */
import { bodyFor, type SentNotice } from "../../service/alert-channels.ts";
import { noticeToJson, tellingToJson } from "../../service/alert-message.ts";
import type { Channel, WatchSettings } from "../../service/alert-settings.ts";
import type { Alert } from "../../service/alert-state.ts";
import type { CheckReport } from "../../service/alert-watcher.ts";
import { toRfc3339 } from "../../std/clock.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import type { Context } from "../context.ts";
import { counted } from "./words.ts";

type Found = Omit<CheckReport, "sent">;

/** Converts one check to JSON, with the messages that were sent or, in a dry run, would be sent. */
export function checkToJson(
  { at, alerts, trouble, notices }: Found,
  { sent, channels }: { readonly sent?: readonly SentNotice[]; readonly channels?: readonly Channel[] },
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
    alerts: alerts.map((alert) => tellingToJson({ alert, state: "raised" })),
    ...(trouble && { store_error: { code: trouble.code, message: trouble.message } }),
    [sent === undefined ? "would_send" : "sent"]: messages,
  };
}

function bodyOf(
  name: string,
  notice: Found["notices"][number]["notice"],
  channels: readonly Channel[],
): Json {
  const channel = channels.find((one) => one.name === name);
  return channel === undefined ? null : bodyFor(channel, notice);
}

function sentToJson({ channel, notice, ok, tries, reason }: SentNotice): JsonObject {
  return { channel, ok, tries, ...(reason !== undefined && { reason }), ...noticeToJson(notice) };
}

/** Formats all current alerts. Sent messages are reported on stderr. */
export function onceText({ alerts }: Found): string {
  return alerts.length === 0 ? "Nothing is wrong.\n" : alerts.map(alertLine).join("");
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
      ? "no channel is set, so alerts are only printed"
      : counted(channels.length, "channel");
    const zone = timeZone === undefined ? "" : ` (${timeZone})`;
    this.#context.note(`Watching by ${rules.length} rules, at ${schedule}${zone}; ${who}. Ctrl-C ends it.`);
  }

  checked({ at, alerts }: CheckReport): void {
    const now = new Map(alerts.map((alert) => [alert.key, alert]));
    for (const [key, alert] of now) if (!this.#known.has(key)) this.#print(at, "raised", alert);
    for (const [key, alert] of this.#known) if (!now.has(key)) this.#print(at, "recovered", alert);
    this.#known = now;
  }

  /** Reports a sent or failed message. The reason of a failure contains no secrets. */
  sent({ channel, notice, ok, tries, reason }: SentNotice): void {
    const alerts = counted(notice.tellings.length, "alert");
    const failed = `redrive: ${alerts} could not be sent to ${channel} (${counted(tries, "try", "tries")})`;
    this.#context.note(
      ok ? `Sent ${alerts} to ${channel}.` : `${failed}: ${reason}. The next check tries again.`,
    );
  }

  #print(at: number, state: "raised" | "recovered", alert: Alert): void {
    const { isJson, terminal } = this.#context;
    if (isJson) {
      terminal.stdout.write(`${JSON.stringify({ at: toRfc3339(at), ...tellingToJson({ alert, state }) })}\n`);
      return;
    }
    const text = state === "raised" ? alert.text : alert.overText;
    terminal.stdout.write(`${toRfc3339(at)}  ${state.padEnd(9)}  ${alert.severity.padEnd(8)}  ${text}\n`);
  }
}
