/** The logged-in user and the permissions of their role. Buttons that the role may not use are hidden. */

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type FormEvent, type ReactNode, useContext, useState } from "react";
import { call, isApiError } from "../data/api.ts";
import { useRoute } from "../data/use-route.ts";
import { Button } from "../ui/button.tsx";
import { ErrorPanel, Skeleton } from "../ui/panel.tsx";

type Role = "viewer" | "operator" | "admin";
interface Session {
  readonly name: string;
  readonly role: Role;
  readonly kind: "token" | "session" | "open";
}

const ROLES: readonly Role[] = ["viewer", "operator", "admin"];
const SessionContext = createContext<Session>({ name: "", role: "viewer", kind: "open" });

export function useSession(): Session {
  return useContext(SessionContext);
}

/** Whether the user's role includes this one. The server checks it again. */
export function useMay(role: Role): boolean {
  return ROLES.indexOf(useSession().role) >= ROLES.indexOf(role);
}

export function May({ atLeast, children }: { readonly atLeast: Role; readonly children: ReactNode }) {
  return useMay(atLeast) ? children : null;
}

/** Shows the login form until the user is authenticated. */
export function RequireSession({ children }: { readonly children: ReactNode }) {
  const session = useRoute("session", "GET /session", {}, { retry: false });
  if (session.data) return <SessionContext value={session.data}>{children}</SessionContext>;
  if (isApiError(session.error) && session.error.status === 401) return <Login />;
  if (session.error) return <ErrorPanel error={session.error} retry={() => void session.refetch()} />;
  return <Skeleton />;
}

/** Ends the session. Then shows the login form, or the logout page of the login provider. */
export async function logOut(): Promise<void> {
  const { provider_logout: url } = await call("DELETE /session", {});
  if (url === null) window.location.reload();
  else window.location.assign(url);
}

function Login() {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>();
  const logins = useRoute("logins", "GET /logins", {}, { retry: false });
  const provider = logins.data?.provider;
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await call("POST /session", { body: { token: token.trim() } });
      await client.invalidateQueries();
    } catch (caught) {
      setError(caught);
    }
  };
  return (
    <main className="mx-auto mt-[15vh] max-w-md px-4">
      <form className="rounded-lg border border-line bg-panel p-6" onSubmit={(event) => void onSubmit(event)}>
        <h1 className="text-xl font-semibold">Log in to Redrive</h1>
        <p className="mt-2 text-muted">
          Open the link that <code className="font-mono">redrive serve</code> printed, or enter a token. An
          administrator creates one with{" "}
          <code className="font-mono">redrive token create --role operator</code>.
        </p>
        {provider && (
          <a className="mt-4 block font-medium text-accent underline" href={provider.path}>
            Log in with {provider.host}
          </a>
        )}
        <label className="mt-4 block font-medium" htmlFor="token">
          Token
        </label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
          className="mt-1 w-full rounded-md border border-line-strong bg-panel px-2 py-1.5 font-mono"
        />
        {error !== undefined && <ErrorPanel error={error} />}
        <div className="mt-4">
          <Button type="submit" tone="primary">
            Log in
          </Button>
        </div>
      </form>
    </main>
  );
}
