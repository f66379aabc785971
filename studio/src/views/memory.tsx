import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { get, offline, post } from "../client";
import { useList } from "../data";
import { useTitle } from "../frame";
import { useAddress } from "../route";
import type { FactRow, Influence, MemoryRow, MemorySpace, MemoryWhy } from "../types";
import { Ago, Button, count, Empty, Id, Loaded, plainly, Trouble, Words } from "../ui";

/** What is known, why, and what it influenced. */
export function Memory(): ReactNode {
  useTitle("Memory");
  const { search, set } = useAddress();
  const spaces = useList<MemorySpace>(["sessions"], "/api/memory", { limit: 200 });
  const space = search.path ?? spaces.items[0]?.space;
  if (spaces.error) return <Trouble error={spaces.error} again={spaces.again} />;
  if (!spaces.isLoading && spaces.items.length === 0)
    return (
      <Empty title="No memories yet">Memories that agents write appear here, each with its reasons.</Empty>
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col mid:flex-row">
      <nav
        aria-label="Memory spaces"
        className="shrink-0 overflow-auto border-b border-rule py-2 mid:w-[208px] mid:border-b-0 mid:border-r"
      >
        <h1 className="sr-only">Memory</h1>
        {spaces.items.map((one) => (
          <button
            key={one.space}
            type="button"
            aria-current={one.space === space ? "true" : undefined}
            className={`flex min-h-9 w-full items-center justify-between gap-2 px-4 text-left ${one.space === space ? "bg-chosen" : "hover:bg-sunk"}`}
            onClick={() => set({ path: one.space, at: undefined })}
          >
            <Words className="truncate">{one.space}</Words>
            <span className="meta">{one.memories}</span>
          </button>
        ))}
      </nav>
      {space !== undefined && <Memories key={space} space={space} />}
    </div>
  );
}

