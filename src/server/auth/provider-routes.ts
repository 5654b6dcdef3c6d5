/** The two routes of a login through a provider: the redirect to the provider, and the callback. */
import type { LoginSettings } from "../../config/settings.ts";
import { authorText } from "../../item/author.ts";
import type { ServerContext } from "../context.ts";
import { escaped } from "../docs-page.ts";
import { CALLBACK_PATH, LoginRefused, PROVIDER_PATH, Provider } from "./provider.ts";

const COOKIE = "redrive_login";

export interface ProviderPages {
  /** Answers a `GET` of either path; null if no provider is configured. */
  answer(path: string, request: Request): Promise<Response | null>;
}

export const PROVIDER_PATHS = [PROVIDER_PATH, CALLBACK_PATH] as const;

/** Cached, because each provider caches its discovery document. */
const providers = new WeakMap<LoginSettings, Provider>();

/** Returns the configured provider, or null if there is none. */
export async function providerOf({ config, clock }: ServerContext): Promise<Provider | null> {
  const { login } = await config();
  if (login === undefined) return null;
  const provider = providers.get(login) ?? new Provider(login, clock);
  providers.set(login, provider);
  return provider;
}

export function providerPages(context: ServerContext, publicPath: string, isSecure: boolean): ProviderPages {
  const cookie = (value: string, seconds: number) =>
    // Lax, because the browser comes back from the provider's site.
    `${COOKIE}=${value}; Path=${publicPath}/login; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isSecure ? "; Secure" : ""}`;
  const begin = async (provider: Provider) => {
    const { location, attempt, seconds } = await provider.begin();
    return new Response(null, { status: 303, headers: { location, "set-cookie": cookie(attempt, seconds) } });
  };
  const finish = async (provider: Provider, request: Request) => {
    const headers = new Headers({ location: `${publicPath}/` });
    headers.append("set-cookie", cookie("", 0));
    try {
      const identity = await provider.finish(new URL(request.url).search, cookieOf(request));
      const { name } = identity;
      const lifetimeMs = provider.sessionMs;
      const session = { ...identity, createdBy: authorText(name, "console"), lifetimeMs };
      headers.append("set-cookie", await context.login.openSession(session));
      return new Response(null, { status: 303, headers });
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error;
      headers.delete("location");
      headers.set("content-type", "text/html; charset=utf-8");
      return new Response(refusalPage(error.message, publicPath), { status: 403, headers });
    }
  };
  return {
    answer: async (path, request) => {
      const provider = await providerOf(context);
      if (provider === null) return null;
      return path === PROVIDER_PATH ? begin(provider) : finish(provider, request);
    },
  };
}

function cookieOf({ headers }: Request): string | null {
  for (const part of (headers.get("cookie") ?? "").split(";")) {
    const [name, value] = part.trim().split("=", 2);
    if (name === COOKIE && value) return value;
  }
  return null;
}

function refusalPage(why: string, publicPath: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Login refused</title></head>
<body>
<h1>Login refused</h1>
<p>${escaped(why)}</p>
<p><a href="${escaped(publicPath + PROVIDER_PATH)}">Log in again</a></p>
</body>
</html>
`;
}
