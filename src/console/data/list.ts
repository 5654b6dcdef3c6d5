/**
 * Reads lists, whole or page by page, and returns both in the same form, so that one component can show them.
 */
import { type QueryKey, type UseQueryResult, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";

export interface List<Row> {
  readonly rows: readonly Row[];
  readonly isPending: boolean;
  readonly error: unknown;
  /** Whether the server has more rows. */
  readonly hasMore: boolean;
  /** Whether rows have changed since a long list was read. Such a list is reloaded only on request. */
  readonly isOutdated: boolean;
  readMore(): void;
  reload(): void;
}

/** The part of a query that selects a page. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

const FIRST_PAGE = 100;
/** A user who scrolls past the first page usually wants many rows. */
const LATER_PAGE = 500;

export function usePages<Page extends { readonly next: string | null }, Row>(
  key: QueryKey,
  read: (page: PageQuery, signal: AbortSignal) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
): List<Row> & { readonly first: Page | undefined } {
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      read(pageParam === "" ? { limit: FIRST_PAGE } : { limit: LATER_PAGE, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const pages = query.data?.pages;
  const isEmptySoFar = query.hasNextPage && pages?.every((page) => rowsOf(page).length === 0) === true;
  const { isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    // A page may be empty although more follow, because the server searches only part of the data per
    // request.
    if (isEmptySoFar && !isFetchingNextPage) void fetchNextPage();
  }, [isEmptySoFar, isFetchingNextPage, fetchNextPage]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `rowsOf` is a constant of the page
  const rows = useMemo(() => pages?.flatMap(rowsOf) ?? [], [pages]);
  const isOutdated = useSyncExternalStore(
    (notify) => client.getQueryCache().subscribe(notify),
    () => client.getQueryState(key)?.isInvalidated === true && !query.isFetching,
  );
  return {
    rows,
    first: pages?.[0],
    isPending: query.isPending || isEmptySoFar,
    error: query.error,
    hasMore: query.hasNextPage,
    isOutdated,
    readMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
    reload: () => void client.resetQueries({ queryKey: key, exact: true }),
  };
}

/** The list that a route returned as a whole. */
export function wholeList<Page, Row>(
  { data, isPending, error, refetch }: UseQueryResult<Page>,
  rowsOf: (page: Page) => readonly Row[],
): List<Row> {
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
