import { useQueries } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { get, offline } from "../client";
import { useList, useOf } from "../data";
import { Tabs, useTitle } from "../frame";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import type { BlameLine, FactRow, FileDiff, FileRow, Page } from "../types";
import { Button, Empty, Id, Loaded, Skeleton, size, Trouble, visible, Words } from "../ui";
import { Bytes } from "./bytes";
import { Details } from "./details";
import { Merge } from "./merge";

const MARKS: { readonly [change: string]: readonly [sign: string, tone: string] } = {
  added: ["A", "text-good"],
  changed: ["M", "text-warn"],
  removed: ["D", "text-bad"],
};

/** The workspace at any point: what is there, what changed, and which call wrote each line. */
export function Files(): ReactNode {
  const { name, search } = useAddress();
  useTitle(`${name}: files`);
  return (
    <>
      <Tabs name={name} />
      {search.tab === "merge" ? <Merge name={name} /> : <Workspace name={name} />}
    </>
  );
}

function Workspace({ name }: { readonly name: string }): ReactNode {
  const { search, set } = useAddress();
  const { head, path } = search;
  const base = `/api/sessions/${encodeURIComponent(name)}`;
  // What changed is measured from the files that the session was given first, or from the other side of a comparison.
  const first = useOf<Page<FactRow>>(name, "/facts", { type: "workspace-import", limit: 1 });
  const before = search.a ?? first.data?.items[0]?.id;
  const changes = useList<FileRow>(["name", name], `${base}/changes`, { before, head, limit: 500 });
  const changed = useMemo(() => new Map(changes.items.map((file) => [file.path, file])), [changes.items]);
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set());
  const open = useMemo(
    () => new Set([...opened, ...changes.items.flatMap(({ path: one }) => foldersOf(one))]),
    [opened, changes.items],
  );
  const folders = ["", ...open];
  const lists = useQueries({
    queries: folders.map((folder) => ({
      queryKey: ["name", name, "/files", { path: folder, head }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<Page<FileRow>>(`${base}/files`, { path: folder, head, limit: 1_000 }, signal),
    })),
  });
  const byFolder = new Map(folders.map((folder, at) => [folder, lists[at]?.data?.items ?? []]));
  const [isOnlyChanged, setOnlyChanged] = useState(false);
  const rows = isOnlyChanged
    ? changes.items.map((file) => ({ file, depth: 0 }))
    : [
        ...treeOf(byFolder, "", 0),
        ...changes.items.filter(({ change }) => change === "removed").map((file) => ({ file, depth: 0 })),
      ];
  const files = rows.filter(({ file }) => file.kind !== "directory").map(({ file }) => file.path);
  const chosen = path ?? changes.items[0]?.path ?? files[0];
  const step = (by: number): void => {
    const next = files[Math.min(Math.max(0, files.indexOf(chosen ?? "") + by), files.length - 1)];
    if (next !== undefined) set({ path: next }, true);
  };
  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    Escape: () => set({ at: undefined }),
  });
  const [root] = lists;
  if (root?.error) return <Trouble error={root.error} again={() => void root.refetch()} />;
  if (root?.data === undefined) return <Skeleton rows={10} />;
  if (rows.length === 0)
    return (
      <Empty title="No files yet at this point">
        A session has files once it runs in a sandbox with a workspace.
      </Empty>
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col mid:flex-row">
      <nav
        aria-label="Files"
        className="max-h-[30%] shrink-0 overflow-auto border-b border-rule pb-2 mid:max-h-none mid:w-[260px] mid:border-b-0 mid:border-r"
      >
        <div className="flex items-center gap-1 px-2 py-1">
          <Button quiet pressed={isOnlyChanged} onClick={() => setOnlyChanged(!isOnlyChanged)}>
            Changed ({changed.size})
          </Button>
          <span className="flex-1" />
          {offline === undefined && (
            <Button
              quiet
              onClick={() => set({ tab: "merge" })}
              hint="Merge another session or branch into this one"
            >
              Merge …
            </Button>
          )}
        </div>
        <ul>
          {rows.slice(0, 2_000).map(({ file, depth }) => {
            const isFolder = file.kind === "directory" && !isOnlyChanged;
            const [sign, tone] = MARKS[changed.get(file.path)?.change ?? ""] ?? [" ", ""];
            const label = isOnlyChanged ? file.path : (file.path.split("/").at(-1) ?? file.path);
            return (
              <li key={file.path}>
                <button
                  type="button"
                  aria-current={file.path === chosen ? "true" : undefined}
                  aria-expanded={isFolder ? open.has(file.path) : undefined}
                  className={`flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-meta ${file.path === chosen ? "bg-chosen" : "hover:bg-sunk"}`}
                  style={{ paddingLeft: 12 + 14 * depth }}
                  onClick={() =>
                    isFolder ? setOpened(toggled(opened, open, file.path)) : set({ path: file.path })
                  }
                >
                  <span className={`w-3 shrink-0 ${tone}`} title={changed.get(file.path)?.change}>
                    {isFolder ? (open.has(file.path) ? "▾" : "▸") : sign}
                  </span>
                  <Words className="min-w-0 flex-1 truncate">{visible(label)}</Words>
                  {file.size !== undefined && <span className="text-soft">{size(file.size)}</span>}
                </button>
              </li>
            );
          })}
        </ul>
      </nav>
      {chosen !== undefined && (
        <File
          key={chosen}
          name={name}
          path={chosen}
          head={head}
          before={before}
          isChanged={changed.has(chosen)}
        />
      )}
      {search.at !== undefined && search.tab === "blame" && (
        <Details id={search.at} close={() => set({ at: undefined })} />
      )}
    </div>
  );
}

