/** `redrive serve`: serves the HTTP API, the console, metrics and health checks of a store. */
import { once } from "node:events";
import { availableParallelism, hostname } from "node:os";
import { RedriveError } from "../../errors.ts";
import type { TraceRequest } from "../../server/context.ts";
import { command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { count, flag, list, path, withDefault, word } from "../options.ts";
import { untilInterrupted } from "../signals.ts";

const options = {
  host: withDefault(word("--host <address>", "the address to listen on"), "127.0.0.1"),
  port: withDefault(count("--port <n>", "the port; 0 selects a free one", 0), 4747),
  tlsCert: path("--tls-cert <file>", "the certificate, for HTTPS"),
  tlsKey: path("--tls-key <file>", "the private key of the certificate"),
  isBehindProxy: flag("--behind-proxy", "TLS is terminated by a proxy in front of the server"),
  allowHosts: list("--allow-host <names>", "host names that browsers may use for the server"),
  basePath: word("--base-path <path>", "the path prefix of requests, e.g. /redrive"),
  allowsRuns: flag(
    "--allow-runs",
    "when letters of maps and workflows are retried, run their commands on this machine",
  ),
  allowsAgentChanges: flag(
    "--allow-agent-changes",
    "let agents on /mcp change letters if the role of their token allows it",
  ),
  rateLimit: count("--rate-limit <n>", "requests per second of each token (default: 500)", 1),
  works: flag("--work", "also process the queues listed under `work` in redrive.yml"),
  publicPath: word("--public-path <path>", "the path prefix that browsers see, if a proxy changes it"),
};

type ServeFlags = Given<typeof options>;

const serve = command({
  summary: "Serve the console, the API, metrics and health checks over HTTP.",
  description:
    "On loopback it prints a one-time login link. On other addresses it requires tokens (redrive token create) and TLS.",
  examples: [
    "redrive serve",
    "redrive serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host redrive.example",
  ],
  options,
  run: async (context, flags) => {
    const tls = tlsOf(flags);
    const { createServer, isLoopbackName, listen, listTokens, pinoLog, rateOf } = await import(
      "../../server/serve.ts"
    );
    const isLocal = isLoopbackName(flags.host);
    if (!isLocal) requireProtection(flags, tls !== undefined);
    return context.withStore(
      async (engine) => {
        const hasProvider = (await context.config()).login !== undefined;
        if (!isLocal && !hasProvider && (await listTokens(engine)).length === 0) throw noTokens();
        const app = createServer({
          engine,
          home: context.home,
          version: context.terminal.version,
          hosts: isLocal && !flags.isBehindProxy ? "loopback" : hostsOf(flags),
          isSecure: tls !== undefined || flags.isBehindProxy,
          allowsRuns: flags.allowsRuns,
          allowsAgentChanges: flags.allowsAgentChanges,
          ...(flags.rateLimit !== undefined && { limits: { requests: rateOf(flags.rateLimit) } }),
          config: () => context.config(),
          log: pinoLog(context.terminal.stderr),
          ...(await traceFor(context)),
          ...pathsOf(flags),
        });
        return untilInterrupted(async ({ signal }) => {
          const { host, port, isBehindProxy } = flags;
          const server = await listen(app, { host, port, isBehindProxy, ...(tls && { tls }) });
          const origin = isBehindProxy ? proxyOrigin(flags) : server.url;
          const login = isLocal && origin !== null ? origin + app.createLoginPath(context.author) : null;
          report(context, server.url, login);
          try {
            await app.resume();
            const work = flags.works
              ? await (await import("../serve-work.ts")).startWork(context, engine)
              : null;
            if (!signal.aborted) await Promise.race([once(signal, "abort"), ...(work ? [work.ended] : [])]);
            await work?.drain();
          } finally {
            await server.close();
          }
          return EXIT.done;
        });
      },
      { creates: true, isAuthor: false, connectionsMax: connectionsFor(availableParallelism()) },
    );
  },
});

/**
 * A request that waits in the server costs less than one that competes for the cores with all others: with 32 clients on two cores
 * and six connections, the slowest hundredth of requests took 22 ms, with ten 25 ms.
 */
function connectionsFor(cores: number): number {
  return Math.min(10, 2 + 2 * cores);
}

export const commands = { serve };

/**
 * Spans are created if OpenTelemetry is configured by its own environment variables. The SDK is loaded with
 * NODE_OPTIONS=--import.
 */
async function traceFor(context: Context): Promise<{ trace?: TraceRequest }> {
  if (!Object.keys(context.terminal.env).some((name) => name.startsWith("OTEL_"))) return {};
  try {
    return { trace: (await import("../../server/trace.ts")).traceRequests() };
  } catch {
    context.note("OTEL_… is set, but @opentelemetry/api is not installed, so requests are not traced.");
    return {};
  }
}

/** The link goes through the proxy, because the session cookie is valid for the path that browsers see there. */
function proxyOrigin({ allowHosts: [host] = [] }: ServeFlags): string | null {
  return host === undefined ? null : `https://${host}`;
}

function report(context: Context, url: string, login: string | null): void {
  context.answer({ url, login_url: login }, () =>
    login === null ? `Listening on ${url}\n` : `Listening on ${url}\nLog in once with this link: ${login}\n`,
  );
}

function tlsOf({ tlsCert: cert, tlsKey: key }: ServeFlags): { cert: string; key: string } | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  throw new RedriveError("usage", "--tls-cert and --tls-key must be used together.");
}

/** On addresses other than loopback, tokens would be sent unencrypted unless TLS is used. */
function requireProtection({ host, isBehindProxy }: ServeFlags, hasTls: boolean): void {
  if (hasTls || isBehindProxy) return;
  throw new RedriveError("usage", `${host} is reachable from other machines, so the server needs TLS.`, {
    hint: "Give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of the server terminates TLS.",
  });
}

function noTokens(): RedriveError {
  return new RedriveError("usage", "There are no tokens, so nobody could log in.", {
    hint: "To create one: redrive token create --role admin --name me",
  });
}

function hostsOf({ host, allowHosts = [] }: ServeFlags): readonly string[] {
  return [hostname(), host, ...allowHosts].map((name) => name.toLowerCase());
}

function pathsOf({ basePath, publicPath }: ServeFlags): { basePath?: string; publicPath?: string } {
  return {
    ...(basePath !== undefined && { basePath: pathFrom("--base-path", basePath) }),
    ...(publicPath !== undefined && { publicPath: pathFrom("--public-path", publicPath) }),
  };
}

function pathFrom(option: string, given: string): string {
  const trimmed = given.replace(/\/+$/, "");
  if (trimmed === "" || /^(\/[\w.~-]+)+$/.test(trimmed)) return trimmed;
  throw new RedriveError("usage", `${option}: "${given}" is not a path such as /redrive.`);
}
