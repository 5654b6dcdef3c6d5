/** Groups of letters with the same cause, over all queues. */
import * as z from "zod";
import type { AgentUsage } from "../item/agent-usage.ts";
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import { GROUP_STATES, type GroupState } from "../item/group.ts";
import { assignGroups } from "../redrive/assignees.ts";
import { mergeGroups, splitGroup } from "../redrive/correct-groups.ts";
import { explainGroup, type GroupExplanation } from "../redrive/explain-group.ts";
import { type GroupSummary, listGroups, requireGroup, viewGroup } from "../redrive/groups.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import { titleLine } from "../triage/title.ts";
import type { Context } from "./context.ts";
import { type Duration, duration, oneOrMany, type Shape, type Time, time } from "./values.ts";

/** Letters with the same signature. */
export interface Group {
  readonly signature: string;
  readonly pattern: string;
  /** The pattern as a readable title. */
  readonly title: string;
  /** The number of waiting letters. */
  readonly count: number;
  readonly type?: ErrorTypeName;
  readonly class?: ErrorClass;
  readonly firstAt?: Date;
  readonly lastAt?: Date;
  /** The queues and jobs with letters of the group, largest first. */
  readonly queues: readonly string[];
  readonly state: GroupState;
  /** Whether the group got new letters after it had been resolved. */
  readonly isRegression: boolean;
  /** The usage of agents for the waiting letters, in all attempts. Absent if none has run. */
  readonly usage?: AgentUsage;
  /** The person assigned to the group. */
  readonly assignee?: string;
}

/** How long a group is ignored. The first condition that is met ends it. */
export interface IgnoreOptions {
  readonly until?: Time;
  /** A duration from now. */
  readonly during?: Duration;
  /** The number of new letters. */
  readonly count?: number;
  readonly note?: string;
}

const listOptions = z.strictObject({
  queue: t.name.optional(),
  states: oneOrMany(GROUP_STATES).optional(),
  assignee: t.name.optional(),
  limit: t.positive.optional(),
});
const noteOptions = z.strictObject({ note: t.name.optional() });
const ignoreOptions = z.strictObject({
  until: time.optional(),
  during: duration.optional(),
  count: t.positive.optional(),
  note: t.name.optional(),
} satisfies Shape<IgnoreOptions>);
const splitOptions = z.strictObject({ text: t.name, name: t.name.optional() });

/** The groups of a store. A group is identified by its signature, a prefix of it, or its name. */
export class Groups {
  readonly #context: Context;

  /** @internal */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Lists groups, largest first. Default: all open groups of all queues. */
  async list(
    options: {
      readonly queue?: string;
      readonly states?: GroupState | readonly GroupState[];
      /** Only groups assigned to this person. */
      readonly assignee?: string;
      readonly limit?: number;
    } = {},
  ): Promise<readonly Group[]> {
    const {
      queue,
      states = ["open"],
      ...rest
    } = t.parseInput(listOptions, options, {
      caller: "groups.list",
      name: "options",
    });
    const { groups } = await listGroups(this.#context.engine, { states, ...compact({ queue, ...rest }) });
    return groups.map(groupOf);
  }

  /** Finds a group. Throws `group_not_found`. */
  async get(group: string): Promise<Group> {
    const { engine } = this.#context;
    return groupOf((await viewGroup(engine, await this.#require(group, "groups.get"))).group);
  }

  /** Marks the group as resolved. A new failure reopens it as a regression. */
  resolve(group: string, options: { readonly note?: string } = {}): Promise<Group> {
    return this.#change(group, "resolved", options);
  }

  reopen(group: string, options: { readonly note?: string } = {}): Promise<Group> {
    return this.#change(group, "open", options);
  }

  /** Ignores the group, forever or until a condition is met. */
  async ignore(group: string, options: IgnoreOptions = {}): Promise<Group> {
    const { engine, author } = this.#context;
    const given = t.parseInput(ignoreOptions, options, { caller: "groups.ignore", name: "options" });
    const { signature } = await this.#require(group, "groups.ignore");
    const at = given.during === undefined ? given.until : (await engine.now()) + given.during;
    const ignoreUntil = compact({ at, count: given.count });
    const note = compact({ note: given.note });
    await engine.changeGroup(signature, { author, state: "ignored", ignoreUntil, ...note });
    return this.get(signature);
  }

  /** Assigns the group to a person; `null` removes the assignee. */
  async assign(group: string, person: string | null): Promise<Group> {
    if (person !== null) t.checkInput(t.name, person, { caller: "groups.assign", name: "person" });
    const { engine, author } = this.#context;
    const record = await this.#require(group, "groups.assign");
    await assignGroups(engine, [record], { assignee: person, author });
    return this.get(record.signature);
  }

  /** Adds a note to the group. */
  async note(group: string, text: string): Promise<void> {
    t.checkInput(t.name, text, { caller: "groups.note", name: "text" });
    const { engine, author } = this.#context;
    const { signature } = await this.#require(group, "groups.note");
    await engine.changeGroup(signature, { author, note: text });
  }

  /** Moves the letters of groups into another group, including later letters. */
  async merge(groups: readonly string[], into: string): Promise<Group> {
    t.checkInput(t.texts.min(1), groups, { caller: "groups.merge", name: "groups" });
    const { engine, author } = this.#context;
    const target = await this.#require(into, "groups.merge");
    const found = await Promise.all(groups.map((group) => this.#require(group, "groups.merge")));
    await mergeGroups(engine, { groups: found, into: target }, { author });
    return this.get(target.signature);
  }

  /** Moves letters whose message contains a text into a separate group, including later letters. */
  async split(group: string, options: { readonly text: string; readonly name?: string }): Promise<Group> {
    const given = t.parseInput(splitOptions, options, { caller: "groups.split", name: "options" });
    const { engine, author } = this.#context;
    const from = await this.#require(group, "groups.split");
    const name = compact({ name: given.name });
    const { target } = await splitGroup(engine, from, { author, text: given.text, ...name });
    return this.get(target.signature);
  }

  /** Explains how the group was formed: the chosen text, what was masked, and similar groups. */
  async explain(group: string): Promise<GroupExplanation> {
    return explainGroup(this.#context.engine, await this.#require(group, "groups.explain"), []);
  }

  async #change(group: string, state: GroupState, options: unknown): Promise<Group> {
    const { engine, author } = this.#context;
    const { note } = t.parseInput(noteOptions, options, { caller: `groups.${state}`, name: "options" });
    const { signature } = await this.#require(group, `groups.${state}`);
    await engine.changeGroup(signature, { author, state, ...compact({ note }) });
    return this.get(signature);
  }

  async #require(group: string, caller: string) {
    t.checkInput(t.name, group, { caller, name: "group" });
    return requireGroup(this.#context.engine, group);
  }
}

function groupOf(group: GroupSummary): Group {
  const { signature, pattern, count, jobs, state, isRegression, errorType, errorClass } = group;
  const { firstAt, lastAt, usage, assignee } = group;
  return {
    ...{ signature, pattern, title: titleLine(pattern), count, queues: jobs, state, isRegression },
    ...compact({
      type: errorType,
      class: errorClass,
      firstAt: firstAt === undefined ? undefined : new Date(firstAt),
      lastAt: lastAt === undefined ? undefined : new Date(lastAt),
      usage,
      assignee,
    }),
  };
}
