/** Starts the console. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { isApiError } from "./data/api.ts";
import { followEvents } from "./data/live.ts";
import { createConsoleRouter } from "./router.tsx";
import { RequireSession } from "./shell/session.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./styles.css";

const RETRIES = 3;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      refetchOnWindowFocus: false,
      // An error response is final; a server that does not answer may come back.
      retry: (count, error) =>
        count < RETRIES && !(isApiError(error) && error.status >= 400 && error.status < 500),
    },
  },
});
const router = createConsoleRouter();

function App() {
  return (
    <QueryClientProvider client={client}>
      <RequireSession>
        <Live />
        <RouterProvider router={router} />
      </RequireSession>
    </QueryClientProvider>
  );
}

function Live() {
  useEffect(() => followEvents(client), []);
  return null;
}

applyTheme();
const root = document.querySelector("#app");
if (root === null) throw new Error("The page has no element #app.");
createRoot(root).render(<App />);
