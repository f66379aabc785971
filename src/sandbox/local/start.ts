import type { Limits, SandboxSpec } from "../spec.js";
import { mountArguments } from "./arguments.js";
import { seccompFilter } from "./seccomp.js";
import type { Shape, Spare } from "./spare-pool.js";
import type { StateDirectory } from "./state-dir.js";
import { Supervisor } from "./supervisor.js";
import { copyPath, type Workspace } from "./workspace.js";

/** Starts bubblewrap with everything that a sandbox should have. */
export function start(
  state: StateDirectory,
  bwrap: string,
  spec: SandboxSpec,
  limits: Required<Limits>,
  parts: Pick<Spare, "box" | "launcher" | "pipes"> & {
    readonly workspace: Pick<Workspace, "bound" | "before">;
  },
): Promise<Supervisor> {
  const { box, launcher, pipes, workspace } = parts;
  return Supervisor.start({
    ...{ launcher, launch: [...workspace.before, bwrap], name: box.name, seccomp: seccompFilter() },
    arguments: mountArguments({ state, workspace: workspace.bound, pipes: pipes.folder, spec, limits }),
  });
}

/** Sandboxes that differ in nothing that is decided when they start: everything else can be set later. */
export function shapeOf(
  state: StateDirectory,
  bwrap: string,
  spec: SandboxSpec,
  limits: Required<Limits>,
): Shape {
  const isOpen = spec.network?.mode === "full";
  return {
    name: JSON.stringify([limits.scratch, isOpen, spec.readable ?? []]),
    start: (parts) =>
      start(state, bwrap, spec, limits, {
        ...parts,
        workspace: { bound: copyPath(parts.box.directory), before: [] },
      }),
  };
}
