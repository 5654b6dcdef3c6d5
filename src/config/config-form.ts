/**
 * The one source of what `redrive.yml` may contain: the validator, its types and the JSON Schema for editors. Unknown
 * keys are errors.
 */
import * as z from "zod";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import { CHANNEL_TYPES, SEVERITIES } from "../service/alert-settings.ts";
import { count, duration, required } from "../yaml/form.ts";

/** 0 is refused, because it could mean "no limit" or "nothing". */
const limit = (what: string) => {
  const message = `expected ${what} of at least 1, or none`;
  return z.union([z.int(message).min(1, message), z.literal("none", { error: message })], { error: message });
};

/** One value or a list. */
const some = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1, "expected at least one")]);

const dlqForm = z
  .strictObject({
    max_items: limit("a whole number")
      .optional()
      .describe("How many waiting letters a job keeps; the oldest are archived. Default 10000."),
    retention_days: limit("a whole number of days")
      .optional()
      .describe("How long a letter is kept before it is archived. Default 30."),
    poison_after: limit("a whole number")
      .optional()
      .describe("After so many redrives that failed, a letter needs --force. Default 5."),
    toxic_after: limit("a whole number")
      .optional()
      .describe("The old name of poison_after.")
      .meta({ deprecated: true }),
    mirror: z.boolean().optional().describe("Write the letters as files while a job runs. Default true."),
    dir: required("a folder").optional().describe("Where those files are. Default: dlq in the home."),
  })
  .meta({ id: "dlq" });

const jobsForm = z
  .strictObject({
    retention_days: limit("a whole number of days")
      .optional()
      .describe(
        "After so many days, a job that is completed or dismissed and has no letters is deleted. Default none.",
      ),
    log_retention_days: limit("a whole number of days")
      .optional()
      .describe(
        "After so many days, the log of an attempt is deleted, unless a letter needs it. Default none.",
      ),
  })
  .meta({ id: "jobs" });

const matchForm = z
  .strictObject({
    group: some(required("a signature")).optional().describe("The signature of the failure, or several."),
    type: some(z.enum(ERROR_TYPE_NAMES)).optional().describe("The error type, or several."),
    class: some(z.enum(ERROR_CLASSES)).optional().describe("The error class, or several."),
    filter: required("an expression")
      .optional()
      .describe("CEL over item, letter and failure, e.g. item.size > 10."),
  })
  .describe("Which letters; whatever is given must hold.");

const fixForm = z
  .strictObject({
    name: required("a name").describe("Kept with every change that the rule makes."),
    match: matchForm,
    set: z
      .record(z.string(), required("an expression"))
      .optional()
      .describe('Paths and the CEL of their new values, e.g. {url: item.url.replace("http:", "https:")}.'),
    patch: z.record(z.string(), z.json()).optional().describe("A JSON merge patch (RFC 7396)."),
    command: z
      .array(z.string())
      .min(1, "expected a program and its arguments")
      .optional()
      .describe("A program that gets {item, letter} as JSON on stdin and writes the new data as JSON."),
    timeout: duration.optional().describe("How long the command may take. Default 30s."),
    max_uses: count(1).optional().describe("How often it may be used on the same letter. Default 1."),
    auto: z.boolean().optional().describe("A running job uses it by itself. Default false."),
  })
  .meta({ id: "fix" });

const groupForm = z
  .strictObject({
    name: required("a name").describe("What the group is called."),
    match: z
      .strictObject({
        type: some(z.enum(ERROR_TYPE_NAMES)).optional().describe("The error type, or several."),
        class: some(z.enum(ERROR_CLASSES)).optional().describe("The error class, or several."),
        step: some(required("a step")).optional().describe("The step that failed, or several."),
        text: required("a text").optional().describe("What the message has, in any case."),
        pattern: required("a regular expression")
          .optional()
          .describe(
            "What the message has, as a regular expression without references back or looking around.",
          ),
      })
      .describe("Which failures; whatever is given must hold."),
  })
  .meta({ id: "group" });

const classRuleForm = z
  .strictObject({
    match: z
      .strictObject({
        type: some(z.enum(ERROR_TYPE_NAMES)).optional().describe("The error type so far, or several."),
        exit_code: some(count(0)).optional().describe("The exit code, or several."),
        step: some(required("a step")).optional().describe("The step that failed, or several."),
        text: required("a text").optional().describe("What the message or the kept output has, in any case."),
        pattern: required("a regular expression")
          .optional()
          .describe(
            "What the message or the kept output has, as a regular expression without references back or looking around.",
          ),
      })
      .describe("Which failures; whatever is given must hold."),
    type: z.enum(ERROR_TYPE_NAMES).optional().describe("The type that they get."),
    class: z.enum(ERROR_CLASSES).optional().describe("The class that they get. Default: that of the type."),
  })
  .meta({ id: "class_rule" });

const yes = z.literal(true, { error: "expected true; leave the rule away when it is not wanted" });

/** In the form of `parseArrivalRate`. */
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

export const configForm = z
  .strictObject({
    dlq: dlqForm.optional().describe("How letters are kept."),
    jobs: jobsForm.optional().describe("How long jobs and logs are kept."),
    fixes: z.array(fixForm).optional().describe("Changes that make letters work, tried in this order."),
    groups: z
      .array(groupForm)
      .optional()
      .describe("Names for groups of failures; the first that fits wins over the algorithm."),
    classify: z
      .array(classRuleForm)
      .optional()
      .describe("Types and classes of failures; the first that fits wins over the built-in rules."),
    watch: watchForm.optional().describe("What `redrive watch` looks for, when, and whom it tells."),
  })
  .meta({ title: "Settings of Redrive" });

export type ConfigForm = z.infer<typeof configForm>;
export type FixForm = z.infer<typeof fixForm>;
export type ClassRuleForm = z.infer<typeof classRuleForm>;
export type GroupForm = z.infer<typeof groupForm>;

export type WatchForm = z.infer<typeof watchForm>;
export type RuleForm = z.infer<typeof ruleForm>;
export type ChannelForm = z.infer<typeof channelForm>;

export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configForm, { io: "input", target: "draft-2020-12" });
}

/** The content of the file in `schema/`. */
export function schemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
