import { createContext, type ReactNode, useContext, useState } from "react";
import { useAddress } from "./route";
import { Button, Id, JsonView, Long, moment, visible } from "./ui";

/** Values of a dossier as people read them: words first, lists by their items, ids as links. */

const DEPTH = 8;
const ITEMS = 25;

/** Whether ids lead to their facts: in a fact itself, digests of other things look the same. */
export const Links = createContext(true);

type Fields = { readonly [field: string]: unknown };

export function Value({ value, depth = 0 }: { readonly value: unknown; readonly depth?: number }): ReactNode {
  if (value === null || value === undefined) return <span className="text-soft">none</span>;
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value !== "object") return sayScalar(value);
  if (depth > DEPTH) return <JsonView value={value} />;
  if (Array.isArray(value)) return <Items items={value} total={value.length} depth={depth} />;
  const fields = value as Fields;
  if (Array.isArray(fields.items))
    return <Items items={fields.items} total={Number(fields.total ?? fields.items.length)} depth={depth} />;
  if (typeof fields.withheld === "string")
    return <span className="meta">This content is {fields.withheld}; its digest stays in the record.</span>;
  if (typeof fields.text === "string" && typeof fields.characters === "number")
    return <Told text={fields.text} characters={fields.characters} />;
  const shown = Object.entries(fields).filter(([, one]) => !isEmpty(one));
  if (shown.length === 0) return <span className="text-soft">none</span>;
  return (
    <dl className="grid grid-cols-[minmax(72px,auto)_1fr] gap-x-4 gap-y-1 text-row">
      {shown.map(([field, one]) => (
        <div key={field} className="contents">
          <dt className="text-soft">{wordsOf(field)}</dt>
          <dd dir="auto" className="min-w-0">
            <Value value={one} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  if (typeof value !== "object") return false;
  const list = Array.isArray(value) ? value : (value as Fields).items;
  return Array.isArray(list) ? list.length === 0 : Object.keys(value).length === 0;
}

function Items({
  items,
  total,
  depth,
}: {
  readonly items: readonly unknown[];
  readonly total: number;
  readonly depth: number;
}): ReactNode {
  const [most, setMost] = useState(ITEMS);
  if (items.length === 0) return <span className="text-soft">none</span>;
  const shown = items.slice(0, most);
  const isPlain = items.every((one) => typeof one !== "object" || one === null);
  const rest = items.length - shown.length;
  return (
    <>
      {isPlain ? (
        <span className="flex flex-wrap gap-x-2">
          {shown.map((one, at) => (
            <Value key={at} value={one} depth={depth + 1} />
          ))}
        </span>
      ) : (
        <ol>
          {shown.map((one, at) => (
            <li key={at} className="border-b border-rule py-3 last:border-b-0">
              <Value value={one} depth={depth + 1} />
            </li>
          ))}
        </ol>
      )}
      {rest > 0 && <Button onClick={() => setMost(most + 200)}>{rest} more</Button>}
      {rest === 0 && total > items.length && (
        <span className="meta">{total - items.length} more in the bundle</span>
      )}
    </>
  );
}

function Text({ text }: { readonly text: string }): ReactNode {
  const { go } = useAddress();
  const isLinked = useContext(Links);
  if (/^[0-9a-f]{64}$/.test(text) && !isLinked) return <Id id={text} />;
  if (/^[0-9a-f]{64}$/.test(text))
    return (
      <button type="button" className="text-accent underline" onClick={() => go(`/f/${text}`)}>
        <Id id={text} />
      </button>
    );
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text))
    return (
      <time dateTime={text} title={text}>
        {moment(text)}
      </time>
    );
  return (
    <span className="whitespace-pre-wrap">
      <Long text={visible(text)} />
    </span>
  );
}

function Told({ text, characters }: { readonly text: string; readonly characters: number }): ReactNode {
  if (text.length <= 160 && !text.includes("\n"))
    return <span className="whitespace-pre-wrap">{visible(text)}</span>;
  return (
    <pre dir="auto" tabIndex={0} className="listing max-h-64">
      {visible(text)}
      {characters > text.length && <span className="meta"> {characters - text.length} more characters</span>}
    </pre>
  );
}

function sayScalar(value: unknown): string {
  return typeof value === "boolean"
    ? value
      ? "yes"
      : "no"
    : typeof value === "number"
      ? value.toLocaleString("en", { maximumFractionDigits: 4 })
      : String(value);
}

/** "filesChanged" as people write it. */
export function wordsOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("-", " ");
}
