import { type ReactNode, useEffect, useState } from "react";
import { raw } from "../client";
import { useAddress } from "../route";
import { Sheet } from "../sheet";
import type { Part, Shown } from "../types";
import { Button, JsonView, size, Terminal, visible } from "../ui";
import { Bytes } from "./bytes";

/** Content of the record: as text, as JSON, or as what a terminal showed. */
export function Content({
  shown,
  terminal = false,
}: {
  readonly shown: Shown;
  readonly terminal?: boolean;
}): ReactNode {
  if (shown.gone !== undefined)
    return <span className="meta">This content is gone ({shown.gone}); its digest stays.</span>;
  if (shown.blob !== undefined) return <Large digest={shown.blob} bytes={shown.size} terminal={terminal} />;
  const rest = shown.size > shown.text.length && <span className="meta"> of {size(shown.size)}</span>;
  let value: unknown;
  if (shown.json)
    try {
      value = JSON.parse(shown.text);
    } catch {
      // Text that was cut is no JSON any longer, and is shown as it is.
    }
  if (value !== undefined)
    return (
      <div className="font-mono text-meta">
        <JsonView value={value} />
      </div>
    );
  return (
    <pre dir="auto" tabIndex={0} className="listing">
      {terminal ? <Terminal text={shown.text} /> : visible(shown.text)}
      {rest}
    </pre>
  );
}

/** An output too large to be shown at once: it opens in pieces. */
function Large({
  digest,
  bytes,
  terminal,
}: {
  readonly digest: string;
  readonly bytes: number;
  readonly terminal: boolean;
}): ReactNode {
  const { name } = useAddress();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Open all {size(bytes)}</Button>
      {isOpen && (
        <Sheet title={`${size(bytes)} of output`} wide close={() => setOpen(false)}>
          <div className="flex h-[70vh] flex-col">
            <Bytes path={`/api/blobs/${digest}`} query={{ name }} terminal={terminal} />
          </div>
        </Sheet>
      )}
    </>
  );
}

const RASTER: readonly (readonly [media: string, magic: readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** An image of the record, if its first bytes are those of one; nothing is loaded from elsewhere. */
export function Picture({ part }: { readonly part: Extract<Part, { readonly type: "image" }> }): ReactNode {
  const { name } = useAddress();
  const { fact, part: place, media, digest } = part;
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (digest === undefined) return;
    const control = new AbortController();
    let made: string | undefined;
    const load = async (): Promise<void> => {
      const path = `/api/sessions/${encodeURIComponent(name)}/parts/${fact}/${place}`;
      const bytes = new Uint8Array(await (await raw(path, {}, { signal: control.signal })).arrayBuffer());
      const type = RASTER.find(([, magic]) => magic.every((byte, at) => bytes[at] === byte))?.[0];
      if (type === undefined || control.signal.aborted) return;
      made = URL.createObjectURL(new Blob([bytes], { type }));
      setAddress(made);
    };
    load().catch(() => undefined);
    return () => {
      control.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [name, fact, place, digest]);
  const words = `${media} ${part.name ?? ""}`;
  if (address !== undefined)
    return (
      <img
        src={address}
        alt={words}
        className="mt-2 max-h-96 max-w-full rounded border border-rule bg-sunk"
      />
    );
  return (
    <p className="meta mt-2">
      [{words}
      {part.size === undefined ? "" : `, ${size(part.size)}`}
      {part.url === undefined ? "" : ` from ${visible(part.url)}, not loaded`}]
    </p>
  );
}
