import {
  keepPreviousData,
  type UseQueryResult,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from "@tanstack/react-query";
import { useMemo } from "react";
import { get, type Query } from "./client";
import type { Search } from "./route";
import type {
  FactRow,
  GraphPage,
  GraphSummary,
  Hit,
  Level,
  Page,
  PendingRow,
  SessionRow,
  Turn,
} from "./types";

/** What the views ask the server. The first word of a key says which events make the answer old. */

const base = (name: string): string => `/api/sessions/${encodeURIComponent(name)}`;

/** An answer about one session as of `head`; the past does not change, so only live answers grow old. */
export function useOf<T>(
  name: string,
  part: string,
  query: Query = {},
  options: { readonly enabled?: boolean } = {},
): UseQueryResult<T> {
  return useQuery({
    queryKey: ["name", name, part, query],
    queryFn: ({ signal }) => get<T>(`${base(name)}${part}`, query, signal),
    placeholderData: keepPreviousData,
    enabled: (options.enabled ?? true) && name !== "",
  });
}

export function useSession(name: string): UseQueryResult<SessionRow> {
  return useOf<SessionRow>(name, "");
}

export type Who = {
  readonly principal: string;
  readonly grants: readonly { readonly roles: readonly string[]; readonly under: string }[];
  /** The programs that the caller can run. */
  readonly modules: readonly string[];
};

export function useWho(): UseQueryResult<Who> {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => get<Who>("/api/me", {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function usePending(): UseQueryResult<Page<PendingRow>> {
  return useQuery({
    queryKey: ["pending"],
    queryFn: ({ signal }) => get<Page<PendingRow>>("/api/pending", { limit: 200 }, signal),
    refetchInterval: ({ state }) => state.data?.indexing === true && INDEXING_MS,
  });
}

const INDEXING_MS = 1_000;

function isIndexing(pages: readonly Page<unknown>[] | undefined): boolean {
  return pages?.some(({ indexing }) => indexing) ?? false;
}

/** All rows of a cursor so far, and the way to more. */
export function useList<T>(
  key: readonly unknown[],
  path: string,
  query: Query,
): {
  readonly items: readonly T[];
  readonly error: unknown;
  readonly isLoading: boolean;
  /** The server has not read all of its store yet: more may come. */
  readonly isIndexing: boolean;
  readonly hasMore: boolean;
  /** A list that began at a fact has a part before it. */
  readonly hasEarlier: boolean;
  readonly isBusy: boolean;
  readonly more: () => void;
  readonly earlier: () => void;
  readonly again: () => void;
} {
  const result = useInfiniteQuery({
    queryKey: [...key, path, query],
    queryFn: async ({ pageParam: { after, isEarlier }, signal }) => {
      const page = await get<Page<T>>(path, { ...query, after }, signal);
      if (!isEarlier) return page;
      // A page towards the beginning comes in its own order.
      return { ...page, items: page.items.toReversed(), next: page.previous ?? null, previous: page.next };
    },
    initialPageParam: { after: undefined as string | undefined, isEarlier: false },
    getNextPageParam: ({ next }: Page<T>) => (next === null ? undefined : { after: next, isEarlier: false }),
    getPreviousPageParam: ({ previous }: Page<T>) =>
      previous === null || previous === undefined ? undefined : { after: previous, isEarlier: true },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => isIndexing(state.data?.pages) && INDEXING_MS,
  });
  const items = useMemo(() => result.data?.pages.flatMap((page) => page.items) ?? [], [result.data]);
  return {
    items,
    error: result.error,
    isLoading: result.isPending,
    isIndexing: isIndexing(result.data?.pages),
    hasMore: result.hasNextPage,
    hasEarlier: result.hasPreviousPage,
    isBusy: result.isFetching,
    more: () => void (result.hasNextPage && !result.isFetchingNextPage && result.fetchNextPage()),
    earlier: () =>
      void (result.hasPreviousPage && !result.isFetchingPreviousPage && result.fetchPreviousPage()),
    again: () => void result.refetch(),
  };
}

export function useSummary(name: string, head?: string): UseQueryResult<GraphSummary> {
  return useOf<GraphSummary>(name, "/graph/summary", { head });
}

/** The pages of the graph that are in view. A sealed page never changes and is kept. */
export function useGraphPages(
  name: string,
  level: Level,
  pages: readonly number[],
  head?: string,
): readonly GraphPage[] {
  const results = useQueries({
    queries: pages.map((page) => ({
      queryKey: ["name", name, "/graph", level, page, head],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<GraphPage>(`${base(name)}/graph`, { level, page, head }, signal),
      staleTime: (query: { state: { data?: GraphPage | undefined } }) =>
        query.state.data?.sealed === true ? Number.POSITIVE_INFINITY : 0,
      placeholderData: keepPreviousData,
    })),
  });
  return results.flatMap(({ data }) => (data === undefined ? [] : [data]));
}

/** The page on which a fact stands, and its row: for a link to a fact that is not in view. */
export function usePlace(
  name: string,
  level: Level,
  of: string | undefined,
  head?: string,
): UseQueryResult<number> {
  return useQuery({
    queryKey: ["name", name, "/graph/place", level, of, head],
    enabled: of !== undefined,
    queryFn: async ({ signal }) => {
      const page = await get<GraphPage>(`${base(name)}/graph`, { level, of, head }, signal);
      const exact = page.rows.findIndex((row) => row.id === of || row.last === of);
      return page.first + Math.max(0, exact);
    },
  });
}

export type Fact = {
  readonly id: string;
  readonly name: string | null;
  readonly parents: readonly string[];
  readonly children: readonly string[];
  readonly row: FactRow;
  readonly fact: { readonly type: string; readonly [field: string]: unknown };
};

/** One fact never changes, only its content can be erased, of which an event tells. */
export function useFact(id: string | undefined): UseQueryResult<Fact> {
  return useQuery({
    queryKey: ["fact", id],
    queryFn: ({ signal }) => get<Fact>(`/api/facts/${id}`, {}, signal),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
}

/** The conversation from its beginning, or from the turn of a fact on. */
export function useTurns(name: string, head?: string, of?: string) {
  return useList<Turn>(["name", name], `${base(name)}/turns`, { head, of, limit: 100 });
}

type Choice = {
  readonly id: string;
  readonly word: string;
  readonly note: string;
  readonly path: string;
  readonly search: Search;
};

/** What the palette finds: an id, sessions, and facts that hold the words. */
export function useFind(text: string): UseQueryResult<readonly Choice[]> {
  return useQuery({
    queryKey: ["sessions", "find", text],
    enabled: text.length > 1,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<readonly Choice[]> => {
      const [sessions, facts] = await Promise.allSettled([
        get<Page<SessionRow>>("/api/sessions", { q: text, limit: 6 }, signal),
        get<Page<Hit>>("/api/search", { q: text, limit: 12 }, signal),
      ]);
      const hits: Choice[] = [];
      if (/^[0-9a-f]{8,64}$/.test(text))
        hits.push({ id: text, word: `Fact ${text}`, note: "id", path: `/f/${text}`, search: {} });
      if (sessions.status === "fulfilled")
        for (const { name, title } of sessions.value.items)
          hits.push({
            id: `s ${name}`,
            word: `${name}: ${title}`,
            note: "session",
            path: `/s/${encodeURIComponent(name)}/graph`,
            search: {},
          });
      if (facts.status === "fulfilled")
        for (const { id, label, name } of facts.value.items)
          hits.push({ id, word: label, note: name, path: `/f/${id}`, search: {} });
      return hits;
    },
  });
}
