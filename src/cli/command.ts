/**
 * Defines a command as one object: name, help, arguments, options and action. The types of the parsed values are inferred
 * from the definition. The library commander parses the command line.
 */
import { Argument, type Command as Parser, Option as ParserOption } from "commander";
import { requireNamedFile } from "../config/config.ts";
import { Context, type SharedOptions, type Terminal } from "./context.ts";

/** The value of an option as commander parsed it. */
export type RawValue = string | boolean | readonly string[] | undefined;

export interface OptionSpec<Value = unknown> {
  /** The flags in commander's syntax: `-j, --concurrency <n>`. */
  readonly flags: string;
  readonly help: string;
  /** Parses the value. Throws a `usage` error that names the option. */
  read(raw: RawValue, name: string): Value;
  readonly choices?: readonly string[];
  readonly isRepeated?: boolean;
  readonly isRequired?: boolean;
  /** Mutually exclusive options, in the parser's spelling (`tokenFile`). */
  readonly conflicts?: readonly string[];
  /** Other spellings of the option, hidden unless they have a help text. */
  readonly aliases?: readonly { readonly flags: string; readonly help?: string }[];
  /** The heading of the option in the help. Default: Options. */
  readonly heading?: string;
}

/** An argument: `<queue>` is required, `[job]` is optional, `<items...>` takes several values. */
export interface ArgumentSpec<Form extends string = string> {
  readonly form: Form;
  readonly help: string;
  readonly choices?: readonly string[];
}

type ArgumentValue<Form extends string> = Form extends `${string}...${string}`
  ? readonly string[]
  : Form extends `[${string}`
    ? string | undefined
    : string;

type ValueOf<Spec> =
  Spec extends OptionSpec<infer Value>
    ? Value
    : Spec extends ArgumentSpec<infer Form>
      ? ArgumentValue<Form>
      : never;

type Specs = Readonly<Record<string, OptionSpec | ArgumentSpec>>;

/** Makes values that were not given absent instead of undefined, so that callers can spread the object. */
type Present<Values> = {
  readonly [Key in keyof Values as undefined extends Values[Key] ? never : Key]: Values[Key];
} & {
  readonly [Key in keyof Values as undefined extends Values[Key] ? Key : never]?: Exclude<
    Values[Key],
    undefined
  >;
};

export type Given<Set extends Specs> = Present<{ [Key in keyof Set]: ValueOf<Set[Key]> }>;

export interface CommandDefinition<Arguments extends Specs = Specs, Options extends Specs = Specs> {
  readonly aliases?: readonly string[];
  /** One imperative line, e.g. `Retry dead letters.` */
  readonly summary: string;
  readonly description?: string;
  /** Commands that can be pasted; a comment may follow after two spaces and `#`. */
  readonly examples: readonly string[];
  readonly arguments?: Arguments;
  readonly options?: Options;
  /** The command runs if its family is called without a command name. */
  readonly isDefault?: boolean;
  readonly isHidden?: boolean;
  /** Words after the first argument are the user's command. */
  readonly passesThrough?: boolean;
  /** Returns the exit code. */
  run(context: Context, given: Given<Arguments & Options>): Promise<number>;
}

export interface Command extends Omit<CommandDefinition, "run" | "arguments" | "options"> {
  readonly name: string;
  readonly arguments: Readonly<Record<string, ArgumentSpec>>;
  readonly options: Readonly<Record<string, OptionSpec>>;
  run(context: Context, given: Readonly<Record<string, unknown>>): Promise<number>;
}

export type Commands = Readonly<Record<string, Omit<Command, "name">>>;

/** Infers and checks the types of a command definition. */
export function command<
  const Arguments extends Readonly<Record<string, ArgumentSpec>> = Record<never, never>,
  const Options extends Readonly<Record<string, OptionSpec>> = Record<never, never>,
>(definition: CommandDefinition<Arguments, Options>): Commands[string] {
  return { arguments: {}, options: {}, ...definition } as Commands[string];
}

