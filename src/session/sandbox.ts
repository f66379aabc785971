import type { FactId } from "./fact/index.js";
import { adopted, savedAsJson, type View } from "./view.js";

/**
 * The sandbox of a session, as far as its facts tell. `place` is the fact that gave it its identity (a move, a fork, a
 * merge): two branches never have the same. `open` is what was opened for it and not closed or lost since; it may be
 * suspended.
 */
export type SandboxState = {
  readonly place: FactId | null;
  readonly open: Opened | null;
  /** How many times one was opened for this place. */
  readonly incarnation: number;
  readonly suspended?: true;
  /** The sandbox this one comes from, until it is opened itself. */
  readonly parent?: Opened & { readonly by: "fork" | "migrate" };
};
export type Opened = { readonly id: string; readonly incarnation: number };

export const sandboxView: View<SandboxState> = {
  name: "sandbox",
  start: Object.freeze({ place: null, open: null, incarnation: 0 }),
  step(state, fact, session) {
    switch (fact.type) {
      case "placement-change":
        return moved(state, session.id, "migrate");
      case "branch-fork":
      case "branch-merge":
        return state.place === null && state.open === null ? state : moved(state, session.id, "fork");
      case "session-detach":
        return fact.placement === undefined ? state : moved(state, session.id, "fork");
      case "sandbox-open": {
        const open = Object.freeze({ id: fact.sandbox, incarnation: fact.incarnation });
        return Object.freeze({ place: state.place, open, incarnation: fact.incarnation });
      }
      case "sandbox-suspend":
        return isOpen(state, fact) ? Object.freeze({ ...state, suspended: true as const }) : state;
      case "sandbox-resume":
      case "sandbox-lose":
      case "sandbox-close": {
        const { suspended: _suspended, ...rest } = state;
        if (!isOpen(state, fact)) return state;
        return Object.freeze(fact.type === "sandbox-resume" ? rest : { ...rest, open: null });
      }
      default:
        return state;
    }
  },
  merge: (sides, merge) => sides[adopted(merge) ?? 0] as SandboxState,
  ...savedAsJson<SandboxState>(),
};

/** Word of an older one may come when the next is open already. */
function isOpen(
  { open }: SandboxState,
  { sandbox, incarnation }: { readonly sandbox: string; readonly incarnation: number },
): boolean {
  return open !== null && open.id === sandbox && open.incarnation === incarnation;
}

function moved(state: SandboxState, place: FactId, by: "fork" | "migrate"): SandboxState {
  const parent = state.open === null ? state.parent : Object.freeze({ ...state.open, by });
  return Object.freeze({ place, open: null, incarnation: 0, ...(parent !== undefined && { parent }) });
}