function foldersOf(path: string): readonly string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

function toggled(opened: ReadonlySet<string>, open: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(opened);
  if (open.has(path)) next.delete(path);
  else next.add(path);
  return next;
}

type TreeRow = { readonly file: FileRow; readonly depth: number };

function treeOf(
  folders: ReadonlyMap<string, readonly FileRow[]>,
  folder: string,
  depth: number,
): readonly TreeRow[] {
  return (folders.get(folder) ?? []).flatMap((file) => [
    { file, depth },
    ...(file.kind === "directory" && depth < 40 ? treeOf(folders, file.path, depth + 1) : []),
  ]);
}

type Place = {
  readonly name: string;
  readonly path: string;
  readonly head: string | undefined;
  readonly before: string | undefined;
};
const TABS = ["diff", "text", "blame"] as const;

function File({ isChanged, ...place }: Place & { readonly isChanged: boolean }): ReactNode {
  const { name, path, head } = place;
  const { search, set } = useAddress();
  const tab = TABS.find((one) => one === search.tab) ?? (isChanged ? "diff" : "text");
  return (
    <section aria-label={path} className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex items-center gap-1 border-b border-rule px-3 py-1 mid:px-4">
        <h1 className="truncate font-mono text-control!" dir="auto">
          {visible(path)}
        </h1>
        <span className="flex-1" />
        {TABS.map((one) => (
          <Button key={one} quiet pressed={tab === one} onClick={() => set({ tab: one })}>
            {one}
          </Button>
        ))}
      </div>
      {tab === "text" ? (
        <Bytes path={`/api/sessions/${encodeURIComponent(name)}/file`} of={name} query={{ path, head }} />
      ) : (
        <div
          className="min-h-0 flex-1 overflow-auto"
          tabIndex={0}
          role="region"
          aria-label={`${tab} of ${path}`}
        >
          {tab === "diff" ? <Diff {...place} /> : <Blame {...place} />}
        </div>
      )}
    </section>
  );
}

