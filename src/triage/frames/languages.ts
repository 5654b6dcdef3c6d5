/** Parsers of stack traces, one per language. */
import {
  blockReader,
  type FoundTrace,
  type Frame,
  headlineBefore,
  lastBlock,
  type TraceReader,
} from "./frame.ts";

function frameOf(name: string, file: string | undefined, isForeign: boolean): Frame {
  return { function: name, ...(file !== undefined && { file }), inApp: !isForeign };
}

/**
 * Reads JavaScript stack traces as V8 (`at load (file:///app/x.js:3:7)`), Firefox and Safari (`load@https://host/x.js:3:7`)
 * print them. A cause is printed below the error that it caused, so the last block is the root cause.
 */
export const JAVASCRIPT: TraceReader = blockReader({
  language: "JavaScript",
  hint: /^[ \t]*at .*:\d+:\d+\)?|^[^\s@]*@\S+:\d+:\d+$/m,
  parse: parseJavascript,
  tidy: (headline) => headline.replace(/^\[cause\]: /, ""),
});

const POSITION = /:\d+:\d+$/;
/**
 * Files that are not part of the program: those of the runtime, of installed packages, or of a tool that runs
 * the program.
 */
const FOREIGN_JAVASCRIPT =
  /^(?:node:|internal\/|native|<anonymous>|\[eval|evalmachine|webpack\/|bun:|ext:|deno:)|[/\\]node_modules[/\\]|\/\.(?:yarn|pnpm)\//;

function parseJavascript(line: string): Frame | undefined {
  const text = line.trim();
  if (text.startsWith("at ")) return parseV8(text.slice(3).replace(/ \{$/, ""));
  const at = text.indexOf("@");
  if (at < 0 || !POSITION.test(text) || text.includes(" ")) return undefined;
  return javascriptFrame(text.slice(0, at), text.slice(at + 1));
}

function parseV8(call: string): Frame | undefined {
  const open = call.endsWith(")") ? call.lastIndexOf(" (") : -1;
  const position = open < 0 ? call : call.slice(open + 2, -1);
  if (!POSITION.test(position) && !/^(?:native|<anonymous>|node:\S+|index \d+)$/.test(position))
    return undefined;
  return javascriptFrame(open < 0 ? "" : call.slice(0, open), position);
}

/** Shortens `async Object.run [as run]` to `run`, because the way of calling does not identify the function. */
function javascriptFrame(call: string, position: string): Frame {
  const file = position.replace(POSITION, "").replace(/^file:\/\//, "");
  const name = call
    .replace(/ \[as [^\]]{1,100}\]$/, "")
    .replace(/^(?:async |new )+/, "")
    .replace(/^(?:Object|Module|Function|exports|global|globalThis|process)\./, "")
    .replace(/^(.{1,100})\/<$/, "$1");
  const isNameless = name === "eval" || name === "<anonymous>";
  return frameOf(isNameless ? "" : name, file, FOREIGN_JAVASCRIPT.test(file));
}

/** Java, Kotlin and Scala: `at com.shop.Cart.pay(Cart.java:7)`. The last `Caused by:` is the root cause. */
export const JVM: TraceReader = blockReader({
  language: "Java",
  hint: /^[ \t]*at [\w.$/<>-]+\((?:[\w$-]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)/m,
  parse: parseJvm,
  isInside: (line) => /^\s*\.\.\. \d+ (?:more|common frames omitted)/.test(line),
  tidy: (headline) => headline.replace(/^Caused by: /, "").replace(/^Exception in thread "[^"]{0,200}" /, ""),
});

const JVM_FRAME =
  /^\s*at (?:[\w.@-]{0,80}\/{1,2}){0,2}([\w.$<>-]{1,300})\((?:([\w$-]{1,100}\.\w{1,10})(?::\d+)?|Native Method|Unknown Source)\)/;
/**
 * Classes that are not part of the program: those of the runtime, standard libraries, frameworks and test
 * runners.
 */
const FOREIGN_CLASS =
  /^(?:javax?|jdk|sun|com\.sun|kotlinx?|scala|groovy|clojure|org\.(?:springframework|junit|testng|mockito|gradle|hibernate|jboss|eclipse|codehaus|apache\.(?:maven|tomcat|catalina|coyote|commons|logging))|io\.(?:netty|reactivex|micrometer)|reactor|com\.(?:google\.common|fasterxml|zaxxer)|akka)\./;

/** Keeps class and method, without the package and compiler-generated names: `lambda$pay$3`, `$$Lambda$14/0x1f`. */
function parseJvm(line: string): Frame | undefined {
  const [, call, file] = JVM_FRAME.exec(line) ?? [];
  if (call === undefined) return undefined;
  const [type = "", method = ""] = call.split(".").slice(-2);
  const plain = method.replace(/^lambda\$(\w+)\$\d+$/, "$1").replace(/\$\d+$/, "");
  return frameOf(`${type.replace(/\$\$.*$|\$\d+$/, "")}.${plain}`, file, FOREIGN_CLASS.test(call));
}

/**
 * .NET: `at Shop.Cart.Pay(Order o) in /src/Cart.cs:line 7`. The frames of an inner exception come first, up to the line that
 * marks their end.
 */
export const DOTNET: TraceReader = blockReader({
  language: ".NET",
  hint: /^[ \t]+at [\w.`<>+[\],]+\(.{0,300}\)(?: in .{1,300}:line \d+)?[ \t]*$/m,
  parse: parseDotnet,
  end: (lines) => lines.findIndex((line) => /^\s*--- End of inner exception stack trace ---/.test(line)),
  tidy: (above) => {
    const plain = above.replace(/^Unhandled [Ee]xception[.:] /, "");
    const inner = plain.lastIndexOf("---> ");
    return inner < 0 ? plain : plain.slice(inner + 5);
  },
});

const DOTNET_FRAME = /^\s+at ([\w.`<>+[\],|]{1,300})\((.{0,300})\)(?: in (.{1,300}):line \d+)?\s*$/;
const FOREIGN_NAMESPACE = /^(?:System|Microsoft|Xunit|NUnit|Newtonsoft|Moq|Castle|AutoMapper|Npgsql|Grpc)\./;

/** Keeps type and method. The compiler turns `PayAsync` into `<PayAsync>d__7.MoveNext`. */
function parseDotnet(line: string): Frame | undefined {
  const [, call = "", parameters = "", file] = DOTNET_FRAME.exec(line) ?? [];
  if (!call.includes(".") || /^\w+\.(?:java|kt|scala|js|ts)$/.test(parameters.replace(/:\d+$/, "")))
    return undefined;
  const plain = call
    .replace(/\.?<(\w+)>[\w|]{1,40}(?:\.MoveNext)?$/, ".$1")
    .replace(/`\d+/g, "")
    .replace(/\[[^\]]{0,200}\]$/, "");
  return frameOf(plain.split(".").slice(-2).join("."), file, FOREIGN_NAMESPACE.test(call));
}

/** C and C++ traces of debuggers (`#1 0x4f2 in load (n=3) at load.c:7`) and sanitizers (`#1 0x4f2 in load load.c:7:3`). */
export const NATIVE: TraceReader = blockReader({
  language: "C/C++",
  hint: /^[ \t]*(?:bt)?#\d+:? +(?:0x[\da-f]+ )?\S/m,
  parse: parseNative,
  // A sanitizer prints several stacks: first the stack of the error, then those of the allocation and
  // release.
  end: (lines) => {
    const last = lines.findIndex((line, index) => parseNative(line) && !parseNative(lines[index + 1] ?? ""));
    return last < 0 ? last : last + 1;
  },
  endsWithBlock: true,
  headline: (lines, start) => headlineBefore(lines, start, NATIVE_HEADLINE, "last"),
  // Removes the pid and the address from `==123==ERROR: AddressSanitizer: heap-use-after-free on address …`,
  // because they differ in every run.
  tidy: (headline) =>
    headline
      .replace(/^==\d+==\s?/, "")
      .replace(/(Sanitizer: [\w-]+(?: [a-z-]+)?) on (?:unknown )?address .*$/, "$1"),
});

const NATIVE_FRAME =
  /^\s*(?:bt)?#\d+:? +(?:0x[\da-f]{1,16} +)?(?:\[ inline \] )?(?:in )?([A-Za-z_~<][^()]{0,200}?)(?:\((.{0,300})\))?(?: const)?(?:(?: at| from)? +(\S{1,300}))?$/;
/** Lines above the frames that name the failure. */
const NATIVE_HEADLINE =
  /ERROR: \w+Sanitizer: |WARNING: \w+Sanitizer: |runtime error: |Program (?:received|terminated with) signal |Assertion .{0,300} failed|ASSERT FAILED|terminate called|Segmentation fault|panic[: (]/;
const FOREIGN_NATIVE =
  /^(?:__(?:interceptor|asan|tsan|msan|ubsan|libc|GI|cxa|gnu|pthread|kernel|assert|restore|strn?cpy|mem)|_start$|(?:raise|abort|clone|start_thread|mem(?:cpy|set|move|cmp)|strlen|str\w*cpy|free|malloc|calloc|realloc|operator (?:new|delete)|platform_halt|_?panic|assfail|kassert\w*)(?![A-Za-z])|std::|__gnu|boost::|testing::|pthread_)/;
const FOREIGN_NATIVE_FILE =
  /^\(?\/(?:usr\/)?lib|\.so(?:\.|\b)|\/sysdeps\/|^\.\.\/sysdeps|compiler-rt|libsanitizer/;

function parseNative(line: string): Frame | undefined {
  const [, call = "", , position] = NATIVE_FRAME.exec(line) ?? [];
  const name = call.trim();
  if (name === "" || !/^\s*(?:bt)?#\d+:? +0x|[()]|:\d+$/.test(line)) return undefined; // such as `#12 is fixed`
  const file = position?.replace(/(?::\d+){1,2}$/, "");
  return frameOf(name, file, FOREIGN_NATIVE.test(name) || FOREIGN_NATIVE_FILE.test(file ?? ""));
}

/** Rust: `3: app::load` with `at src/main.rs:4:5` below. The message is on the line with `panicked at`, or below it. */
export const RUST: TraceReader = blockReader({
  language: "Rust",
  hint: /^(?:stack backtrace:|[ \t]*\d+: +(?:0x[\da-f]+ - )?[\w<_].*::)/m,
  parse: parseRust,
  isInside: (line) => RUST_POSITION.test(line),
  framesMin: 2,
  linesAfter: 1,
  headline: panicBefore,
});

const RUST_FRAME = /^\s*\d+: +(?:0x[\da-f]{1,16} - )?(\S.{0,300})$/;
const RUST_POSITION = /^\s+at (.{1,400}?)(?::\d+){0,2}$/;
const PANIC_LINES_MAX = 12;

function panicBefore(lines: readonly string[], start: number): string {
  const first = Math.max(0, start - PANIC_LINES_MAX);
  const index = lines.findLastIndex((line, at) => at >= first && at < start && /\bpanicked at /.test(line));
  if (index < 0) return "";
  const line = (lines[index] ?? "").trim();
  const below = (lines[index + 1] ?? "").trim();
  const isAnnounced = line.endsWith(":") && !/^(?:stack backtrace|note):/.test(below);
  return isAnnounced ? `${line} ${below}` : line;
}

const FOREIGN_RUST =
  /^(?:<?&?(?:mut )?(?:std|core|alloc|backtrace|tokio|futures|rayon|hashbrown)::|rust_begin_unwind|rust_panic|__rust|_+libc|__pthread|_start|main$|clone|start_thread|<.{0,200} as (?:std|core|alloc)::)/;
const FOREIGN_RUST_FILE = /^\/rustc\/|\/\.cargo\/(?:registry|git)\/|\/rustlib\//;

function parseRust(line: string, next: string): Frame | undefined {
  const call = RUST_FRAME.exec(line)?.[1];
  if (call === undefined) return undefined;
  const file = RUST_POSITION.exec(next)?.[1];
  const name = call
    .replace(/::h[\da-f]{16}$/, "")
    .replace(/(?:::\{\{closure\}\}|::\{closure(?:#\d+)?\})+/g, "")
    .trim();
  return frameOf(name, file, FOREIGN_RUST.test(name) || FOREIGN_RUST_FILE.test(file ?? ""));
}

/**
 * Python: `File "app.py", line 3, in load`, with the innermost call last and the exception below the frames. After "the
 * direct cause of", the traceback above is the root cause; after "during handling of", the one below is.
 */
export const PYTHON: TraceReader = {
  language: "Python",
  hint: /^[ \t]*File ".{1,400}", line \d+/m,
  read: readPython,
};

const PYTHON_FRAME = /^\s*(?:\|\s*)*File "([^"]{1,400})", line \d+(?:, in (.{1,200}))?$/;
const DIRECT_CAUSE = /^\s*The above exception was the direct cause of/;
const CAUSES_MAX = 20;

function readPython(lines: readonly string[]): FoundTrace | undefined {
  let trace = lastTraceback(lines);
  for (let depth = 0; trace !== undefined && depth < CAUSES_MAX; depth += 1) {
    const above = causeAbove(lines, trace.start);
    const cause = above < 0 ? undefined : lastTraceback(lines.slice(0, above));
    if (cause === undefined) break;
    trace = { ...cause, endsAt: trace.endsAt };
  }
  return trace;
}

type Traceback = FoundTrace & { readonly start: number };

function lastTraceback(lines: readonly string[]): Traceback | undefined {
  const block = lastBlock(lines, parsePython, (line) => /^\s/.test(line));
  if (!block) return undefined;
  const below = lines.findIndex((line, index) => index > block.end && /^[^\s|]/.test(line));
  const headline = (below < 0 ? "" : (lines[below] ?? "")).trim();
  const frames = block.frames.toReversed();
  return { headline, frames, endsAt: below < 0 ? block.end : below, start: block.start };
}

/**
 * Returns the index of the "direct cause" line between this traceback and the one above; -1 if there is none.
 */
function causeAbove(lines: readonly string[], start: number): number {
  for (let index = start - 1; index >= 0 && index > start - 6; index -= 1) {
    if (DIRECT_CAUSE.test(lines[index] ?? "")) return index;
  }
  return -1;
}

const FOREIGN_PYTHON =
  /[/\\](?:site-packages|dist-packages|lib[/\\]python\d[\d.]*)[/\\]|^<frozen |[/\\]pluggy[/\\]|_pytest/;

function parsePython(line: string): Frame | undefined {
  const [, file, name = ""] = PYTHON_FRAME.exec(line) ?? [];
  if (file === undefined) return undefined;
  const isNameless = name.trim() === "<module>" || name.trim() === "<lambda>";
  return frameOf(isNameless ? "" : name.trim(), file, FOREIGN_PYTHON.test(file));
}

/** Go: a function on one line, its file on the next. The failed goroutine is printed first. */
export const GO: TraceReader = {
  language: "Go",
  hint: /^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[/m,
  read: (lines) => {
    const start = lines.findIndex((line) => /^goroutine \d+ .{0,80}\[[^\]]{1,80}\]:$/.test(line));
    if (start < 0) return undefined;
    const frames: Frame[] = [];
    let index = start + 1;
    for (; index + 1 < lines.length; index += 2) {
      const file = GO_FILE.exec(lines[index + 1] ?? "")?.[1];
      if (file === undefined) break;
      frames.push(goFrame(lines[index] ?? "", file));
    }
    // A panic during a panic is printed below the first one, which is the root cause.
    return { headline: headlineBefore(lines, start, GO_HEADLINE, "first"), frames, endsAt: index };
  },
};

const GO_FILE = /^\s+(\S{1,400}\.(?:go|s)):\d+(?: \+0x[\da-f]+)?/;
const GO_HEADLINE = /^(?:panic: |fatal error: |runtime: |http: panic serving )/;
const FOREIGN_GO_FILE =
  /\/(?:go|golang|libexec|\.?goroot)(?:[\d.-]+)?\/src\/|\/pkg\/mod\/|\/vendor\/|^\/usr\/(?:local\/)?(?:lib\/)?go/;
const FOREIGN_GO =
  /^(?:runtime|reflect|testing|net\/http|sync|syscall|os|internal\/\w+)\.|^panic$|^created by /;

function goFrame(line: string, file: string): Frame {
  const call = line.replace(/\((?:[^()]|\([^()]*\)){0,300}\)$/, "").replace(/ in goroutine \d+$/, "");
  const name = (call.split("/").at(-1) ?? call).replace(/(?:\.func\d+)+(?:\.\d+)*$/, "");
  return frameOf(name, file, FOREIGN_GO_FILE.test(file) || FOREIGN_GO.test(call));
}
