/** The words of a command line before they are parsed: `help` with the words of a command, and words that are no command. */
import type { Command } from "commander";
import { WorkError } from "../errors.ts";
import { nearest } from "../kit/nearest.ts";

/** `help dlq retry` is `dlq retry --help`. */
export function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  return first === "help" && rest.length > 0 ? [...rest, "--help"] : argv;
}

/** A word that is no command would be taken for an argument of the default command, or be passed over for the help. */
export function requireKnownWords(program: Command, words: readonly string[]): void {
  let command = program;
  for (const word of words) {
    if (word.startsWith("-") || word === "help" || command.commands.length === 0) return;
    const below = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (below === undefined) {
      if (!takesWord(command)) throw unknownCommand(command, word);
      return;
    }
    command = below;
  }
}

/** The default command, if there is one, is `list`. */
function takesWord(command: Command): boolean {
  return command.commands.some((one) => one.name() === "list" && one.registeredArguments.length > 0);
}

function unknownCommand(command: Command, word: string): WorkError {
  const names = command.commands.flatMap((one) => [one.name(), ...one.aliases()]);
  const path = command.parent === null ? "redrive" : `redrive ${command.name()}`;
  const meant = nearest(word, names);
  return new WorkError("usage", `Unknown command "${word}" of ${path}.`, {
    hint:
      meant === undefined ? `\`${path} --help\` shows every command.` : `Did you mean \`${path} ${meant}\`?`,
  });
}
