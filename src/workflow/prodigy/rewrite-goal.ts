/**
 * Rewrites `goal_seek`: a command that is repeated until the score from another command reaches the
 * threshold.
 */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteGoal(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const goal = yaml.take(step, "goal_seek");
  if (!yaml.isMap(goal)) return;
  rewriting.touch();
  namedAction(goal);
  const action = yaml.has(goal, "claude") ? "claude" : "shell";
  const command = yaml.take(goal, action);
  if (command !== undefined) yaml.put(step, action, command);
  const [seconds, whole] = [yaml.take(goal, "timeout_seconds"), yaml.take(goal, "timeout")];
  const timeout = seconds ?? whole;
  if (timeout !== undefined) yaml.put(step, "timeout", timeout);
  const title = yaml.take(goal, "goal");
  if (title !== undefined && !yaml.has(step, "name")) yaml.put(step, "name", title);
  const again = improvement(goal, action, command);
  const [shell, threshold] = [yaml.take(goal, "validate"), yaml.take(goal, "threshold")];
  yaml.put(step, "validate", yaml.mapOf(goal, { shell, threshold, on_incomplete: again }));
}

/** `command: "claude: /fix"` is an older form of `claude: /fix`. */
function namedAction(goal: yaml.YAMLMap): void {
  const command = yaml.take(goal, "command");
  if (!yaml.isScalar(command)) return;
  const text = String(command.value);
  const [, kind = text.startsWith("/") ? "claude" : "shell", rest = ""] =
    /^(?:(claude|shell):)?\s*(.*)$/s.exec(text) ?? [];
  yaml.put(goal, kind, yaml.scalar(rest, command));
}

const ATTEMPTS = 3;

/** The first attempt is the step itself. Later attempts get the last score in their environment. */
function improvement(goal: yaml.YAMLMap, action: string, command: yaml.Node | undefined): yaml.YAMLMap {
  const attempts = yaml.plainOf(goal, "max_attempts");
  const more = (typeof attempts === "number" ? attempts : ATTEMPTS) - 1;
  const fails = yaml.plainOf(goal, "fail_on_incomplete") === false ? false : undefined;
  if (more < 1)
    return yaml.mapOf(goal, { steps: yaml.listOf(goal, []), max_attempts: 0, fail_workflow: fails });
  return yaml.mapOf(goal, {
    [action]: yaml.isScalar(command) ? yaml.scalar(command.value as string, command) : undefined,
    env: yaml.mapOf(goal, {
      PRODIGY_VALIDATION_SCORE: "${validation.score}",
      PRODIGY_VALIDATION_GAPS: "${validation.gaps|json}",
      PRODIGY_VALIDATION_OUTPUT: "${validation.output}",
    }),
    max_attempts: more,
    fail_workflow: fails,
  });
}
