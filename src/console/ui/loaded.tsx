/** Shows the result of a query, a skeleton while it loads, or the error with a retry button. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isApiError } from "../data/api.ts";
import { Empty, ErrorPanel, Skeleton } from "./panel.tsx";

interface LoadedProps<Data> {
  readonly query: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  readonly rows?: number;
  children(data: Data): ReactNode;
}

export function Loaded<Data>({ query, rows = 6, children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (isApiError(query.error) && query.error.status === 404)
    return <Empty title={query.error.message}>It was deleted, or the address is wrong.</Empty>;
  if (query.error) return <ErrorPanel error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton rows={rows} />;
}