function Memories({ space }: { readonly space: string }): ReactNode {
  const { search, set } = useAddress();
  const list = useList<MemoryRow>(["sessions", "memory"], `/api/memory/${encodeURIComponent(space)}`, {
    q: search.q,
    limit: 200,
  });
  const chosen = list.items.find(({ id }) => id === search.at);
  return (
    <>
      <section aria-label="Memories" className="min-w-0 flex-1 overflow-y-auto">
        <div className="border-b border-rule p-2">
          <input
            data-find
            type="search"
            aria-label="Find memories"
            placeholder="Find memories  /"
            className="field"
            defaultValue={search.q ?? ""}
            onChange={(event) => set({ q: event.target.value || undefined }, true)}
          />
        </div>
        {list.error ? <Trouble error={list.error} again={list.again} /> : null}
        {!list.isLoading && list.items.length === 0 && <Empty title="No memory contains these words" />}
        <ul>
          {list.items.map((memory) => (
            <li key={memory.id}>
              <button
                type="button"
                className={`block w-full border-b border-rule px-4 py-3 text-left ${memory.id === search.at ? "bg-chosen" : "hover:bg-sunk"}`}
                onClick={() => set({ at: memory.id })}
              >
                <span
                  className={`font-serif text-read ${memory.state === "live" ? "" : "text-soft line-through"}`}
                >
                  <Words>{memory.text}</Words>
                </span>
                <span className="meta mt-1 block">
                  {memory.state}, {memory.trust}, read {count(memory.told, "time")},{" "}
                  {count(memory.why.length, "reason")}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {list.hasMore && (
          <p className="p-4">
            <Button onClick={list.more}>More</Button>
          </p>
        )}
      </section>
      {chosen === undefined && (
        <aside className="hidden w-[420px] shrink-0 border-l border-rule bg-raised wide:block">
          <Empty title="Why is this known?">
            Select a memory to see why it was written and what it influenced, and to revoke it.
          </Empty>
        </aside>
      )}
      {chosen !== undefined && <Why space={space} memory={chosen} close={() => set({ at: undefined })} />}
    </>
  );
}

const FEW = 5;

/** Facts as links: the first few, and the others when they are asked for. */
function Facts({ rows }: { readonly rows: readonly FactRow[] }): ReactNode {
  const { go } = useAddress();
  const [most, setMost] = useState(FEW);
  return (
    <>
      <ul>
        {rows.slice(0, most).map((row) => (
          <li key={row.id} className="border-b border-rule py-1 text-row">
            <button type="button" className="text-left hover:underline" onClick={() => go(`/f/${row.id}`)}>
              <Words className="meta mr-2">{row.by}</Words>
              <Words>{plainly(row.label)}</Words>
            </button>
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <Button quiet onClick={() => setMost(most + 100)}>
          {rows.length - most} more
        </Button>
      )}
    </>
  );
}

/** The reasons of a memory, everything that read it, and taking it out. */
function Why({
  space,
  memory,
  close,
}: {
  readonly space: string;
  readonly memory: MemoryRow;
  readonly close: () => void;
}): ReactNode {
  const { go } = useAddress();
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const query = useQuery({
    queryKey: ["sessions", "influence", space, memory.id],
    queryFn: ({ signal }) =>
      get<Influence>(`/api/memory/${encodeURIComponent(space)}/${memory.id}/influence`, {}, signal),
  });
  const why = useQuery({
    queryKey: ["sessions", "why", space, memory.id],
    queryFn: ({ signal }) =>
      get<MemoryWhy>(`/api/memory/${encodeURIComponent(space)}/${memory.id}/why`, {}, signal),
  });
  const revoke = useMutation({
    mutationFn: () => post(`/api/memory/${encodeURIComponent(space)}/${memory.id}/revoke`, { why: reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
  return (
    <aside
      aria-label="Why"
      className="fixed inset-0 z-20 overflow-y-auto bg-raised p-4 mid:left-auto mid:w-[60%] mid:border-l mid:border-rule wide:static wide:w-[420px]"
    >
      <p className="flex justify-end">
        <Button quiet onClick={close}>
          Close
        </Button>
      </p>
      <h2>
        <Words>{memory.text}</Words>
      </h2>
      <p className="meta mt-1">
        {memory.state}, {memory.trust}, by <Words>{memory.by}</Words>, <Ago at={memory.at} />
        {memory.reason !== undefined && <>: {memory.reason}</>}
      </p>
      <h3 className="mt-4">Written because of</h3>
      <Loaded query={why} rows={3}>
        {({ leaves }) => (
          <ul>
            {leaves.map((leaf) => (
              <li key={leaf.id} className="border-b border-rule py-2">
                <button
                  type="button"
                  className="text-left hover:underline"
                  onClick={() => go(`/f/${leaf.id}`)}
                >
                  <Words>{leaf.text}</Words>
                </button>
                <span className="meta block">
                  {leaf.by ?? leaf.type} <Id id={leaf.id} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <Loaded query={query} rows={3}>
        {({ prompts, decisions, memories }) => (
          <>
            <h3 className="mt-4">Read by {count(prompts.length, "prompt")}</h3>
            <Facts rows={prompts} />
            <h3 className="mt-4">Part of {count(decisions.length, "decision")}</h3>
            <Facts rows={decisions} />
            <h3 className="mt-4">Became part of {count(memories.length, "memory", "memories")}</h3>
            <ul>
              {memories.map(({ id, text }) => (
                <li key={id} className="py-1">
                  <Words>{text ?? id}</Words>
                </li>
              ))}
            </ul>
            {memory.state === "live" && offline === undefined && (
              <div className="card mt-6 p-3">
                <h3>Revoke this memory</h3>
                <p className="meta">
                  The memory will not be recalled again. {count(prompts.length, "prompt")},{" "}
                  {count(decisions.length, "decision")} and {count(memories.length, "memory", "memories")}{" "}
                  used it; they stay on the record.
                </p>
                <input
                  className="field mt-2"
                  aria-label="Reason"
                  placeholder="Why"
                  value={reason}
                  onChange={(event) => setReason(event.target.value)}
                />
                <p className="mt-2">
                  <Button main disabled={reason === "" || revoke.isPending} onClick={() => revoke.mutate()}>
                    Revoke
                  </Button>
                </p>
                {revoke.error !== null && <Trouble error={revoke.error} />}
              </div>
            )}
          </>
        )}
      </Loaded>
    </aside>
  );
}
