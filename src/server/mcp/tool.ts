/** The definition of a tool for agents: data, and a function that calls routes. */
import type * as z from "zod";
import type { RouteName } from "../contract.ts";
import type { Answer } from "./answer.ts";
import type { RouteCaller } from "./route-caller.ts";

export interface ToolSpec<Input extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly description: string;
  /** The routes that the tool may call. The tool is hidden from agents whose role does not allow all of them. */
  readonly routes: readonly RouteName[];
  readonly effect: Effect;
  readonly input: Input;
  /** The schema of the answer's facts. More fields may be added later. */
  readonly facts: z.ZodObject;
  run(routes: RouteCaller, input: z.output<Input>): Promise<Answer>;
}

/** `reads` changes nothing; `adds` is harmless or can be undone; `changes` alters letters. */
export type Effect = "reads" | "adds" | "changes";

/** Infers the input type. */
export function tool<Input extends z.ZodObject>(spec: ToolSpec<Input>): ToolSpec {
  return spec as unknown as ToolSpec;
}

/** A call that the rules for agents forbid. The message contains no untrusted text. */
export class AgentRefusal extends Error {
  override readonly name = "AgentRefusal";
}
