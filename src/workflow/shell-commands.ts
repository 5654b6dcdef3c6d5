/**
 * Collects the words of the commands that a script has on one level, and the pipelines they are in, while
 * `shell-place.ts` reads the script. When a command ends, the values that it would run as code are refused.
 */
import { readsScriptFromInput, refusalsIn, type ShellWord, VALUE } from "./shell-words.ts";

type RefuseValues = (values: readonly number[], why: string) => void;

/** The commands that are connected with `|`. */
interface Pipeline {
  readonly values: number[];
  /** A shell in it reads its script from standard input. */
  isRun: boolean;
}

/** What is known of a here-document when its operator is read; its body comes later. */
export interface HereDocumentUser {
  /** Called with the values of the body. */
  addBody(values: readonly number[]): void;
}

const PIPED =
  "a shell runs what this prints. Pass it as an argument, or write ${raw:…} where it has to be code";
const HERE_RUN =
  "a shell runs the here-document. Pass it as an argument, or write ${raw:…} where it has to be code";

/** Words that end a compound command, of which all values are in the pipeline. */
const COMPOUND_ENDS = new Set(["done", "fi", "esac", "}"]);

export class ShellCommands {
  readonly #refuse: RefuseValues;
  #words: ShellWord[] = [];
  #word: ShellWord | undefined;
  /** The next word is the file of a redirection, and none of the command's own. */
  #isRedirected = false;
  #pipeline: Pipeline = newPipeline();
  /** All values so far, also of commands that have ended. */
  readonly #values: number[] = [];

  constructor(refuse: RefuseValues) {
    this.#refuse = refuse;
  }

  /** Adds to the word that is being read, or begins one. */
  add(text: string): void {
    this.#word ??= { text: "", values: [], nested: [] };
    this.#word.text += text;
  }

  addValue(index: number): void {
    this.add(VALUE);
    this.#word?.values.push(index);
    this.#values.push(index);
  }

  /** A value inside of a substitution of the word. */
  addNested(index: number): void {
    this.#word?.nested.push(index);
    this.#values.push(index);
  }

  /** The word that ended, if there was one. */
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

  hereDocument(): HereDocumentUser {
    this.#dropDescriptor();
    this.endWord();
    const [words, pipeline, refuse] = [this.#words, this.#pipeline, this.#refuse];
    return {
      addBody: (values) => {
        this.#values.push(...values);
        if (readsScriptFromInput(words) || pipeline.isRun) refuse(values, HERE_RUN);
        pipeline.values.push(...values);
      },
    };
  }

  /** The number before `<` or `>` is no word. */
  #dropDescriptor() {
    if (/^\d+$/.test(this.#word?.text ?? "")) this.#word = undefined;
  }

  get isEmpty(): boolean {
    return this.#words.length === 0 && this.#word === undefined;
  }

  /** Ends the command, which is connected with the next one by a `|`. */
  pipe(): void {
    this.endWord();
    const endsCompound = this.isEmpty || COMPOUND_ENDS.has(this.#words[0]?.text ?? "");
    this.#endCommand();
    if (endsCompound) this.#pipeline.values.push(...this.#values);
  }

  /** Ends the command and its pipeline. */
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
    }
    this.#pipeline.values.push(...words.flatMap(({ values, nested }) => [...values, ...nested]));
  }
}

function newPipeline(): Pipeline {
  return { values: [], isRun: false };
}
