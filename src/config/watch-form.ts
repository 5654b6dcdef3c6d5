/** What `watch:` in `redrive.yml` may hold. What a form cannot say is in check-watch.ts. */
import * as z from "zod";
import { count, duration, required } from "../form/scalars.ts";
import { CHANNEL_TYPES, SEVERITIES } from "../watch/settings.ts";

const some = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1, "expected at least one")]);

const yes = z.literal(true, { error: "expected true; leave the rule away when it is not wanted" });

/** As `parseArrivalRate` reads it. */
const arrivalRate = z
  .string({ error: "expected a number of letters and a time, such as 20/10m" })
  .regex(
    /^\s*\d+\s*\/\s*(?:\d+\s*)?[mhd]\s*$/,
    "expected a number of letters and a time of whole minutes, such as 20/10m, 100/h or 500/d",
  );

const ruleForm = z
  .strictObject({
    name: required("a name").optional().describe("What its alerts are called. Default: what it looks for."),
    depth: count(1).optional().describe("So many letters wait in a queue, or more."),
    oldest: duration.optional().describe("The oldest letter of a queue has waited so long, e.g. 24h."),
    arrival_rate: arrivalRate
      .optional()
      .describe("So many letters died within a time, e.g. 20/10m; counted by the minute."),
    new_group: yes.optional().describe("A failure that was not known before, or is back."),
    breaker_open: yes.optional().describe("The circuit breaker of a queue is open."),
    store_unhealthy: yes
      .optional()
      .describe("The store cannot be read or written, or a runner could not write it."),
    queues: some(required("a pattern"))
      .optional()
      .describe("Which queues: names with * for anything; ! before what is left out. Default: all."),
    severity: z
      .enum(SEVERITIES)
      .optional()
      .describe("How bad it is; what is critical is told in quiet hours too. Default warning."),
    channels: some(required("a channel")).optional().describe("Who is told. Default: every channel."),
    cool_down: duration
      .optional()
      .describe("How long the same alert is not told again. Default: that of watch."),
  })
  .meta({ id: "alert_rule" });

const channelForm = z
  .strictObject({
    type: z.enum(CHANNEL_TYPES).describe("teams, slack, webhook or command."),
    url: required("a URL").optional().describe("Where messages are sent to."),
    url_env: required("a variable").optional().describe("The environment variable that has the URL."),
    headers_env: z
      .record(z.string(), required("a variable"))
      .optional()
      .describe("Of a webhook: headers and the environment variables that have their values."),
    command: z
      .array(z.string())
      .min(1, "expected a program and its arguments")
      .optional()
      .describe("A program that gets the message as JSON on stdin."),
    timeout: duration.optional().describe("How long one try may take. Default 10s."),
  })
  .meta({ id: "alert_channel" });

const quietForm = z
  .strictObject({
    from: required("a time").describe("When they begin, e.g. 22:00."),
    to: required("a time").describe("When they end, e.g. 07:00."),
    time_zone: required("a time zone").optional().describe("Default: that of watch."),
  })
  .meta({ id: "quiet_hours" });

export const watchForm = z
  .strictObject({
    schedule: required("a cron pattern")
      .optional()
      .describe("When it is checked, as a cron pattern. Default */30 * * * *."),
    time_zone: required("a time zone")
      .optional()
      .describe("The time zone of the schedule, e.g. Europe/Berlin. Default: that of the machine."),
    on_arrival: z.boolean().optional().describe("Check also when letters come. Default true."),
    gather: duration
      .optional()
      .describe("How long what comes at once is gathered before a check. Default 5s."),
    cool_down: duration.optional().describe("How long the same alert is not told again. Default 1h."),
    recovery: z.boolean().optional().describe("Tell when something is well again. Default true."),
    quiet_hours: quietForm
      .optional()
      .describe("When only critical alerts are told; the others are told when these hours end."),
    rules: z
      .array(ruleForm)
      .min(1, "expected at least one")
      .optional()
      .describe("What is wrong. Default: a letter in any queue, an open breaker, an unhealthy store."),
    channels: z
      .record(z.string(), channelForm)
      .optional()
      .describe("Who is told, by name. Default: nobody; alerts are printed."),
  })
  .meta({ id: "watch" });

export type WatchForm = z.infer<typeof watchForm>;
export type RuleForm = z.infer<typeof ruleForm>;
export type ChannelForm = z.infer<typeof channelForm>;
