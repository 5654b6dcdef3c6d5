/** Defines the content of `redrive.yml`: the validator, its types and the JSON Schema for editors. */
import * as z from "zod";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import { CHANNEL_TYPES, SEVERITIES } from "../service/alert-settings.ts";
import { count, duration, jsonSchemaOf, required, schemaTextOf } from "../yaml/form.ts";

/** 0 is rejected, because it could mean "no limit" or "nothing". */
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
      "How many waiting letters a job keeps. If there are more, the oldest are archived and deleted. Default 10000.",
    ),
    retention_days: maybe(
      limit("a whole number of days"),
      "How many days a letter is kept before it is archived and deleted. Default 30.",
    ),
    poison_after: maybe(
      limit("a whole number"),
      "After how many failed redrives a letter needs --force. Default 5.",
    ),
    toxic_after: maybe(limit("a whole number"), "The old name of poison_after.").meta({ deprecated: true }),
    mirror: maybe(z.boolean(), "Whether to write the letters as files while a job runs. Default true."),
    dir: maybe(required("a folder"), "The folder for these files. Default: dlq in the home folder."),
  })
  .meta({ id: "dlq" });

const jobsForm = z
  .strictObject({
    retention_days: maybe(
      limit("a whole number of days"),
      "After how many days a completed or dismissed job without letters is deleted. Default none.",
    ),
    log_retention_days: maybe(
      limit("a whole number of days"),
      "After how many days the log of an attempt is deleted, unless a letter refers to it. Default none.",
    ),
  })
  .meta({ id: "jobs" });

const matchForm = z
  .strictObject({
    group: maybe(some(required("a signature")), "One or more failure signatures."),
    type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "One or more error types."),
    class: maybe(some(z.enum(ERROR_CLASSES)), "One or more error classes."),
    filter: maybe(required("an expression"), "CEL over item, letter and failure, e.g. item.size > 10."),
  })
  .describe("Which letters the fix applies to. All given conditions must hold.");

const fixForm = z
  .strictObject({
    name: required("a name").describe("The name, stored with every change that the fix makes."),
    match: matchForm,
    set: maybe(
      z.record(z.string(), required("an expression")),
      'Paths and CEL expressions for their new values, e.g. {url: item.url.replace("http:", "https:")}.',
    ),
    patch: maybe(z.record(z.string(), z.json()), "A JSON merge patch (RFC 7396)."),
    command: maybe(
      z.array(z.string()).min(1, "expected a program and its arguments"),
      "A program that reads {item, letter} as JSON from stdin and prints the new data as JSON.",
    ),
    timeout: maybe(duration, "The time limit of the command. Default 30s."),
    max_uses: maybe(count(1), "How often the fix may be applied to the same letter. Default 1."),
    auto: maybe(z.boolean(), "Whether a running job applies the fix automatically. Default false."),
  })
  .meta({ id: "fix" });

/** Conditions on the step and the text of a failure. `texts` describes which texts are searched. */
const failureMatch = (texts: string) => ({
  step: maybe(some(required("a step")), "One or more names of failed steps."),
  text: maybe(required("a text"), `A text that ${texts} contains, ignoring case.`),
  pattern: maybe(
    required("a regular expression"),
    `A regular expression that ${texts} matches, without backreferences and lookaround.`,
  ),
});

const groupForm = z
  .strictObject({
    name: required("a name").describe("The name of the group."),
    match: z
      .strictObject({
        type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "One or more error types."),
        class: maybe(some(z.enum(ERROR_CLASSES)), "One or more error classes."),
        ...failureMatch("the message"),
      })
      .describe("Which failures the rule applies to. All given conditions must hold."),
  })
  .meta({ id: "group" });

const classRuleForm = z
  .strictObject({
    match: z
      .strictObject({
        type: maybe(some(z.enum(ERROR_TYPE_NAMES)), "One or more error types, as they are before this rule."),
        exit_code: maybe(some(count(0)), "One or more exit codes."),
        ...failureMatch("the message or the stored output"),
      })
      .describe("Which failures the rule applies to. All given conditions must hold."),
    type: maybe(z.enum(ERROR_TYPE_NAMES), "The new error type."),
    class: maybe(z.enum(ERROR_CLASSES), "The new error class. Default: that of the type."),
  })
  .meta({ id: "class_rule" });

const yes = z.literal(true, { error: "expected true; remove the rule to disable it" });

/** A rate in the syntax of `parseArrivalRate`. */
const arrivalRate = z
  .string({ error: "expected a number of letters and a time, such as 20/10m" })
  .regex(
    /^\s*\d+\s*\/\s*(?:\d+\s*)?[mhd]\s*$/,
    "expected a number of letters and a time of whole minutes, such as 20/10m, 100/h or 500/d",
  );

const ruleForm = z
  .strictObject({
    name: maybe(required("a name"), "The name of the rule. Default: its condition."),
    depth: maybe(count(1), "At least this many letters are waiting in a queue."),
    oldest: maybe(duration, "The oldest letter of a queue has waited this long, e.g. 24h."),
    arrival_rate: maybe(
      arrivalRate,
      "This many letters were written within a period, e.g. 20/10m; counted by the minute.",
    ),
    new_group: maybe(yes, "A new group of failures, or a resolved group with new letters."),
    breaker_open: maybe(yes, "The circuit breaker of a queue is open."),
    store_unhealthy: maybe(yes, "The store cannot be read or written, or a runner's write failed."),
    queues: maybe(
      some(required("a pattern")),
      "Which queues: names, where * matches anything and a leading ! excludes. Default: all.",
    ),
    severity: maybe(
      z.enum(SEVERITIES),
      "The severity. Critical alerts are sent even in quiet hours. Default warning.",
    ),
    channels: maybe(some(required("a channel")), "The channels that get the alerts. Default: all channels."),
    cool_down: maybe(
      duration,
      "The minimum time before the same alert is sent again. Default: that of watch.",
    ),
  })
  .meta({ id: "alert_rule" });