export function argument<const Form extends string>(form: Form, help: string, choices?: readonly string[]) {
  return { form, help, ...(choices && { choices }) } satisfies ArgumentSpec<Form>;
}

export type Report = (code: number) => void;

/** Adds the command to the parser, with its help and the global options. */
export function addCommand(parent: Parser, definition: Command, program: Program): void {
  const { terminal, report } = program;
  const { name, summary, description, examples, isDefault = false, isHidden = false } = definition;
  const parser = parent.command(name, { isDefault, hidden: isHidden });
  parser.aliases(definition.aliases ?? []);
  parser.summary(summary).description(description === undefined ? summary : `${summary}\n\n${description}`);
  for (const { form, help, choices } of Object.values(definition.arguments)) {
    const added = new Argument(form, help);
    parser.addArgument(choices ? added.choices(choices) : added);
  }
  const read = addOptions(parser, definition.options);
  addSharedOptions(parser);
  if (examples.length > 0)
    parser.addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}\n`).join("")}`.trimEnd());
  if (definition.passesThrough) parser.passThroughOptions().usage("[options] -- COMMAND [ARG…]");
  if (isHidden) parser.allowUnknownOption();
  parser.action(async (...words: unknown[]) => {
    const shared: SharedOptions = parser.opts();
    const { cwd, env } = terminal;
    requireNamedFile({ cwd, env, ...(shared.config !== undefined && { file: shared.config }) });
    const context = new Context(terminal, shared, program.words);
    const keys = Object.keys(definition.arguments);
    const given = Object.fromEntries(keys.map((key, index) => [key, words[index]]));
    try {
      report(await definition.run(context, { ...withoutUndefined(given), ...read() }));
    } catch (error) {
      throw await context.explain(error);
    }
  });
}

export interface Program {
  readonly terminal: Terminal;
  readonly words: readonly string[];
  readonly report: Report;
}

/** Adds the options; the returned function reads their values after parsing. */
function addOptions(parser: Parser, options: Command["options"]): () => Readonly<Record<string, unknown>> {
  const readers = Object.entries(options).map(([key, spec]) => {
    const option = optionFor(spec.flags, spec);
    if (spec.isRequired) option.makeOptionMandatory();
    if (spec.conflicts) option.conflicts([...spec.conflicts]);
    parser.optionsGroup(`${spec.heading ?? "Options"}:`).addOption(option);
    const names = [option.attributeName()];
    for (const { flags, help } of spec.aliases ?? []) {
      const alias = optionFor(flags, { ...spec, help: help ?? "" }).conflicts(option.attributeName());
      parser.addOption(help === undefined ? alias.hideHelp() : alias);
      names.push(alias.attributeName());
    }
    return { key, spec, names, long: option.long ?? spec.flags };
  });
  return () => {
    const raw: Readonly<Record<string, RawValue>> = parser.opts();
    const values = readers.map(({ key, spec, names, long }) => {
      const name = names.find((one) => raw[one] !== undefined);
      return [key, spec.read(name === undefined ? undefined : raw[name], long)];
    });
    return withoutUndefined(Object.fromEntries(values));
  };
}

function optionFor(flags: string, { help, choices, isRepeated }: OptionSpec): ParserOption {
  const option = new ParserOption(flags, help);
  if (choices) option.choices(choices);
  if (isRepeated)
    option.argParser((text, before: readonly string[] | undefined) => [...(before ?? []), text]);
  return option.negate ? option.default(undefined) : option;
}

function withoutUndefined(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Adds the global options last, so that the command's own options come first in the help. */
export function addSharedOptions(parser: Parser): void {
  parser
    .optionsGroup("Global options:")
    .option("--json", "print one JSON document to stdout and nothing else")
    .option(
      "--store <url>",
      "the store, e.g. sqlite:./work.db or postgres://me@host/work (default: $REDRIVE_STORE, else redrive.db in $REDRIVE_HOME or ~/.redrive)",
    )
    .option(
      "--config <file>",
      "the settings file (default: $REDRIVE_CONFIG, else redrive.yml in this folder, a folder above, or the home)",
    )
    .helpOption("-h, --help", "show this help");
}
