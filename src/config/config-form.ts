/**
 * The one source of what `redrive.yml` may hold: the validator, the types behind it and the JSON Schema for editors all
 * come from here. Unknown keys are errors everywhere.
 */
import * as z from "zod";
import { count, duration, required } from "../form/scalars.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import { watchForm } from "./watch-form.ts";

/** 0 is refused: some take it for "no limit", others for "nothing", and the difference is every letter. */
const limit = (what: string) => {
  const message = `expected ${what} of at least 1, or none`;
  return z.union([z.int(message).min(1, message), z.literal("none", { error: message })], { error: message });
};

/** One, or a list. */
const some = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1, "expected at least one")]);

const dlqForm = z
  .strictObject({
    max_items: limit("a whole number")
      .optional()
      .describe("How many waiting letters a job keeps; the oldest are archived. Default 10000."),
    retention_days: limit("a whole number of days")
      .optional()
      .describe("How long a letter is kept before it is archived. Default 30."),
    toxic_after: limit("a whole number")
      .optional()
      .describe("After so many redrives that failed, a letter needs --force. Default 5."),
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

/** The whole file. */
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
