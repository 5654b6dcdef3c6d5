/** The form of a step in YAML: what may be written, before anything is made of it. Part of the one source in `yaml-form.ts`. */
import * as z from "zod";
import { count, duration, exitCode, ratio, required, scalar } from "../form/scalars.ts";
import type { Json } from "../kit/json.ts";
import { CAPTURE_FORMATS, PROMPT_WAYS } from "./model.ts";
import { type RetryForm, retryForm } from "./retry-form.ts";

/** The keys of which a step has exactly one. */
export const ACTION_KEYS = ["shell", "claude", "agent", "write_file", "foreach"] as const;

export interface StepForm {
  readonly shell?: string | undefined;
  readonly claude?: string | undefined;
  readonly agent?:
    | {
        readonly command: string | readonly string[];
        readonly prompt: string;
        readonly prompt_by?: (typeof PROMPT_WAYS)[number] | undefined;
      }
    | undefined;
  readonly write_file?:
    | { readonly path: string; readonly content: string; readonly mode?: string | undefined }
    | undefined;
  readonly foreach?: ForeachForm | undefined;
  readonly id?: string | undefined;
  readonly timeout?: string | number | undefined;
  readonly env?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly working_dir?: string | undefined;
  readonly when?: string | undefined;
  readonly capture?: string | undefined;
  readonly capture_output?: string | undefined;
  readonly capture_format?: (typeof CAPTURE_FORMATS)[number] | undefined;
  readonly on_failure?: HandlerForm | undefined;
  readonly on_success?: StepsForm | undefined;
  readonly on_exit_code?: Readonly<Record<string, StepsForm>> | undefined;
  readonly retry?: RetryForm | undefined;
  readonly commit_required?: boolean | undefined;
  readonly validate?: ValidateForm | undefined;
  readonly output_file?: string | undefined;
}

export interface ForeachForm {
  readonly items?: string | readonly Json[] | undefined;
  readonly list?: string | readonly Json[] | undefined;
  readonly steps?: readonly StepForm[] | undefined;
  readonly do?: readonly StepForm[] | undefined;
  readonly parallel?: number | undefined;
  readonly max_items?: number | undefined;
}

/** One step or several. */
export type StepsForm = StepForm | readonly StepForm[];

/** Steps, or one step with more to say about what comes after it. */
export type HandlerForm = readonly StepForm[] | HandlerObject;

export interface HandlerObject extends StepForm {
  readonly steps?: readonly StepForm[] | undefined;
  readonly commands?: readonly StepForm[] | undefined;
  readonly max_attempts?: number | undefined;
  readonly fail_workflow?: boolean | undefined;
}

export interface ValidateForm extends StepForm {
  readonly threshold?: number | undefined;
  readonly on_incomplete?: HandlerForm | undefined;
}

/** Names that captures may have: those that `${…}` and expressions can read. */
export const NAME_PATTERN = /^[A-Za-z_]\w*$/;
const captureName = z.string().regex(NAME_PATTERN, "a name has letters, digits and _ only");

/** Without quotes YAML reads 0644 as the number 644. */
const MODE_EXPECTED = 'expected permissions in quotes, such as "0644"';

function stepShape() {
  return {
    shell: required("a script")
      .optional()
      .describe("A script for sh. A value is never part of its text: the shell reads it from a variable."),
    claude: required("a prompt")
      .optional()
      .describe("A prompt for the claude command, in print mode. It goes to its standard input."),
    agent: z
      .strictObject({
        command: z
          .union([required("a command"), z.array(z.string()).min(1, "the command is empty")])
          .describe("Program and arguments. No shell is used."),
        prompt: z.string(),
        prompt_by: z
          .enum(PROMPT_WAYS)
          .optional()
          .describe("How it gets the prompt. argument: as the last one, after --. Default stdin."),
      })
      .optional()
      .describe("Any other agent."),
    write_file: z
      .strictObject({
        path: required("a path").describe("Relative to the working directory."),
        content: z.string(),
        mode: z
          .string(MODE_EXPECTED)
          .regex(/^0?[0-7]{3}$/, MODE_EXPECTED)
          .optional()
          .describe("Permissions, in quotes."),
      })
      .optional(),
    foreach: z.lazy(() => foreachForm).optional(),
    id: z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]*$/, "an id has letters, digits, -, _ and . only")
      .optional(),
    timeout: duration.optional().describe("Ends the step and all its processes."),
    env: z.record(z.string(), scalar).optional(),
    working_dir: required("a folder").optional(),
    when: required("an expression").optional().describe("CEL; false skips the step."),
    capture: captureName.optional().describe("The name under which later steps find the output."),
    capture_output: captureName.optional().describe("The same as capture."),
    capture_format: z.enum(CAPTURE_FORMATS).optional(),
    on_failure: z.lazy(() => handlerForm).optional(),
    on_success: z.lazy(() => stepsForm).optional(),
    on_exit_code: z
      .record(
        exitCode,
        z.lazy(() => stepsForm),
      )
      .optional(),
    retry: retryForm.optional(),
    commit_required: z.boolean().optional().describe("The step fails unless it made a commit."),
    validate: z.lazy(() => validateForm).optional(),
    output_file: required("a path").optional(),
  };
}

/** A step has exactly one action; editors learn it from here. */
const ONE_ACTION = { oneOf: ACTION_KEYS.map((key) => ({ required: [key] })) };

export const stepForm: z.ZodType<StepForm> = z
  .strictObject(stepShape())
  .meta({ id: "step", title: "A step", ...ONE_ACTION });

export const stepsForm: z.ZodType<StepsForm> = z.union([z.array(stepForm), stepForm]).meta({ id: "steps" });

const foreachForm: z.ZodType<ForeachForm> = z.strictObject({
  items: z
    .union([z.string(), z.array(z.json())])
    .optional()
    .describe("A list, or a template whose value is one (a JSON array, or lines)."),
  list: z
    .union([z.string(), z.array(z.json())])
    .optional()
    .describe("The same as items."),
  steps: z.array(stepForm).optional(),
  do: z.array(stepForm).optional().describe("The same as steps."),
  parallel: count(1).optional().describe("How many at a time. Default 1."),
  max_items: count(0).optional(),
}) as z.ZodType<ForeachForm>;

const handlerForm: z.ZodType<HandlerForm> = z.union([
  z.array(stepForm),
  z.strictObject({
    ...stepShape(),
    steps: z.array(stepForm).optional(),
    commands: z.array(stepForm).optional().describe("The same as steps."),
    max_attempts: count(0).optional().describe("How often the failed step is run again. Default 1."),
    fail_workflow: z.boolean().optional().describe("False: a step that stays failed is let through."),
  }),
]);

const validateForm: z.ZodType<ValidateForm> = z.strictObject({
  ...stepShape(),
  threshold: ratio(100).optional().describe("The score that is enough, 0 to 100. Default 100."),
  on_incomplete: z.lazy(() => handlerForm).optional(),
});
