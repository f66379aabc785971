import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "./ui";

/** A modal dialog of the browser itself: it traps focus and needs no style of its own. */
export function Sheet({
  title,
  children,
  close,
  wide = false,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly close: () => void;
  readonly wide?: boolean;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={close}
      className={`card p-0 ${wide ? "w-[min(96vw,1200px)]" : "w-[min(92vw,680px)]"}`}
    >
      <div className="flex items-center justify-between border-b border-rule px-4 py-2">
        <h2>{title}</h2>
        <Button quiet onClick={close}>
          Close
        </Button>
      </div>
      <div className="max-h-[80vh] overflow-y-auto p-4">{children}</div>
    </dialog>
  );
}
