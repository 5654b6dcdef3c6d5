/**
 * Reads and changes the filters and the sort order of a list, which are stored in the URL. A change replaces
 * the history entry, so that "back" leaves the list.
 */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { compact, type ListSearch } from "./search.ts";

export type ListChange = { readonly [Key in keyof ListSearch]: ListSearch[Key] | undefined };

export function useListSearch(): readonly [ListSearch, (next: ListChange) => void] {
  const search = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const change = (next: ListChange) => {
    const change = (old: ListSearch) => compact({ ...old, ...next });
    // The router cannot infer which page calls this hook.
    void navigate({ to: ".", search: change, replace: true } as never);
  };
  return [search, change];
}
