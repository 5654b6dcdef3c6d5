/** Defines the content of `redrive.yml`: the validator, its types and the JSON Schema for editors. */
import * as z from "zod";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import { CHANNEL_TYPES, SEVERITIES } from "../service/alert-settings.ts";
import { count, duration, jsonSchemaOf, required, schemaTextOf } from "../yaml/form.ts";

/** 0 is refused, because it could mean "no limit" or "nothing". */
const limit = (what: string) => {
  const message = `expected ${what} of at least 1, or none`;
  return z.union([z.int(message).min(1, message), z.literal("none", { error: message })], { error: message });
};

/** An optional key with a description for editors. */
const maybe = <T extends z.ZodType>(form: T, description: string) => form.optional().describe(description);

const some = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1, "expected at least one")]);

const dlqForm = z
  .strictObject({
    max_items: maybe(
      limit("a whole number"),
      "How many waiting letters a job keeps; the oldest are archived. Default 10000.",
    ),
    retention_days: maybe(
      limit("a whole number of days"),
      "How long a letter is kept before it is archived. Default 30.",
    ),
    poison_after: maybe(
      limit("a whole number"),
      "After so many redrives that failed, a letter needs --force. Default 5.",
    ),
    toxic_after: maybe(limit("a whole number"), "The old name of poison_after.").meta({ deprecated: true }),
    mirror: maybe(z.boolean(), "Write the letters as files while a job runs. Default true."),
    dir: maybe(required("a folder"), "Where those files are. Default: dlq in the home."),
  })
  .meta({ id: "dlq" });

const jobsForm = z
  .strictObject({
    retention_days: maybe(
      limit("a whole number of days"),
      "After so many days, a job that is completed or dismissed and has no letters is deleted. Default none.",
    ),
    log_retention_days: maybe(
      limit("a whole number of days"),
      "After so many days, the log of an attempt is deleted, unless a letter needs it. Default none.",
    ),
  })
  .meta({ id: "jobs" });

const matchForm = z
  .strictObject({
    group: maybe(some(required("a signature")), "The signature of the failure, or several."),
    type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "The error type, or several."),
    class: maybe(some(z.enum(ERROR_CLASSES)), "The error class, or several."),
    filter: maybe(required("an expression"), "CEL over item, letter and failure, e.g. item.size > 10."),
  })
  .describe("Which letters; whatever is given must hold.");

const fixForm = z
  .strictObject({
    name: required("a name").describe("Kept with every change that the rule makes."),
    match: matchForm,
    set: maybe(
      z.record(z.string(), required("an expression")),
      'Paths and the CEL of their new values, e.g. {url: item.url.replace("http:", "https:")}.',
    ),
    patch: maybe(z.record(z.string(), z.json()), "A JSON merge patch (RFC 7396)."),
    command: maybe(
      z.array(z.string()).min(1, "expected a program and its arguments"),
      "A program that gets {item, letter} as JSON on stdin and writes the new data as JSON.",
    ),
    timeout: maybe(duration, "How long the command may take. Default 30s."),
    max_uses: maybe(count(1), "How often it may be used on the same letter. Default 1."),
    auto: maybe(z.boolean(), "A running job uses it by itself. Default false."),
  })
  .meta({ id: "fix" });

/** Conditions on the step and the text of a failure. `texts` names the texts that are searched. */
const failureMatch = (texts: string) => ({
  step: maybe(some(required("a step")), "The step that failed, or several."),
  text: maybe(required("a text"), `What ${texts} has, in any case.`),
  pattern: maybe(
    required("a regular expression"),
    `What ${texts} has, as a regular expression without references back or looking around.`,
  ),
});

const groupForm = z
  .strictObject({
    name: required("a name").describe("What the group is called."),
    match: z
      .strictObject({
        type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "The error type, or several."),
        class: maybe(some(z.enum(ERROR_CLASSES)), "The error class, or several."),
        ...failureMatch("the message"),
      })
      .describe("Which failures; whatever is given must hold."),
  })
  .meta({ id: "group" });

const classRuleForm = z
  .strictObject({
    match: z
      .strictObject({
        type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "The error type so far, or several."),
        exit_code: maybe(some(count(0)), "The exit code, or several."),
        ...failureMatch("the message or the kept output"),
      })
      .describe("Which failures; whatever is given must hold."),
    type: maybe(z.enum(ERROR_TYPE_NAMES), "The type that they get."),
    class: maybe(z.enum(ERROR_CLASSES), "The class that they get. Default: that of the type."),
  })
  .meta({ id: "class_rule" });

const yes = z.literal(true, { error: "expected true; leave the rule away when it is not wanted" });

