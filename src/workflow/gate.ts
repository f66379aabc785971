import type { Module } from "../runtime/index.js";
import {
  adopted,
  asJson,
  type Digest,
  type FactId,
  type FactOf,
  type FilesState,
  type View,
} from "../session/index.js";
import { mapValues } from "../util/index.js";
import { anything, type Check, defineModule, enter, type Parts, requireModule } from "./define.js";
import { isModule, type Rebuilds } from "./state.js";
import { approve } from "./wait.js";

export type GateOptions = {
  /** The names of the validations that must have passed for the files as they are. */
  readonly needs: readonly [string, ...string[]];
  /** The route when one of them has not. Without it the run suspends until a person decides. */
  readonly otherwise?: Module;
};

/**
 * Continues with a module only when the named validations have passed, and records what it found. The newest report of each
 * name counts, on the branch that goes on; one that is about other files than the session has now is outdated. A gate that does not open
 * takes the other route; without one it asks a person, who may let the session pass.
 *
 * ```ts
 * const release = gate("release", publish, { needs: ["tests", "review"], otherwise: repair });
 * ```
 */
export function gate(name: string, module: Module, options: GateOptions): Module & Rebuilds;
/** A gate with the name of its module. */
export function gate(module: Module, options: GateOptions): Module & Rebuilds;
export function gate(
  ...given: [name: string, module: Module, options: GateOptions] | [module: Module, options: GateOptions]
): Module & Rebuilds {
  const [name, module, options] =
    given.length === 3 || !isModule(given[0])
      ? (given as [string, Module, GateOptions])
      : [given[0].name, ...given];
  const { otherwise } = options ?? {};
  const parts: Parts = { module, ...(otherwise !== undefined && { otherwise }) };
  return defineModule(
    {
      kind: "gate",
      name,
      example: EXAMPLE,
      parts,
      options,
      checks: { needs: requireNames, otherwise: anything },
      learnable: ["needs"],
      check({ where }) {
        requireModule(module, where, "module");
      },
    },
    async (entered, { parts: { module, otherwise }, options: { needs } }) => {
      const reports = entered.view(reportsView);
      const found = needs.map((need) => needOf(need, reports, entered.files));
      const passed = found.every(({ state }) => state === "passed");
      const session = entered.append({ type: "gate-check", gate: name, passed, needs: found });
      if (passed) return enter(module as Module, session);
      if (otherwise !== undefined) return enter(otherwise, session);
      const missing = asJson(found.filter(({ state }) => state !== "passed"));
      return enter(module as Module, await approve(`pass ${name}`, { gate: name, missing }).forward(session));
    },
  );
}

/** A report with the files that it is about. */
type Report = {
  readonly id: FactId;
  readonly passed: boolean;
  readonly call: FactId | null;
  readonly tree: Digest | null;
};
type Reports = { readonly [name: string]: Report };

/** The newest report of each validation on the branch that goes on. */
const reportsView: View<Reports> = {
  start: {},
  step(reports, fact, session) {
    switch (fact.type) {
      case "validation-report": {
        const { name, passed, of: call = null } = fact;
        return { ...reports, [name]: { id: session.id, passed, call, tree: session.files.tree } };
      }
      case "workspace-change":
        // A call that checks may leave files behind, and its report is about the same files.
        return mapValues(reports, (report) =>
          fact.of !== undefined && report.call === fact.of ? { ...report, tree: fact.after } : report,
        );
      case "placement-change":
        // Another workspace may be there, which is taken in when it is first used.
        return {};
      default:
        return reports;
    }
  },
  merge: (sides, merge) => sides[adopted(merge) ?? 0] as Reports,
};

function needOf(name: string, reports: Reports, files: FilesState): FactOf<"gate-check">["needs"][number] {
  const report = Object.hasOwn(reports, name) ? reports[name] : undefined;
  if (report === undefined) return { name, state: "missing" };
  const isOutdated = report.tree !== files.tree || (files.unmerged ?? []).length > 0;
  return { name, state: isOutdated ? "outdated" : report.passed ? "passed" : "failed", of: report.id };
}

const EXAMPLE = 'gate("release", publish, { needs: ["tests"], otherwise: repair })';

const requireNames: Check = (needs, option, refuse) => {
  const isList =
    Array.isArray(needs) && needs.length > 0 && needs.every((one) => typeof one === "string" && one !== "");
  if (!isList) throw refuse(`its \`${option}\` must be the names of one or more validations`, EXAMPLE);
};
