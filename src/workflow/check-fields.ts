/**
 * The values of a workflow file with their paths, and checks of single texts. Used by `check-workflow.ts`.
 */
import { canResume } from "../agent/continue-session.ts";
import type { Placeholder } from "../attempt/template.ts";
import type { KnownVariables } from "../std/expression.ts";
import { isJsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import { PatternError, rememberedLinear } from "../std/pattern.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import { unknownVariable } from "./variables.ts";

export type Mapping = Readonly<Record<string, unknown>>;

/** A value of the file with its path. */
export interface Field {
  readonly value: unknown;
  readonly path: Finding["path"];
}

/** Returns a field of a mapping. Its value is undefined if it does not exist. */
export function child({ value, path }: Field, key: string): Field {
  return { value: isJsonObject(value) ? value[key] : undefined, path: [...path, key] };
}

/** Returns the elements of a list, or the value itself. */
export function elements({ value, path }: Field): readonly Field[] {
  if (!Array.isArray(value)) return [{ value, path }];
  return value.map((element: unknown, index) => ({ value: element, path: [...path, index] }));
}

export function keysOf({ value }: Field): readonly string[] {
  return isJsonObject(value) ? Object.keys(value) : [];
}

export function patternProblem(pattern: string): string | undefined {
  try {
    rememberedLinear(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return `the regular expression: ${error.message}`;
    throw error;
  }
}

/** A simple name may be unknown if it has a default, because `--var` can set it. */
export function placeholderProblem(
  placeholder: Placeholder,
  known: KnownVariables,
): Pick<Finding, "message" | "suggestion"> | undefined {
  const fields = known.get(placeholder.name);
  if (fields === undefined) {
    const isOptional = placeholder.fallback !== undefined && placeholder.path.length === 0;
    return isOptional ? undefined : unknownVariable(placeholder, [...known.keys()]);
  }
  const [field] = placeholder.path;
  if (fields === "any" || field === undefined || fields.includes(String(field))) return undefined;
  const meant = nearest(String(field), fields);
  return {
    message: `${placeholder.written}: there is no "${field}" in ${placeholder.name}`,
    suggestion: meant && `\${${placeholder.name}.${meant}}`,
  };
}

/** Returns why the session of a step's agent cannot be continued. Each problem is reported at the key of its field. */
export function sessionProblems(step: Field): readonly { readonly field: Field; readonly message: string }[] {
  const agent = child(step, "agent");
  const [field, command, resume] = [
    child(step, "continue_session"),
    child(agent, "command"),
    child(agent, "resume"),
  ];
  if (field.value !== true)
    return resume.value === undefined
      ? []
      : [{ field: resume, message: "resume has no effect without continue_session: true" }];
  if (child(step, "claude").value !== undefined) return [];
  if (command.value === undefined)
    return [{ field, message: "continue_session is for steps with claude or agent" }];
  const [first] = elements(command);
  const line = typeof first?.value === "string" ? first.value.trim() : "";
  const program = line.split(/\s/)[0] ?? "";
  if (resume.value !== undefined || program === "" || canResume(program)) return [];
  const message = `${program} has no built-in resume command: add resume, the command that continues \${agent.session}`;
  return [{ field, message }];
}
