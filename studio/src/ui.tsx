import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Problem as Refusal, useReading } from "./client";
import { useConnection } from "./live";

/** Small parts that every view uses. All text from a record becomes text nodes and nothing else. */

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Characters that a reader would not see, or that change the order of others, as marks: for ids, paths, commands, approvals. */
export function visible(text: string): string {
  return text.replace(
    HIDDEN,
    (sign) => `\u27e8U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );
}

export function Id({ id, long = false }: { readonly id: string; readonly long?: boolean }): ReactNode {
  return (
    <code title={id} className="text-soft">
      {long ? id : id.slice(0, 12)}
    </code>
  );
}

/** Text that may be written from right to left. */
export function Words({
  children,
  className,
}: {
  readonly children: string;
  readonly className?: string;
}): ReactNode {
  return (
    <span dir="auto" className={className}>
      {children}
    </span>
  );
}

/** Long text: its beginning, and a button for the rest. */
export function Long({ text, most = 4_000 }: { readonly text: string; readonly most?: number }): ReactNode {
  const [all, setAll] = useState(false);
  return (
    <>
      {all ? text : text.slice(0, most)}
      {!all && text.length > most && (
        <button type="button" className="btn btn-quiet text-accent" onClick={() => setAll(true)}>
          all {size(text.length)}
        </button>
      )}
    </>
  );
}

const STATES: { readonly [state: string]: readonly [tone: string, sign: string] } = {
  done: ["text-good", "●"],
  finished: ["text-good", "●"],
  open: ["text-live", "○"],
  running: ["text-live", "○"],
  waiting: ["text-warn", "‖"],
  failed: ["text-bad", "×"],
  cancelled: ["text-soft", "■"],
  "in-doubt": ["text-warn", "◆"],
};

/** A state by sign, word and colour: never by colour alone. */
export function State({ state }: { readonly state: string }): ReactNode {
  const [tone, sign] = STATES[state] ?? ["text-soft", "·"];
  return (
    <span className={`${tone} whitespace-nowrap text-row`}>
      <span aria-hidden="true">{sign} </span>
      {state.replace("-", " ")}
    </span>
  );
}

export const TONES: { readonly [tone: string]: string } = {
  good: "text-good",
  bad: "text-bad",
  warn: "text-warn",
  quiet: "text-soft",
  "what-if": "text-what-if",
  plain: "text-ink",
};

/** A command for a terminal, ready to paste. */
export function Command({ text }: { readonly text: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  return (
    <div className="mt-1 flex items-center gap-2 rounded border border-rule bg-sunk py-1 pr-1 pl-3">
      <code dir="ltr" className="min-w-0 flex-1">
        {visible(text)}
      </code>
      <Button
        quiet
        onClick={() =>
          void navigator.clipboard?.writeText(text).then(
            () => setCopied(true),
            () => {},
          )
        }
      >
        {isCopied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

/** A view that has nothing to show says what would be here and how it gets here. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto max-w-[56ch] px-6 py-16 text-center">
      <h2>{title}</h2>
      {children !== undefined && <div className="mt-2 text-soft">{children}</div>}
    </div>
  );
}

/** A refusal: the sentence, the next thing to do, and the details to copy. */
export function Trouble({
  error,
  again,
}: {
  readonly error: unknown;
  readonly again?: () => void;
}): ReactNode {
  const problem = error instanceof Refusal ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const details = JSON.stringify(
    { code: problem?.code, status: problem?.status, message, data: problem?.data },
    null,
    1,
  );
  return (
    <div role="alert" className="card m-4 max-w-[72ch] border-l-4 border-l-bad p-4">
      <p>
        {problem?.code !== undefined && <code className="mr-2 text-bad">{problem.code}</code>}
        <Words>{message}</Words>
      </p>
      {problem?.hint !== undefined && !/\b[A-Z]+ \/api\//.test(problem.hint) && (
        <p className="mt-1 text-soft">
          <Words>{problem.hint}</Words>
        </p>
      )}
      <p className="mt-3 flex flex-wrap gap-2">
        {again !== undefined && (
          <button type="button" className="btn" onClick={again}>
            Try again
          </button>
        )}
        <button type="button" className="btn" onClick={() => void navigator.clipboard?.writeText(details)}>
          Copy details
        </button>
        {problem?.status === 404 && (
          <Link to="/" className="btn">
            All sessions
          </Link>
        )}
      </p>
    </div>
  );
}

/** Lines of the final height, shown only when waiting takes longer than a moment. */
export function Skeleton({
  rows = 6,
  height = 28,
}: {
  readonly rows?: number;
  readonly height?: number;
}): ReactNode {
  const reading = useReading();
  return (
    <div aria-busy="true" className="p-4">
      {reading !== undefined && (
        <p role="status" className="pb-3 text-soft">
          The server reads this session for the first time: {reading.facts.toLocaleString("en")}
          {reading.total !== undefined && ` of ${reading.total.toLocaleString("en")}`} facts.
        </p>
      )}
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex items-center" style={{ height }}>
          <div className="skeleton h-3" style={{ width: `${35 + ((row * 37) % 50)}%` }} />
        </div>
      ))}
    </div>
  );
}

/** The three states of a query, so that each view writes only what it shows. */
export function Loaded<T>({
  query,
  children,
  rows,
}: {
  readonly query: { data: T | undefined; error: unknown; refetch(): unknown };
  readonly children: (data: T) => ReactNode;
  readonly rows?: number;
}): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Trouble error={query.error} again={() => void query.refetch()} />;
  return <Skeleton {...(rows !== undefined && { rows })} />;
}

export function Button({
  children,
  main = false,
  quiet = false,
  hint,
  ...rest
}: {
  readonly children: ReactNode;
  readonly main?: boolean;
  readonly quiet?: boolean;
  readonly hint?: string;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly onClick: () => void;
}): ReactNode {
  return (
    <button
      type="button"
      className={`btn ${main ? "btn-main" : ""} ${quiet ? "btn-quiet" : ""} ${rest.pressed === true ? "bg-chosen" : ""}`}
      title={hint}
      disabled={rest.disabled}
      aria-pressed={rest.pressed}
      onClick={rest.onClick}
    >
      {children}
    </button>
  );
}

/** JSON as it was written, folded below the first levels. */
export function JsonView({
  value,
  depth = 0,
}: {
  readonly value: unknown;
  readonly depth?: number;
}): ReactNode {
  if (typeof value === "string")
    return (
      <span dir="auto" className="whitespace-pre-wrap text-good">
        "<Long text={visible(value)} most={2_000} />"
      </span>
    );
  if (value === null || typeof value !== "object")
    return <span className="text-accent">{String(value)}</span>;
  const entries: readonly (readonly [string, unknown])[] = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return `${open}${close}`;
  if (depth > 40) return "…";
  return (
    <details open={depth < 2} className="inline-block align-top">
      <summary className="cursor-pointer text-soft">
        {open}
        {entries.length}
        {close}
      </summary>
      <div className="border-l border-rule pl-3">
        {entries.slice(0, 500).map(([key, child]) => (
          <div key={key}>
            <span className="text-soft">{visible(key)}: </span>
            <JsonView value={child} depth={depth + 1} />
          </div>
        ))}
        {entries.length > 500 && <div className="text-soft">{entries.length - 500} more</div>}
      </div>
    </details>
  );
}

const ESCAPE = String.fromCharCode(27);
const SEQUENCE = new RegExp(
  `${ESCAPE}\\[([0-9;]*)m|${ESCAPE}\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)|${ESCAPE}\\[[0-9;?]*[A-Za-z]|${ESCAPE}.`,
  "g",
);

/** Output of a terminal: colours become classes; every other sequence is dropped. */
export function Terminal({ text }: { readonly text: string }): ReactNode {
  const parts: ReactNode[] = [];
  let classes: readonly string[] = [];

  let end = 0;
  const say = (from: number, to: number): void => {
    if (to > from)
      parts.push(
        <span key={from} className={classes.join(" ")}>
          {text.slice(from, to)}
        </span>,
      );
  };
  for (const match of text.matchAll(SEQUENCE)) {
    say(end, match.index);
    end = match.index + match[0].length;
    if (match[1] !== undefined) classes = coloured(classes, match[1]);
    if (parts.length > 5_000) break;
  }
  say(end, text.length);
  return <>{parts}</>;
}

function coloured(classes: readonly string[], codes: string): readonly string[] {
  let now = classes;
  for (const code of codes.split(";").map(Number)) {
    if (code === 0) now = [];
    else if (code === 39) now = now.filter((one) => !/^a[39]\d$/.test(one));
    else if ((code >= 1 && code <= 4) || (code >= 30 && code <= 37) || (code >= 90 && code <= 97))
      now = [...now.filter((one) => code < 30 || !/^a[39]\d$/.test(one)), `a${code}`];
  }
  return now;
}

/** JSON inside a line as words: lists are read, and the details have the value as it was recorded. */
export function plainly(label: string): string {
  const at = label.search(/[[{]+"/);
  if (at === -1) return label;
  const words = label
    .slice(at)
    .replaceAll(/,?\s*"[\w -]{1,60}":\s*(?:\[\]|\{\})/g, "")
    .replaceAll(/[[{]+(?=")/g, "")
    .replaceAll(/"?,\s*"/g, ', "')
    .replaceAll(/"([\w -]{1,60})":\s*[[{]*/g, "$1: ")
    .replaceAll(/"?\]*\}+/g, "")
    .replaceAll(/(?<!\\)"/g, "")
    .replaceAll(/\\[nt]/g, " ")
    .replaceAll('\\"', '"');
  return label.slice(0, at) + (label[at] === "[" ? words.replace(/\]$/, "") : words);
}

/** The values of an input without its names, on one line. */
export function briefOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value).slice(0, 160);
  return Object.values(value)
    .map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
    .join(" ")
    .replaceAll(/\s+/g, " ")
    .slice(0, 160);
}

/** A label without what was cut off in brackets: the whole of it stands below. */
export function heading(label: string): string {
  return visible(plainly(label.replace(/ \([^)]*…$/, "")));
}

export function count(number: number, noun: string, many = `${noun}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : many}`;
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** The record may say no time. */
export function clock(at: number | string | null | undefined): string {
  return at === null || at === undefined ? "" : new Date(at).toLocaleTimeString("en-GB");
}

/** A time with its day, unless that is today. */
export function moment(at: number | string | null | undefined): string {
  if (at === null || at === undefined) return "";
  const then = new Date(at);
  const isToday = then.toDateString() === new Date().toDateString();
  return isToday ? clock(at) : then.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** Tokens short: 33k. */
export function short(number: number): string {
  return number < 10_000 ? number.toLocaleString("en") : `${Math.round(number / 1_000)}k`;
}

/** An unknown price is unknown, and not nothing. */
export function money(cost: number | null | undefined): string {
  return typeof cost === "number" ? `$${cost.toFixed(cost < 1 ? 4 : 2)}` : "cost unknown";
}

/** How long ago, by the clock of the server; told anew every half minute. */
export function Ago({ at }: { readonly at: number | string | null }): ReactNode {
  const { ahead } = useConnection();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return "no time";
  const then = new Date(at);
  const ms = Math.max(0, now + ahead - then.getTime());
  const words =
    ms < 60_000
      ? "just now"
      : ms < 86_400_000
        ? `${duration(ms).split(" ").slice(0, 2).join(" ")} ago`
        : then.toLocaleDateString("en-CA");
  return (
    <time dateTime={then.toISOString()} title={then.toLocaleString("en-GB")}>
      {words}
    </time>
  );
}
