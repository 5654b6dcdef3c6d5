/** What a tool for agents is: data and a function that calls routes. */
import type * as z from "zod";
import type { RouteName } from "../contract.ts";
import type { Answer } from "./answer.ts";
import type { RouteCaller } from "./route-caller.ts";

export interface ToolSpec<Input extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly description: string;
  /** The routes that the tool may call. Agents whose role does not allow all of them do not see the tool. */
  readonly routes: readonly RouteName[];
  readonly effect: Effect;
  readonly input: Input;
  /** The facts of an answer; more fields may be added later. */
  readonly facts: z.ZodObject;
  run(routes: RouteCaller, input: z.output<Input>): Promise<Answer>;
}

/** `reads` changes nothing; `adds` can be taken back or does no harm; `changes` alters letters. */
export type Effect = "reads" | "adds" | "changes";

/** Infers the type of the input. */
export function tool<Input extends z.ZodObject>(spec: ToolSpec<Input>): ToolSpec {
  return spec as unknown as ToolSpec;
}

/** Why the rules for agents refuse a call. The message contains nothing that others wrote. */
export class AgentRefusal extends Error {
  override readonly name = "AgentRefusal";
}
