/** The secrets of a job's workflow, for taking them out of whatever leaves this machine in a capsule. */
import type { Job } from "../item/job.ts";
import { type Masker, maskerOf, SECRET_CHARS_MIN } from "../workflow/secrets.ts";
import { environmentOf } from "./workflow-environment.ts";
import { type WorkflowSpec, workflowSpecOf } from "./workflow-spec.ts";

export interface CapsuleMask {
  text(text: string): string;
  bytes(bytes: Buffer): Buffer;
  /** Secrets whose values are not known here, so that they could not be looked for. */
  readonly missing: readonly string[];
}

/**
 * A value is looked for where the workflow has it from, and in the environment of now. Where both have one, both are
 * taken out.
 */
export function capsuleMask(job: Job, env: NodeJS.ProcessEnv): CapsuleMask {
  if (job.kind !== "workflow") return maskOf(maskerOf([]), []);
  const spec = workflowSpecOf(job);
  const own = tryEnvironment(spec);
  const values: string[] = [];
  const missing: string[] = [];
  for (const name of spec.workflow.secrets) {
    const found = [own[name], env[name]].filter((value) => value !== undefined);
    const long = found.filter((value) => value.length >= SECRET_CHARS_MIN);
    values.push(...long);
    if (long.length === 0) missing.push(notKnown(name));
  }
  return maskOf(maskerOf(values), missing);
}

/** When a file of it is gone, its secrets are not known any more, and that is said of each. */
function tryEnvironment(spec: WorkflowSpec): Readonly<Record<string, string>> {
  try {
    return environmentOf(spec);
  } catch {
    return {};
  }
}

function maskOf({ mask, maskChunk }: Masker, missing: readonly string[]): CapsuleMask {
  const whole = { cutBefore: false, cutAfter: false };
  return {
    text: mask,
    bytes: (bytes) => Buffer.concat([...maskChunk([bytes], whole)]),
    missing,
  };
}

function notKnown(name: string): string {
  return `The value of the secret ${name} is not known here. Logs and messages were written without it, but it was not looked for in the data and the changes.`;
}
