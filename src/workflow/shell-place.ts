/**
 * Says how the text of a POSIX shell script quotes what comes next, so that a value can be put there and arrive as it
 * is. It reads only as much shell as quoting needs; where two shells could disagree it refuses, and never guesses.
 */

/** Where a value would stand. `comment` is never run; in `arithmetic` only an integer is safe. */
export type ShellPlace =
  | { readonly kind: "bare" | "double" | "single" | "arithmetic" | "comment" }
  | { readonly kind: "refused"; readonly why: string };

/** The place right after this beginning of a script. Values that were put in before stand in it as a plain letter. */
export function placeAfter(script: string): ShellPlace {
  return new Reader(script).place();
}

interface Frame {
  readonly kind: "command" | "double" | "single" | "arithmetic" | "parameter" | "backquote";
  /** Parentheses that are open; the frame ends with the last one. 0 for the script itself, which has none. */
  depth: number;
  readonly hereDocuments: HereDocument[];
}

interface HereDocument {
  readonly delimiter: string;
  readonly stripsTabs: boolean;
}

const HERE_DOCUMENT =
  "it stands in a here-document, where no value can be quoted safely. Use a write_file step, or printf '%s\\n' \"…\"";
const BACKQUOTES = "it stands in `…`, where quoting is unreliable. Write $(…) instead";
const PARAMETER =
  "it stands inside a shell ${…} expansion. Assign it to a shell variable first: value=${item.x}";
const AFTER_BACKSLASH = "a backslash stands in front of it. For a literal ${ write $${";
const AFTER_DOLLAR = "a $ stands in front of it";

function unsure(what: string): string {
  return `the script has ${what} before it, after which its quoting is not certain. Assign it to a shell variable at the top: value=\${item.x}`;
}

class Reader {
  readonly #text: string;
  #at = 0;
  readonly #frames: Frame[] = [{ kind: "command", depth: 0, hereDocuments: [] }];
  /** A `#` here begins a comment. */
  #atWordStart = true;
  #inComment = false;
  #refusal: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  place(): ShellPlace {
    while (this.#at < this.#text.length && this.#refusal === undefined) this.#step();
    if (this.#refusal !== undefined) return { kind: "refused", why: this.#refusal };
    if (this.#inComment) return { kind: "comment" };
    const { kind } = this.#frame;
    if (kind === "backquote") return { kind: "refused", why: BACKQUOTES };
    if (kind === "parameter") return { kind: "refused", why: PARAMETER };
    return kind === "command" ? { kind: "bare" } : { kind };
  }

  get #frame(): Frame {
    return this.#frames.at(-1) as Frame;
  }

  #step() {
    switch (this.#frame.kind) {
      case "command":
        return this.#stepCommand();
      case "double":
        return this.#stepDouble();
      case "single":
        return this.#stepSingle();
      case "arithmetic":
        return this.#stepArithmetic();
      case "parameter":
        return this.#stepParameter();
      case "backquote":
        return this.#stepBackquote();
    }
  }

  #stepCommand() {
    const character = this.#text[this.#at] ?? "";
    if (character === "\n") return this.#endLine();
    if (character === "#" && this.#atWordStart) return this.#skipComment();
    if (character === "\\") return this.#escapeInCommand();
    if (character === "'") return this.#open("single", 1);
    if (character === '"') return this.#open("double", 1);
    if (character === "`") return this.#open("backquote", 1);
    if (character === "$") return this.#dollar();
    if (character === "(" || character === ")") return this.#parenthesis(character);
    if (this.#startsWith("<<")) return this.#redirect();
    if (this.#isCaseInSubstitution()) return this.#refuse(unsure("a `case` inside $(…)"));
    this.#atWordStart = /[\s;&|<>]/.test(character);
    this.#at++;
  }

  #stepDouble() {
    const character = this.#text[this.#at];
    if (character === "\\") return this.#escape();
    if (character === '"') return this.#close();
    if (character === "`") return this.#open("backquote", 1);
    if (character === "$") return this.#dollar();
    this.#at++;
  }

  #stepSingle() {
    if (this.#text[this.#at] === "'") this.#close();
    else this.#at++;
  }

  #stepBackquote() {
    const character = this.#text[this.#at];
    if (character === "\\") this.#at += 2;
    else if (character === "`") this.#close();
    else this.#at++;
  }