const channelForm = z
  .strictObject({
    type: z.enum(CHANNEL_TYPES).describe("teams, slack, webhook or command."),
    url: maybe(required("a URL"), "The URL that messages are sent to."),
    url_env: maybe(required("a variable"), "The environment variable that contains the URL."),
    headers_env: maybe(
      z.record(z.string(), required("a variable")),
      "For a webhook: header names, and the environment variables that contain their values.",
    ),
    command: maybe(
      z.array(z.string()).min(1, "expected a program and its arguments"),
      "A program that reads the message as JSON from stdin.",
    ),
    timeout: maybe(duration, "The time limit of one attempt. Default 10s."),
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
    schedule: maybe(required("a cron pattern"), "When to check, as a cron pattern. Default */30 * * * *."),
    time_zone: maybe(
      required("a time zone"),
      "The time zone of the schedule, e.g. Europe/Berlin. Default: that of the machine.",
    ),
    on_arrival: maybe(z.boolean(), "Whether to also check when letters are written. Default true."),
    gather: maybe(duration, "How long to collect new letters before a check. Default 5s."),
    cool_down: maybe(duration, "The minimum time before the same alert is sent again. Default 1h."),
    recovery: maybe(z.boolean(), "Whether to send a message when an alert has recovered. Default true."),
    quiet_hours: maybe(
      quietForm,
      "Hours in which only critical alerts are sent. Other alerts are sent when these hours end.",
    ),
    rules: maybe(
      z.array(ruleForm).min(1, "expected at least one"),
      "The alert rules. Default: a letter in any queue, an open breaker, an unhealthy store.",
    ),
    channels: maybe(
      z.record(z.string(), channelForm),
      "The channels by name. Default: none; alerts are printed.",
    ),
  })
  .meta({ id: "watch" });

const redactForm = z
  .strictObject({
    paths: some(required("a path")).describe(
      "Paths in the data of items, e.g. customer.email, lines.*.iban or **.password; `**` matches any depth.",
    ),
    below: maybe(z.enum(["operator", "admin"]), "Roles below this one see [redacted]. Default admin."),
  })
  .meta({ id: "redact" });

const dollars = z.number().min(0, "expected a price in dollars per million tokens, at least 0");

const priceForm = z
  .strictObject({
    input: dollars.describe("Price in dollars per million input tokens."),
    cached: maybe(dollars, "Price in dollars per million cached input tokens. Default: the price of input."),
    output: dollars.describe("Price in dollars per million output tokens."),
  })
  .meta({ id: "price" });

const roleValues = (role: string) =>
  maybe(
    some(required("a value")),
    `The values of role_claim that grant the role ${role}; "*" means everybody.`,
  );

const loginForm = z
  .strictObject({
    issuer: z.url("expected the URL of the provider").describe("The URL of the OpenID Connect provider."),
    client_id: required("an id").describe("The id under which Redrive is registered with the provider."),
    client_secret: maybe(
      z.union(
        [
          z.strictObject({ env: required("the name of a variable") }),
          z.strictObject({ file: required("a file") }),
        ],
        { error: "expected {env: NAME} or {file: PATH}" },
      ),
      "The location of the client secret. Without one, the client is public.",
    ),
    url: z
      .url("expected a URL such as https://redrive.example")
      .describe(
        "The URL of the server as browsers see it. The provider redirects them to /login/callback below it.",
      ),
    scopes: maybe(
      z.array(required("a scope")).min(1),
      "The scopes to request. Default openid, profile, email.",
    ),
    name_claim: maybe(required("a claim"), "The claim that contains the person's name. Default email."),
    role_claim: maybe(
      required("a claim"),
      "The claim that determines the role; a.b is a key of a nested object. Default groups.",
    ),
    roles: z
      .strictObject({
        viewer: roleValues("viewer"),
        operator: roleValues("operator"),
        admin: roleValues("admin"),
      })
      .describe(
        "The claim values for each role. If several match, the strongest role applies; a person without a role cannot log in.",
      ),
    session: maybe(duration, "How long a session lasts. Default 8h."),
  })
  .meta({ id: "login" });

const workForm = z
  .strictObject({
    queue: required("a queue").describe("The name of the queue."),
    command: z
      .array(z.string())
      .min(1, "expected a program and its arguments")
      .describe("The program that runs once for each item, as `redrive worker -- COMMAND` does."),
    concurrency: maybe(count(1), "How many items run at a time. Default 10."),
  })
  .meta({ id: "work" });

export const configForm = z
  .strictObject({
    dlq: maybe(dlqForm, "How letters are stored."),
    jobs: maybe(jobsForm, "How long jobs and logs are kept."),
    fixes: maybe(z.array(fixForm), "Automatic fixes for letters, applied in this order."),
    groups: maybe(
      z.array(groupForm),
      "Rules that name groups of failures. The first match takes precedence over the algorithm.",
    ),
    classify: maybe(
      z.array(classRuleForm),
      "Rules for the type and class of failures. The first match takes precedence over the built-in rules.",
    ),
    prices: maybe(
      z.record(z.string(), priceForm),
      "Prices by model, or by agent such as codex, for agents that report tokens but no cost.",
    ),
    redact: maybe(z.array(redactForm), "Item values that the server hides from certain roles."),
    login: maybe(loginForm, "Login through an OpenID Connect provider."),
    work: maybe(z.array(workForm), "Queues that `redrive serve --work` processes, with their commands."),
    watch: maybe(watchForm, "The rules, schedule and channels of `redrive watch`."),
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
