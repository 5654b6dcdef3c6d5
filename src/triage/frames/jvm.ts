/** Java, Kotlin and Scala: `at com.shop.Cart.pay(Cart.java:7)`. The last `Caused by:` is the root cause. */
import { type Frame, headlineAbove, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const JVM: TraceReader = {
  language: "Java",
  hint: /^[ \t]*at [\w.$/<>-]+\((?:[\w$-]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)/m,
  read,
};

const FRAME =
  /^\s*at (?:[\w.@-]{0,80}\/{1,2}){0,2}([\w.$<>-]{1,300})\((?:([\w$-]{1,100}\.\w{1,10})(?::\d+)?|Native Method|Unknown Source)\)/;
const MORE = /^\s*\.\.\. \d+ (?:more|common frames omitted)/;

function read(lines: readonly string[]): Trace | undefined {
  const block = lastBlock(lines, parse, (line) => MORE.test(line));
  if (!block) return undefined;
  const headline = headlineAbove(lines, block.start)
    .replace(/^Caused by: /, "")
    .replace(/^Exception in thread "[^"]{0,200}" /, "");
  return { language: "Java", headline, frames: block.frames, endsAt: block.end };
}

/** Classes of the runtime, of standard libraries, of frameworks that call an application, and of test runners. */
const FOREIGN =
  /^(?:javax?|jdk|sun|com\.sun|kotlinx?|scala|groovy|clojure|org\.(?:springframework|junit|testng|mockito|gradle|hibernate|jboss|eclipse|codehaus|apache\.(?:maven|tomcat|catalina|coyote|commons|logging))|io\.(?:netty|reactivex|micrometer)|reactor|com\.(?:google\.common|fasterxml|zaxxer)|akka)\./;

function parse(line: string): Frame | undefined {
  const found = FRAME.exec(line);
  if (!found) return undefined;
  const [, call = "", file] = found;
  const name = shortName(call);
  return { function: name, ...(file !== undefined && { file }), inApp: !FOREIGN.test(call) };
}

/** Class and method, without the package and names that the compiler generates: `lambda$pay$3`, `$$Lambda$14/0x1f`. */
function shortName(call: string): string {
  const parts = call.split(".");
  const [type = "", method = ""] = parts.slice(-2);
  const plain = method.replace(/^lambda\$(\w+)\$\d+$/, "$1").replace(/\$\d+$/, "");
  return `${type.replace(/\$\$.*$|\$\d+$/, "")}.${plain}`;
}