  #stepArithmetic() {
    const character = this.#text[this.#at] ?? "";
    if (/['"\\`#]/.test(character)) return this.#refuse(unsure("quotes inside $((…))"));
    if (character === "$") return this.#dollar();
    if (character === "(") this.#frame.depth++;
    if (character === ")") return this.#closeParenthesis();
    this.#at++;
  }

  #stepParameter() {
    const character = this.#text[this.#at] ?? "";
    if (/['"\\`]/.test(character) || this.#startsWith("$(") || this.#startsWith("$[")) {
      return this.#refuse(unsure("quotes or $(…) inside a shell ${…} expansion"));
    }
    if (this.#startsWith("${")) return this.#open("parameter", 2);
    if (character === "}") return this.#close();
    this.#at++;
  }

  #open(kind: Frame["kind"], length: number, depth = 0) {
    this.#frames.push({ kind, depth, hereDocuments: [] });
    this.#at += length;
    this.#atWordStart = kind === "command";
  }

  #close() {
    const { hereDocuments } = this.#frame;
    if (hereDocuments.length > 0) return this.#refuse(unsure("a here-document that does not begin in $(…)"));
    this.#frames.pop();
    this.#at++;
    this.#atWordStart = false;
  }

  #dollar() {
    const isQuoted = this.#frame.kind === "double";
    this.#atWordStart = false;
    if (this.#startsWith("$((")) return this.#open("arithmetic", 3, 2);
    if (this.#startsWith("$(")) return this.#open("command", 2, 1);
    if (this.#startsWith("${")) return this.#open("parameter", 2);
    if (this.#startsWith("$[")) return this.#refuse(unsure("$[…], which only some shells know,"));
    if (this.#startsWith("$'") && !isQuoted)
      return this.#refuse(unsure("$'…', which only some shells know,"));
    this.#at++;
    if (this.#at === this.#text.length) this.#refuse(AFTER_DOLLAR);
  }

  #escape() {
    if (this.#at + 1 === this.#text.length) return this.#refuse(AFTER_BACKSLASH);
    this.#at += 2;
  }

  /** An escaped line end is nothing at all: what was in front of it is still in front. */
  #escapeInCommand() {
    if (!this.#startsWith("\\\n")) this.#atWordStart = false;
    this.#escape();
  }

  #skipComment() {
    const end = this.#text.indexOf("\n", this.#at);
    this.#inComment = end < 0;
    this.#at = end < 0 ? this.#text.length : end;
  }

  #parenthesis(character: string) {
    if (this.#startsWith("((")) return this.#refuse(unsure("((…)), which shells read differently,"));
    this.#atWordStart = true;
    if (this.#frame.depth === 0) this.#at++;
    else if (character === ")") this.#closeParenthesis();
    else {
      this.#frame.depth++;
      this.#at++;
    }
  }

  #closeParenthesis() {
    if (this.#frame.depth === 1) return this.#close();
    this.#frame.depth--;
    this.#at++;
  }

  /** The `)` of a pattern would look like the end of the substitution. */
  #isCaseInSubstitution(): boolean {
    return (
      this.#frame.depth > 0 &&
      this.#atWordStart &&
      /^case(?!\w)/.test(this.#text.slice(this.#at, this.#at + 5))
    );
  }

  #redirect() {
    this.#atWordStart = true;
    if (this.#startsWith("<<<")) {
      this.#at += 3;
      return;
    }
    HERE_DELIMITER.lastIndex = this.#at + 2;
    const match = HERE_DELIMITER.exec(this.#text);
    const end = HERE_DELIMITER.lastIndex;
    if (!match || end === this.#text.length || /[$`]/.test(this.#text[end] ?? "")) {
      return this.#refuse(HERE_DOCUMENT);
    }
    const delimiter = (match[2] ?? "").replace(/\\(.)|['"]/gs, "$1");
    this.#frame.hereDocuments.push({ delimiter, stripsTabs: match[1] === "-" });
    this.#at = end;
    this.#atWordStart = false;
  }

  /** The bodies of here-documents begin after the line that names them. */
  #endLine() {
    this.#at++;
    this.#atWordStart = true;
    if (this.#frames.slice(0, -1).some((outer) => outer.hereDocuments.length > 0)) {
      return this.#refuse(unsure("a here-document whose line goes on inside $(…)"));
    }
    for (const document of this.#frame.hereDocuments.splice(0)) this.#skipBody(document);
  }

  #skipBody({ delimiter, stripsTabs }: HereDocument) {
    while (this.#at < this.#text.length) {
      const end = this.#text.indexOf("\n", this.#at);
      if (end < 0) break;
      const line = this.#text.slice(this.#at, end);
      this.#at = end + 1;
      if ((stripsTabs ? line.replace(/^\t+/, "") : line) === delimiter) return;
    }
    this.#refuse(HERE_DOCUMENT);
  }

  #startsWith(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #refuse(why: string) {
    this.#refusal = why;
  }
}

const HERE_DELIMITER = /(-?)[ \t]*((?:'[^'\n]*'|"[^"\\$`\n]*"|\\.|[^\s;&|<>()'"\\`$])+)/y;
