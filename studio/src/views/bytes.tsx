import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { type Query, raw } from "../client";
import { useRows, Window } from "../rows";
import { Button, Loaded, size, Terminal, visible } from "../ui";

/** So much of a file or an output is fetched at once: 50 MB of it cost no more than this. */
const PIECE = 262_144;
const HEIGHT = 18;
const LONGEST = 2_000;

type Piece = { readonly text: string; readonly bytes: number; readonly isText: boolean };

/** Content of any size, a piece at a time, by its lines. */
export function Bytes({
  path,
  of,
  query = {},
  terminal = false,
}: {
  readonly path: string;
  /** The session whose newest state this is: it is read again when that moves. */
  readonly of?: string;
  readonly query?: Query;
  readonly terminal?: boolean;
}): ReactNode {
  const [at, setAt] = useState(0);
  const piece = useQuery({
    queryKey: [...(of === undefined ? [] : ["name", of]), "bytes", path, query, at],
    queryFn: async ({ signal }): Promise<Piece> => {
      const from = at * PIECE;
      const response = await raw(path, query, {
        signal,
        // A browser joins the parts that it kept with those of content that has changed since.
        cache: "no-store",
        headers: { range: `bytes=${from}-${from + PIECE - 1}` },
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const whole = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
      return {
        text: new TextDecoder().decode(bytes),
        bytes: whole === undefined ? bytes.length : Number(whole),
        isText: !bytes.subarray(0, 8_000).includes(0),
      };
    },
  });
  return (
    <Loaded query={piece}>
      {(found) => {
        const pieces = Math.max(1, Math.ceil(found.bytes / PIECE));
        return (
          <>
            {pieces > 1 && (
              <p className="flex items-center gap-2 border-b border-rule bg-sunk px-3 py-1 text-row mid:px-4">
                Piece {at + 1} of {pieces.toLocaleString("en")} ({size(found.bytes)} in all)
                <span className="flex-1" />
                <Button quiet disabled={at === 0} onClick={() => setAt(at - 1)}>
                  Before
                </Button>
                <Button quiet disabled={at >= pieces - 1} onClick={() => setAt(at + 1)}>
                  Next
                </Button>
                <Button quiet disabled={at >= pieces - 1} onClick={() => setAt(pieces - 1)}>
                  Last
                </Button>
              </p>
            )}
            {found.isText ? (
              <Lines key={at} text={found.text} terminal={terminal} />
            ) : (
              <p className="p-4 text-soft">These {size(found.bytes)} are not text.</p>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Lines({ text, terminal }: { readonly text: string; readonly terminal: boolean }): ReactNode {
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const rows = useRows(lines.length, HEIGHT);
  return (
    <Window rows={rows} className="font-mono text-meta" label="Lines">
      <div
        className="overflow-x-auto"
        style={{ transform: `translateY(${-(rows.top - rows.first) * HEIGHT}px)` }}
      >
        {lines.slice(rows.first, rows.last).map((line, index) => (
          <div key={rows.first + index} className="flex whitespace-pre" style={{ height: HEIGHT }}>
            <span className="w-12 shrink-0 select-none pr-3 text-right text-soft">
              {rows.first + index + 1}
            </span>
            <span dir="auto">
              {terminal ? (
                <Terminal text={line.slice(0, LONGEST)} />
              ) : (
                visible(line.slice(0, LONGEST).replaceAll("\t", "  "))
              )}
              {line.length > LONGEST && (
                <span className="meta"> {line.length - LONGEST} more characters</span>
              )}
            </span>
          </div>
        ))}
      </div>
    </Window>
  );
}
