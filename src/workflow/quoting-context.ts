/** Parses a POSIX script to find the quoting context of each value. Rejects values where shells disagree or would run them. */
import { bodyEnd, type HereDocument, readDelimiter, ShellCommands } from "./shell-commands.ts";
import { SUBSTITUTION, VALUE } from "./shell-words.ts";

/** The quoting context of a value. A here-document body counts as `double`: a reference needs no quotes of its own there. */
export type QuotingContext =
  | { readonly kind: "bare" | "double" | "single" | "comment" }
  /** In `why`, `IT` is a placeholder for the variable as written in the script. */
  | { readonly kind: "refused"; readonly why: string };

/** Returns the quoting context of each value. A null in `parts` marks a value. */
export function quotingContexts(parts: readonly (string | null)[]): QuotingContext[] {
  return new Reader(parts).contexts();
}

type OpenDocument = HereDocument & {
  readonly addBody: ReturnType<ShellCommands["hereDocument"]> | undefined;
};

interface Frame {
  readonly kind: "command" | "double" | "single" | "arithmetic" | "parameter" | "backquote" | "body";
  /** The number of open parentheses; the frame ends at the last closing one. 0 for the script itself. */
  depth: number;
  readonly hereDocuments: OpenDocument[];
  /** The commands parsed at this level; undefined in quotes and expansions. */
  readonly commands: ShellCommands | undefined;
}

const HERE_DELIMITER_VALUE =
  "it is part of the delimiter of a here-document, or the delimiter cannot be read. Use a plain word such as END";
const HERE_QUOTED =
  "the delimiter of the here-document is quoted, so nothing in the document is replaced. Remove the quotes, or use a write_file step";
const REFUSED_IN = {
  backquote: "it is inside `…`, where quoting is unreliable. Write $(…) instead",
  parameter: "it is inside a shell ${…} expansion. Assign it to a shell variable first: value=IT",
  arithmetic: "a shell evaluates the content of $((…)). Write $(expr IT + 1) instead",
};
const AFTER_BACKSLASH = "there is a backslash before it. For a literal ${ write $${";
const AFTER_DOLLAR = "there is a $ before it";

function unsure(what: string): string {
  return `the script has ${what} before it, after which its quoting is not certain. Assign it to a shell variable at the top: value=IT`;
}

class Reader {
  readonly #text: string;
  /** Maps the position of each value in the text to its index. */
  readonly #valueAt = new Map<number, number>();
  readonly #contexts: QuotingContext[] = [];
  #at = 0;
  readonly #frames: Frame[] = [this.#newFrame("command", 0)];
  #atWordStart = true;
  #refusal: string | undefined;

  constructor(parts: readonly (string | null)[]) {
    let text = "";
    for (const part of parts) {
      if (part === null) this.#valueAt.set(text.length, this.#valueAt.size);
      text += part ?? VALUE;
    }
    this.#text = text;
  }

