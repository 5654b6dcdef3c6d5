/** Reads lists, whole or page by page. Both have one shape, so that one component shows them. */
import { type QueryKey, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";

export interface List<Row> {
  readonly rows: readonly Row[];
  readonly isPending: boolean;
  readonly error: unknown;
  /** Whether the server has rows that were not read yet. */
  readonly hasMore: boolean;
  /** Whether rows have changed since a long list was read. Such a list is read again only on demand. */
  readonly isOutdated: boolean;
  readMore(): void;
  reload(): void;
}

/** The part of a query that selects a page. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

const PAGE = 100;

export function usePages<Page extends { readonly next: string | null }, Row>(
  key: QueryKey,
  read: (page: PageQuery, signal: AbortSignal) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
): List<Row> & { readonly first: Page | undefined } {
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      read({ limit: PAGE, ...(pageParam !== "" && { cursor: pageParam }) }, signal),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const pages = query.data?.pages;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `rowsOf` is a constant of the page
  const rows = useMemo(() => pages?.flatMap(rowsOf) ?? [], [pages]);
  const isOutdated = useSyncExternalStore(
    (notify) => client.getQueryCache().subscribe(notify),
    () => client.getQueryState(key)?.isInvalidated === true && !query.isFetching,
  );
  return {
    rows,
    first: pages?.[0],
    isPending: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isOutdated,
    readMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
    reload: () => void client.resetQueries({ queryKey: key, exact: true }),
  };
}

/** Reads a list that the server returns as a whole. */
export function useWhole<Page, Row>(
  key: QueryKey,
  read: (signal: AbortSignal) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
): List<Row> {
  const { data, isPending, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
  });
  return {
    rows: data === undefined ? [] : rowsOf(data),
    isPending,
    error,
    hasMore: false,
    isOutdated: false,
    readMore: () => {},
    reload: () => void refetch(),
  };
}