/** A rate in the syntax of `parseArrivalRate`. */
const arrivalRate = z
  .string({ error: "expected a number of letters and a time, such as 20/10m" })
  .regex(
    /^\s*\d+\s*\/\s*(?:\d+\s*)?[mhd]\s*$/,
    "expected a number of letters and a time of whole minutes, such as 20/10m, 100/h or 500/d",
  );

const ruleForm = z
  .strictObject({
    name: maybe(required("a name"), "What its alerts are called. Default: what it looks for."),
    depth: maybe(count(1), "So many letters wait in a queue, or more."),
    oldest: maybe(duration, "The oldest letter of a queue has waited so long, e.g. 24h."),
    arrival_rate: maybe(
      arrivalRate,
      "So many letters died within a time, e.g. 20/10m; counted by the minute.",
    ),
    new_group: maybe(yes, "A failure that was not known before, or is back."),
    breaker_open: maybe(yes, "The circuit breaker of a queue is open."),
    store_unhealthy: maybe(yes, "The store cannot be read or written, or a runner could not write it."),
    queues: maybe(
      some(required("a pattern")),
      "Which queues: names with * for anything; ! before what is left out. Default: all.",
    ),
    severity: maybe(
      z.enum(SEVERITIES),
      "How bad it is; what is critical is told in quiet hours too. Default warning.",
    ),
    channels: maybe(some(required("a channel")), "Who is told. Default: every channel."),
    cool_down: maybe(duration, "How long the same alert is not told again. Default: that of watch."),
  })
  .meta({ id: "alert_rule" });

const channelForm = z
  .strictObject({
    type: z.enum(CHANNEL_TYPES).describe("teams, slack, webhook or command."),
    url: maybe(required("a URL"), "Where messages are sent to."),
    url_env: maybe(required("a variable"), "The environment variable that has the URL."),
    headers_env: maybe(
      z.record(z.string(), required("a variable")),
      "Of a webhook: headers and the environment variables that have their values.",
    ),
    command: maybe(
      z.array(z.string()).min(1, "expected a program and its arguments"),
      "A program that gets the message as JSON on stdin.",
    ),
    timeout: maybe(duration, "How long one try may take. Default 10s."),
  })
  .meta({ id: "alert_channel" });

const quietForm = z
  .strictObject({
    from: required("a time").describe("When they begin, e.g. 22:00."),
    to: required("a time").describe("When they end, e.g. 07:00."),
    time_zone: maybe(required("a time zone"), "Default: that of watch."),
  })
  .meta({ id: "quiet_hours" });

export const watchForm = z
  .strictObject({
    schedule: maybe(
      required("a cron pattern"),
      "When it is checked, as a cron pattern. Default */30 * * * *.",
    ),
    time_zone: maybe(
      required("a time zone"),
      "The time zone of the schedule, e.g. Europe/Berlin. Default: that of the machine.",
    ),
    on_arrival: maybe(z.boolean(), "Check also when letters come. Default true."),
    gather: maybe(duration, "How long what comes at once is gathered before a check. Default 5s."),
    cool_down: maybe(duration, "How long the same alert is not told again. Default 1h."),
    recovery: maybe(z.boolean(), "Tell when something is well again. Default true."),
    quiet_hours: maybe(
      quietForm,
      "When only critical alerts are told; the others are told when these hours end.",
    ),
    rules: maybe(
      z.array(ruleForm).min(1, "expected at least one"),
      "What is wrong. Default: a letter in any queue, an open breaker, an unhealthy store.",
    ),
    channels: maybe(
      z.record(z.string(), channelForm),
      "Who is told, by name. Default: nobody; alerts are printed.",
    ),
  })
  .meta({ id: "watch" });

export const configForm = z
  .strictObject({
    dlq: maybe(dlqForm, "How letters are kept."),
    jobs: maybe(jobsForm, "How long jobs and logs are kept."),
    fixes: maybe(z.array(fixForm), "Changes that make letters work, tried in this order."),
    groups: maybe(
      z.array(groupForm),
      "Names for groups of failures; the first that fits wins over the algorithm.",
    ),
    classify: maybe(
      z.array(classRuleForm),
      "Types and classes of failures; the first that fits wins over the built-in rules.",
    ),
    watch: maybe(watchForm, "What `redrive watch` looks for, when, and whom it tells."),
  })
  .meta({ title: "Settings of Redrive" });

export type ConfigForm = z.infer<typeof configForm>;
export type FixForm = z.infer<typeof fixForm>;
export type ClassRuleForm = z.infer<typeof classRuleForm>;
export type GroupForm = z.infer<typeof groupForm>;

export type WatchForm = z.infer<typeof watchForm>;
export type RuleForm = z.infer<typeof ruleForm>;
export type ChannelForm = z.infer<typeof channelForm>;

export const configJsonSchema = () => jsonSchemaOf(configForm);
export const schemaText = () => schemaTextOf(configForm);
