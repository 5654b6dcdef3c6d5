/** Reads letters page by page, and their number apart from the list, because counting may take longer. */
import { useQuery } from "@tanstack/react-query";
import { call } from "./api.ts";
import { usePages } from "./list.ts";
import { LETTER_ORDERS, type ListSearch, letterQuery, oneOf } from "./search.ts";

export function useLetters(search: ListSearch) {
  const sort = oneOf(LETTER_ORDERS, search.sort);
  const query = { ...letterQuery(search), ...(sort && { sort }) };
  return usePages(
    ["letters", query],
    (page, signal) => call("GET /letters", { query: { ...query, ...page } }, { signal }),
    ({ items }) => items,
  );
}

export function useLetterCount(search: ListSearch) {
  const query = letterQuery(search);
  return useQuery({
    queryKey: ["letters", "count", query],
    queryFn: ({ signal }) => call("GET /letters/count", { query }, { signal }),
  });
}
