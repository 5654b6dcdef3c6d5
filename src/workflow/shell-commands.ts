/** Collects the words of commands and pipelines while a script is parsed. Rejects values that a command would run as code. */
import { printsEnvironment, readsScriptFromInput, refusalsIn, type ShellWord, VALUE } from "./shell-words.ts";

type RefuseValues = (values: readonly number[] | "all", why: string) => void;

interface Pipeline {
  readonly values: number[];
  /** Whether a shell in the pipeline reads its script from standard input. */
  isRun: boolean;
  /** Whether a command in the pipeline may print the whole environment. */
  hasEnvironment: boolean;
}

const PIPED =
  "a shell runs what this prints. Pass it as an argument, or write ${raw:…} where it has to be code";
const ENVIRONMENT_RUN = "a shell runs the printed environment, which contains every value";
const HERE_RUN =
  "a shell runs the here-document. Pass it as an argument, or write ${raw:…} where it has to be code";

/** Words that end a compound command. A pipe after one receives the output of the whole compound command. */
const COMPOUND_ENDS = new Set(["done", "fi", "esac", "}"]);

export class ShellCommands {
  readonly #refuse: RefuseValues;
  #words: ShellWord[] = [];
  #word: ShellWord | undefined;
  /** Whether the next word is the file of a redirection, which is not an argument. */
  #isRedirected = false;
  #pipeline: Pipeline = newPipeline();
  /** The numbers of all inserted values so far, including those in earlier commands of the script. */
  readonly #values: number[] = [];

  constructor(refuse: RefuseValues) {
    this.#refuse = refuse;
  }

  add(text: string): void {
    this.#word ??= { text: "", values: [], nested: [], isQuoted: false };
    this.#word.text += text;
  }

  addQuotes(): void {
    this.add("");
    if (this.#word) this.#word.isQuoted = true;
  }

  addValue(index: number): void {
    this.add(VALUE);
    this.#word?.values.push(index);
    this.#values.push(index);
  }

  addNested(index: number): void {
    this.#word?.nested.push(index);
    this.#values.push(index);
  }

  endWord(): string | undefined {
    const word = this.#word;
    this.#word = undefined;
    if (!word) return undefined;
    if (!this.#isRedirected) this.#words.push(word);
    this.#isRedirected = false;
    return word.text;
  }

  redirect(): void {
    this.#dropDescriptor();
    this.endWord();
    this.#isRedirected = true;
  }

  /** Returns the function that adds the body to the command later, because it follows the command's line. */
  hereDocument(): (values: readonly number[]) => void {
    this.#dropDescriptor();
    this.endWord();
    const [words, pipeline] = [this.#words, this.#pipeline];
    return (values) => {
      this.#values.push(...values);
      if (readsScriptFromInput(words) || pipeline.isRun) this.#refuse(values, HERE_RUN);
      pipeline.values.push(...values);
    };
  }

  /** Drops the file descriptor number before `<` or `>`, which is not an argument. */
  #dropDescriptor() {
    if (/^\d+$/.test(this.#word?.text ?? "")) this.#word = undefined;
  }

  get isEmpty(): boolean {
    return this.#words.length === 0 && this.#word === undefined;
  }

  pipe(): void {
    this.endWord();
    const endsCompound = this.isEmpty || COMPOUND_ENDS.has(this.#words[0]?.text ?? "");
    this.#endCommand();
    if (endsCompound) this.#pipeline.values.push(...this.#values);
  }

  end(): void {
    this.#endCommand();
    this.#pipeline = newPipeline();
  }

  #endCommand() {
    this.endWord();
    const words = this.#words;
    this.#words = [];
    for (const { values, why } of refusalsIn(words)) this.#refuse(values, why);
    if (readsScriptFromInput(words)) {
      this.#pipeline.isRun = true;
      this.#refuse(this.#pipeline.values, PIPED);
      if (this.#pipeline.hasEnvironment) this.#refuse("all", ENVIRONMENT_RUN);
    }
    if (printsEnvironment(words)) this.#pipeline.hasEnvironment = true;
    this.#pipeline.values.push(...words.flatMap(({ values, nested }) => [...values, ...nested]));
  }
}

function newPipeline(): Pipeline {
  return { values: [], isRun: false, hasEnvironment: false };
}

export interface HereDocument {
  readonly delimiter: string;
  /** Set by `<<-`: tabs at the beginning of lines are ignored. */
  readonly stripsTabs: boolean;
  readonly isQuoted: boolean;
  /** The end of the delimiter. */
  readonly end: number;
}

const DELIMITER = /(-?)[ \t]*((?:'[^'\n]*'|"[^"\\$`\n]*"|\\.|[^ \t\n;&|<>()'"\\`$])+)/y;

/** Reads the delimiter after `<<`. Undefined when shells could read it differently. */
export function readDelimiter(text: string, at: number): HereDocument | undefined {
  DELIMITER.lastIndex = at;
  const match = DELIMITER.exec(text);
  const end = DELIMITER.lastIndex;
  if (!match || end === text.length || /[$`\\]/.test(text[end] ?? "")) return undefined;
  const [, dash, written = ""] = match;
  return {
    delimiter: written.replace(/\\(.)|['"]/gs, "$1"),
    stripsTabs: dash === "-",
    isQuoted: /['"\\]/.test(written),
    end,
  };
}

/** Finds the end of a here-document body that begins at `at`, and the start of the line after its delimiter. */
export function bodyEnd(
  text: string,
  at: number,
  { delimiter, stripsTabs }: HereDocument,
): { readonly body: number; readonly next: number } | undefined {
  for (let start = at; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, end);
    if ((stripsTabs ? line.replace(/^\t+/, "") : line) === delimiter) return { body: start, next: end + 1 };
    start = end + 1;
  }
  return undefined;
}
