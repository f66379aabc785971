import type { ReactNode } from "react";
import { useList } from "../data";
import type { SessionRow } from "../types";

export const NAMES_ID = "names";

/** The newest sessions as suggestions for a field with `list={NAMES_ID}`: nobody has to remember a name. */
export function Names(): ReactNode {
  const { items } = useList<SessionRow>(["sessions"], "/api/sessions", { limit: 100 });
  return (
    <datalist id={NAMES_ID}>
      {items.map(({ name, title }) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </datalist>
  );
}