function Diff({ name, path, head, before }: Place): ReactNode {
  const query = useOf<FileDiff>(name, "/diff", { path, before, head });
  return (
    <Loaded query={query}>
      {(diff) =>
        diff.binary === true ? (
          <Empty title="This file is not text">The list of files shows its digest.</Empty>
        ) : diff.hunks.length === 0 ? (
          <Empty title="This file did not change">
            "Text" shows its content, and "Blame" shows who wrote each line.
          </Empty>
        ) : (
          <>
            <Hunks diff={diff} />
            {diff.more !== undefined && <p className="meta p-4">{diff.more} more lines are left out.</p>}
          </>
        )
      }
    </Loaded>
  );
}

/** Added and removed lines by sign, background and place: never by colour alone. */
function Hunks({ diff }: { readonly diff: FileDiff }): ReactNode {
  return (
    <table className="w-full border-collapse font-mono text-meta">
      <tbody>
        {diff.hunks.flatMap((hunk, index) => {
          let [before, after] = [hunk.oldStart, hunk.newStart];
          return [
            <tr key={`h${index}`} className="bg-sunk text-soft">
              <td colSpan={4} className="px-4 py-1">
                from line {hunk.newStart}
              </td>
            </tr>,
            ...hunk.lines.map((line, at) => {
              const sign = line[0] ?? " ";
              const [left, right] = [sign === "+" ? "" : before++, sign === "-" ? "" : after++];
              return (
                <tr key={`${index} ${at}`} className={sign === "+" ? "bg-add" : sign === "-" ? "bg-del" : ""}>
                  <td className="w-10 select-none px-2 text-right align-top text-soft">{left}</td>
                  <td className="w-10 select-none px-2 text-right align-top text-soft">{right}</td>
                  <td className="w-4 select-none align-top">{sign}</td>
                  <td dir="auto" className="whitespace-pre-wrap pr-4 align-top">
                    {visible(line.slice(1))}
                  </td>
                </tr>
              );
            }),
          ];
        })}
      </tbody>
    </table>
  );
}

/** Who wrote each stretch of lines: the call, the model, the prompt. */
function Blame({ name, path, head }: Place): ReactNode {
  const { set, go } = useAddress();
  const query = useOf<Page<BlameLine>>(name, "/blame", { path, head, limit: 1_000 });
  return (
    <Loaded query={query}>
      {({ items }) => (
        <table className="w-full border-collapse font-mono text-meta">
          <tbody>
            {items.flatMap((stretch) =>
              stretch.lines.map((line, at) => (
                <tr key={stretch.from + at} className={at === 0 ? "border-t border-rule" : ""}>
                  {at === 0 && (
                    <td
                      rowSpan={stretch.lines.length}
                      className="w-[104px] border-r border-rule px-2 align-top mid:w-[190px]"
                    >
                      {stretch.fact === undefined ? (
                        <span className="meta">before the record</span>
                      ) : (
                        <button
                          type="button"
                          className="text-left text-accent"
                          title="The fact that wrote these lines"
                          onClick={() => set({ at: stretch.fact, tab: "blame" })}
                        >
                          {stretch.tool ?? <Id id={stretch.fact} />}{" "}
                          <span className="meta">{stretch.by}</span>
                        </button>
                      )}
                      {stretch.prompt !== undefined && (
                        <button
                          type="button"
                          className="meta block text-left underline"
                          title="Show the prompt of the model"
                          onClick={() =>
                            go(`/s/${encodeURIComponent(name)}/graph`, {
                              at: stretch.prompt ?? "",
                              tab: "prompt",
                            })
                          }
                        >
                          {stretch.model}
                          {stretch.branch === undefined ? "" : `, ${stretch.branch}`}
                        </button>
                      )}
                    </td>
                  )}
                  <td className="w-10 select-none px-2 text-right align-top text-soft">
                    {stretch.from + at}
                  </td>
                  <td dir="auto" className="whitespace-pre-wrap pr-4 align-top">
                    {visible(line)}
                  </td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      )}
    </Loaded>
  );
}