  contexts(): QuotingContext[] {
    while (this.#at < this.#text.length && this.#refusal === undefined) this.#step();
    for (const { commands } of this.#frames) commands?.end();
    const why = this.#refusal ?? "it could not be read";
    return [...this.#valueAt.values()].map((index) => this.#contexts[index] ?? { kind: "refused", why });
  }

  get #frame(): Frame {
    return this.#frames.at(-1) as Frame;
  }

  get #commands(): ShellCommands | undefined {
    return this.#frames.findLast(({ commands }) => commands !== undefined)?.commands;
  }

  #step() {
    if (this.#valueAt.has(this.#at)) return this.#value();
    if (this.#startsWith("\\\n") && this.#frame.kind !== "single") return this.#joinLines();
    const { kind } = this.#frame;
    const character = this.#text[this.#at] ?? "";
    if (kind === "command") this.#stepCommand(character);
    else if (kind === "arithmetic") this.#stepArithmetic(character);
    else if (kind === "parameter") this.#stepParameter(character);
    else if (kind === "backquote") this.#stepBackquote(character);
    else this.#stepText(kind, character);
  }

  #value() {
    const index = this.#valueAt.get(this.#at) as number;
    this.#contexts[index] = this.#contextHere();
    const inner = this.#commands;
    for (const { commands } of this.#frames) if (commands !== inner) commands?.addNested(index);
    if (this.#frame.kind !== "body") inner?.addValue(index);
    this.#at++;
    this.#atWordStart = false;
  }

  #contextHere(): QuotingContext {
    const before = this.#text[this.#at - 1];
    const { kind } = this.#frame;
    if (kind === "backquote" || kind === "parameter" || kind === "arithmetic") {
      return { kind: "refused", why: REFUSED_IN[kind] };
    }
    if (kind !== "single" && before === "$" && this.#text[this.#at - 2] !== "\\") {
      return { kind: "refused", why: AFTER_DOLLAR };
    }
    if (kind === "command") return { kind: "bare" };
    return { kind: kind === "single" ? "single" : "double" };
  }

  #stepCommand(character: string) {
    if (character === "\n") return this.#endLine();
    if (character === "#" && this.#atWordStart) return this.#skipComment();
    if (character === "#" && /[^\0-\x7f]/.test(this.#text[this.#at - 1] ?? "")) {
      return this.#refuse(unsure("a # after a character that some shells treat as a blank"));
    }
    if (character === "\\") return this.#escape();
    if (character === "'") return this.#open("single", 1);
    if (character === '"') return this.#open("double", 1);
    if (character === "`") return this.#open("backquote", 1);
    if (character === "$") return this.#dollar();
    if (character === "(" || character === ")") return this.#parenthesis(character);
    if (this.#startsWith("<<")) return this.#hereDocument();
    if (/[<>]/.test(character)) return this.#redirect();
    if (/[;&|]/.test(character)) return this.#operator();
    if (/[ \t]/.test(character)) return this.#blank();
    this.#take(character);
  }

  /** Handles a character in quotes or in the body of a here-document. */
  #stepText(kind: "single" | "double" | "body", character: string) {
    if (kind === "single") return character === "'" ? this.#close() : this.#take(character);
    if (kind === "double" && character === '"') return this.#close();
    if (character === "\\") return this.#escape();
    if (character === "`") return this.#open("backquote", 1);
    if (character === "$") return this.#dollar();
    this.#take(character);
  }

  #stepBackquote(character: string) {
    if (character === "\\") this.#at += 2;
    else if (character === "`") this.#close();
    else this.#at++;
  }

  #stepArithmetic(character: string) {
    if (/['"\\`#]/.test(character)) return this.#refuse(unsure("quotes inside $((…))"));
    if (character === "$") return this.#dollar();
    if (character === ")" && this.#frame.depth === 1) return this.#close();
    if (character === "(") this.#frame.depth++;
    if (character === ")") this.#frame.depth--;
    this.#at++;
  }

  #stepParameter(character: string) {
    if (/['"\\`]/.test(character) || this.#startsWith("$(") || this.#startsWith("$[")) {
      return this.#refuse(unsure("quotes or $(…) inside a shell ${…} expansion"));
    }
    if (this.#startsWith("${")) return this.#open("parameter", 2);
    if (character === "}") return this.#close();
    this.#at++;
  }

  /** Joins lines after a trailing backslash. Shells disagree about it inside an operator, so that is rejected. */
  #joinLines() {
    const [before = ""] = /[\s\S](?=(?:\\\n)*$)/.exec(this.#text.slice(0, this.#at)) ?? [];
    let next = this.#at;
    while (this.#text.startsWith("\\\n", next)) next += 2;
    const isTorn = before === "$" || ((before === "<" || before === "(") && this.#text[next] === before);
    if (isTorn || this.#frames.some(({ kind }) => kind === "body")) {
      return this.#refuse(unsure("a line end after a backslash inside an operator or a here-document"));
    }
    this.#at += 2;
  }

  #take(character: string) {
    this.#addToWord(character);
    this.#atWordStart = false;
    this.#at++;
  }

  #addToWord(text: string) {
    if (this.#frame.kind !== "body") this.#commands?.add(text);
  }

  #blank() {
    const word = this.#frame.commands?.endWord();
    // The `)` of a `case` pattern would look like the end of the substitution.
    if (this.#frame.depth > 0 && word === "case") this.#refuse(unsure("a `case` inside $(…)"));
    this.#atWordStart = true;
    this.#at++;
  }

  #refuseValues(values: readonly number[] | "all", why: string) {
    if (values === "all") this.#refusal ??= why;
    for (const index of values === "all" ? this.#valueAt.values() : values) {
      if (this.#contexts[index]?.kind !== "refused") this.#contexts[index] = { kind: "refused", why };
    }
  }

  #operator() {
    const { commands } = this.#frame;
    const isPipe = this.#text[this.#at] === "|" && !this.#startsWith("||");
    if (isPipe) commands?.pipe();
    else commands?.end();
    this.#at += /^(?:\|\||&&|;;|\|&)/.test(this.#text.slice(this.#at, this.#at + 2)) ? 2 : 1;
    this.#atWordStart = true;
  }

  #redirect() {
    this.#frame.commands?.redirect();
    this.#at += /^(?:>>|>&|>\||<&|<>)/.test(this.#text.slice(this.#at, this.#at + 2)) ? 2 : 1;
    this.#atWordStart = true;
  }

  #open(kind: Frame["kind"], length: number, depth = 0) {
    if (kind !== "single" && kind !== "double") this.#addToWord(SUBSTITUTION);
    else if (this.#frame.kind !== "body") this.#commands?.addQuotes();
    this.#frames.push(this.#newFrame(kind, depth));
    this.#at += length;
    this.#atWordStart = kind === "command";
  }

  #close() {
    const frame = this.#frame;
    frame.commands?.end();
    if (frame.hereDocuments.length > 0) {
      return this.#refuse(unsure("a here-document that does not begin in $(…)"));
    }
    this.#frames.pop();
    this.#at++;
    this.#atWordStart = false;
  }

  #dollar() {
    const isQuoted = this.#frame.kind === "double" || this.#frame.kind === "body";
    this.#atWordStart = false;
    if (this.#startsWith("$((")) return this.#open("arithmetic", 3, 2);
    if (this.#startsWith("$(")) return this.#open("command", 2, 1);
    if (this.#startsWith("${")) return this.#open("parameter", 2);
    if (this.#startsWith("$[")) return this.#refuse(unsure("$[…], which only some shells support,"));
    if (this.#startsWith("$'") && !isQuoted)
      return this.#refuse(unsure("$'…', which only some shells support,"));
    this.#take("$");
  }

  #escape() {
    const next = this.#at + 1;
    if (this.#valueAt.has(next)) return this.#refuse(AFTER_BACKSLASH);
    this.#addToWord(this.#text[next] ?? "");
    this.#at += 2;
    this.#atWordStart = false;
  }

  #skipComment() {
    this.#frame.commands?.endWord();
    const end = this.#text.indexOf("\n", this.#at);
    const stop = end < 0 ? this.#text.length : end;
    for (; this.#at < stop; this.#at++) {
      const value = this.#valueAt.get(this.#at);
      if (value !== undefined) this.#contexts[value] = { kind: "comment" };
    }
  }

  #parenthesis(character: string) {
    if (this.#startsWith("((")) return this.#refuse(unsure("((…)), which shells interpret differently,"));
    const frame = this.#frame;
    if (frame.depth === 1 && character === ")") return this.#close();
    if (character === "(") frame.commands?.end();
    else frame.commands?.pipe(); // a `|` may follow, which pipes the whole compound command
    this.#atWordStart = true;
    if (frame.depth > 0) frame.depth += character === "(" ? 1 : -1;
    this.#at++;
  }

  #hereDocument() {
    const frame = this.#frame;
    const addBody = frame.commands?.hereDocument();
    this.#atWordStart = true;
    if (this.#startsWith("<<<")) {
      this.#at += 3;
      return;
    }
    const delimiter = readDelimiter(this.#text, this.#at + 2);
    const hasValue = [...this.#valueAt.keys()].some(
      (at) => at >= this.#at && at <= (delimiter?.end ?? this.#at),
    );
    if (!delimiter || hasValue) return this.#refuse(HERE_DELIMITER_VALUE);
    frame.hereDocuments.push({ ...delimiter, addBody });
    this.#at = delimiter.end;
    this.#atWordStart = false;
  }

  /** The bodies of here-documents begin on the next line. */
  #endLine() {
    const frame = this.#frame;
    if (!(frame.commands?.isEmpty && this.#isAfterPipe())) frame.commands?.end();
    this.#at++;
    this.#atWordStart = true;
    if (this.#frames.slice(0, -1).some((outer) => outer.hereDocuments.length > 0)) {
      return this.#refuse(unsure("a here-document whose line continues inside $(…)"));
    }
    for (const document of frame.hereDocuments.splice(0)) {
      if (this.#refusal === undefined) this.#readBody(document);
    }
  }

  #isAfterPipe(): boolean {
    return /(?:^|[^|])\|[ \t]*$/.test(this.#text.slice(0, this.#at));
  }

  #readBody(document: OpenDocument) {
    const end = bodyEnd(this.#text, this.#at, document);
    if (end === undefined) return this.#refuse(HERE_DELIMITER_VALUE);
    const values = Array.from(this.#valueAt).filter(([at]) => at >= this.#at && at < end.body);
    const indexes = values.map(([, index]) => index);
    if (document.isQuoted) {
      this.#refuseValues(indexes, HERE_QUOTED);
    } else {
      this.#frames.push(this.#newFrame("body", 0));
      while (this.#at < end.body && this.#refusal === undefined) this.#step();
      if (this.#frame.kind !== "body" || this.#at > end.body) {
        this.#refuse(unsure("an expansion in a here-document that is not closed there"));
      }
      document.addBody?.(indexes); // added even if the rest could not be parsed, because a shell may run it
      if (this.#refusal !== undefined) return;
      this.#frames.pop();
    }
    this.#at = end.next;
    this.#atWordStart = true;
  }

  #newFrame(kind: Frame["kind"], depth: number): Frame {
    const refuse = (values: readonly number[] | "all", why: string) => this.#refuseValues(values, why);
    const commands = kind === "command" ? new ShellCommands(refuse) : undefined;
    return { kind, depth, hereDocuments: [], commands };
  }

  #startsWith(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #refuse(why: string) {
    this.#refusal ??= why;
  }
}
