import type { ReactNode } from "react";
import type { BranchRow, GraphRow } from "../types";
import { Button, clock, count, plainly, TONES, Words } from "../ui";

/** Flags that a long text must not push out of its row. */
const MARKS: readonly (readonly [flag: GraphRow["flags"][number], word: string, tone: string])[] = [
  ["waiting", "waits", "text-warn"],
  ["in-doubt", "in doubt", "text-warn"],
  ["taken", "from the record", "text-soft"],
  ["erased", "erased", "text-soft"],
];

/** A row of the graph in words: the lines beside it are drawn. */
export function Row({
  row,
  index,
  total,
  height,
  branch,
  isChosen,
  isFocusable,
  folded,
  fold,
  unfold,
  select,
}: {
  readonly row: GraphRow | undefined;
  readonly index: number;
  readonly total: number;
  readonly height: number;
  readonly branch: BranchRow | undefined;
  readonly isChosen: boolean;
  readonly isFocusable: boolean;
  /** The rows that are folded behind this one. */
  readonly folded: readonly (GraphRow | undefined)[] | undefined;
  readonly fold: (index: number) => void;
  readonly unfold: (index: number) => void;
  readonly select: (row: GraphRow, index: number) => void;
}): ReactNode {
  const marks = MARKS.filter(([flag]) => row?.flags.includes(flag));
  const fate = branch === undefined || branch.fate === "open" ? "" : `, ${branch.fate}`;
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isChosen}
      aria-expanded={folded === undefined ? undefined : false}
      tabIndex={isFocusable ? 0 : -1}
      data-id={row?.id}
      aria-label={
        row === undefined
          ? "loading"
          : `${actorOf(row)} ${row.label}. Branch ${branch?.name ?? row.branch}${fate}. Row ${index + 1} of ${total}.`
      }
      className={`group flex cursor-default items-center gap-3 overflow-hidden whitespace-nowrap pr-4 ${isChosen ? "bg-chosen" : "hover:bg-sunk"}`}
      style={{ height }}
      onClick={() => row !== undefined && select(row, index)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && row !== undefined) select(row, index);
      }}
    >
      <div role="gridcell" className={`min-w-0 flex-1 truncate ${TONES[row?.tone ?? "plain"] ?? ""}`}>
        {row !== undefined && <Words className="meta mr-2">{actorOf(row)}</Words>}
        <Words>{plainly(row?.label ?? "")}</Words>
        {row?.text !== undefined && !row.label.includes(row.text.slice(0, 40)) && (
          <Words className="ml-2 text-soft">{plainly(row.text)}</Words>
        )}
        {row !== undefined && row.facts > 1 && <span className="meta ml-2">{row.facts} facts</span>}
      </div>
      {marks.length > 0 && (
        <div role="gridcell" className="flex shrink-0 gap-2">
          {marks.map(([flag, word, tone]) => (
            <span key={flag} className={`tag ${tone}`}>
              {word}
            </span>
          ))}
        </div>
      )}
      {folded !== undefined && (
        <div role="gridcell" className="shrink-0">
          <button
            type="button"
            className="tag bg-raised text-accent"
            title="Unfold (l)"
            onClick={(event) => {
              event.stopPropagation();
              unfold(index);
            }}
          >
            {count(folded.length, "row")}
            {row?.module === undefined ? "" : ` of ${row.module}`} folded
            {folded.some((one) => one !== undefined && isFailure(one)) && (
              <span className="text-bad"> × failed</span>
            )}
            {folded.some((one) => one?.flags.includes("waiting")) && (
              <span className="text-warn"> ‖ waits</span>
            )}
          </button>
        </div>
      )}
      {row?.module !== undefined && folded === undefined && (
        <div role="gridcell" className="hidden group-hover:block">
          <button
            type="button"
            tabIndex={-1}
            className="tag bg-raised text-accent"
            title="Fold the rows of this sub-agent (h)"
            onClick={(event) => {
              event.stopPropagation();
              fold(index);
            }}
          >
            Fold {row.module}
          </button>
        </div>
      )}
      {branch !== undefined && (
        <div role="gridcell" className="meta hidden max-w-[160px] truncate mid:block">
          <Words>{branch.name}</Words>
          {fate !== "" && <span>{fate}</span>}
        </div>
      )}
      <div role="gridcell" className="meta hidden mid:block">
        {clock(row?.at)}
      </div>
    </div>
  );
}

export function isFailure(row: GraphRow): boolean {
  return row.tone === "bad" || row.flags.includes("failed");
}

/** Who did it, without the kind of actor: labels go on from there as a sentence. */
function actorOf({ by, module }: GraphRow): string {
  const [kind = "", ...name] = by.split(":");
  return name.length === 0 || kind === "runtime" ? (module ?? kind) : name.join(":");
}

/** One of a few: buttons where there is room, a list on a phone. */
export function Choice({
  label,
  words,
  value,
  none,
  set,
}: {
  readonly label: string;
  readonly words: readonly (readonly [value: string, word: string, hint: string])[];
  readonly value: string | undefined;
  readonly none?: string;
  readonly set: (value: string) => void;
}): ReactNode {
  return (
    <>
      <select
        aria-label={label}
        className="field min-w-0 flex-1 mid:hidden"
        value={value ?? ""}
        onChange={(event) => set(event.target.value)}
      >
        {none !== undefined && <option value="">{none}</option>}
        {words.map(([one, word]) => (
          <option key={one} value={one}>
            {word}
          </option>
        ))}
      </select>
      <span className="hidden gap-1 mid:flex">
        {words.map(([one, word, hint]) => (
          <Button key={one} quiet pressed={one === value} onClick={() => set(one)} hint={hint}>
            {word}
          </Button>
        ))}
      </span>
    </>
  );
}
