/** Generates command lines from the command definitions, so that new commands and options are fuzzed too. */

/** All leaf commands, with their words. */
export function leavesOf(command, words = []) {
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((below) => leavesOf(below, [...words, below.name()]));
}

/** Values that no option accepts. Process arguments cannot contain NUL. */
const IMPLAUSIBLE = [
  ...[
    "",
    " ",
    "-1",
    "0",
    "1e309",
    "NaN",
    "-",
    "--",
    "[",
    "{",
    "}",
    '"',
    "'",
    "\\",
    "\n",
    "%",
    "*",
    "$",
    ".",
    "..",
  ],
  ...[
    "9".repeat(400),
    "x".repeat(5000),
    "(".repeat(3000),
    "[".repeat(3000),
    "!".repeat(3000),
    "é\u202e\u0007",
    "=",
    "@",
  ],
  ...[
    "../../x",
    "a/b",
    "null",
    "true",
    "{}",
    "[]",
    "1..0",
    "..",
    "99999999999999999999",
    "2030-13-45",
    "0/s",
    "\ud800",
  ],
  ...[
    "https://",
    "http://127.0.0.1:1/",
    "file:///",
    "__proto__",
    "constructor",
    "toString",
    "*/0 * * * *",
    "@nowhere",
  ],
];

/** Plausible values by the placeholder name between `<` and `>`. */
const BY_NAME = [
  [/duration|when|time$/, ["1s", "10ms", "5m", "2030-01-31T09:00:00Z", "0s"]],
  [/^n$|bytes|range/, ["1", "2", "3", "2..3", "1000000"]],
  [/n\/s|n\/h/, ["5/s", "100/m", "1/h"]],
  [/cel/, ["item.a == 1", "letter.failure_count > 0", "a=item.a", "true", "item.", "size(item) > 1 &&"]],
  [/json/, ['{"a":1}', "[1,2]", "1", '{"a":', '"x"']],
  [/cron/, ["* * * * *", "*/30 * * * *", "61 * * * *"]],
  [/url|address|host|port/, ["0", "127.0.0.1:0", "http://127.0.0.1:1/", "nowhere"]],
  [/name=value|name:value|path=cel/, ["a=1", "a: b", "a", "a.b=item.a"]],
  [/types|classes|states/, ["Timeout", "dead", "transient", "all", "ready", "Timeout,CommandFailed"]],
];

const COMMANDS = [
  ["true"],
  ["false"],
  ["sh", "-c", "exit 3"],
  ["/nowhere/x"],
  ["echo", "{}"],
  ["cat"],
  ["echo", "${item.x}"],
  [""],
];

/**
 * Returns one command line as strings. `names` are names in the store, `file` returns paths of broken inputs, `storeUrl`
 * URLs.
 */
export function drawCommand(leaf, { chance, names, file, storeUrl }) {
  const one = (list) => list[chance.between(0, list.length - 1)];
  const drawValue = (name, choices) => {
    if (choices?.length > 0 && chance.random() < 0.8) return one(choices);
    if (chance.random() < 0.25) return one(IMPLAUSIBLE);
    if (/file|path|folder|workflow|^out/.test(name)) return file();
    if (/^from$|^to$/.test(name)) return storeUrl();
    const known = BY_NAME.find(([pattern]) => pattern.test(name));
    return known && chance.random() < 0.8 ? one(known[1]) : one(names);
  };
  const options = leaf.command.options.filter(
    ({ long }) => long !== "--store" && long !== "--json" && long !== "--help",
  );
  // Rare, because an unreadable configuration file ends most commands before they start.
  const shareOf = ({ long }) => (long === "--config" ? 0.05 : 2 / options.length);
  const wanted = options.filter((option) => option.mandatory || chance.random() < shareOf(option));
  const words = [...leaf.words];
  for (const option of wanted) {
    const name = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1];
    words.push(option.long ?? option.short);
    if (name !== undefined && (option.required || chance.random() < 0.5))
      words.push(drawValue(name, option.argChoices));
  }
  if (chance.random() < 0.5) words.push("--json");
  const { registeredArguments } = leaf.command;
  for (const argument of registeredArguments) {
    if (chance.random() < (argument.required ? 0.05 : 0.5)) continue;
    if (argument.name() === "command") words.push("--", ...one(COMMANDS));
    else words.push(drawValue(argument.name(), argument.argChoices));
  }
  if (chance.random() < 0.04) words.push(one(IMPLAUSIBLE));
  return words;
}
